"""The local server on ministack, with faults: storage throttles, times out, loses answers, and functions die."""

import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tools import faults
from tools.calls import Call, Outcome, Proceed
from tools.loading.journal import Journal
from tools.serve import main
from tools.serving import schedules

DATA = {
    "dynamodb": {
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "GetItem",
        "Query",
        "BatchGetItem",
        "BatchWriteItem",
        "TransactWriteItems",
    },
    "s3": {"PutObject", "GetObject", "DeleteObjects"},
}
SHARES = {"throttled": 0.02, "timeout": 0.01, "lost": 0.005, "died": 0.002}
HURRY = 20
"""How much faster schedules run, so that there are many rounds of them in two minutes."""
TIMEOUT_SECONDS = 1.0
"""How long a caller waits for an answer that is lost."""


class Died(BaseException):
    """The function's process is gone; the gateway answers 500 for it."""


class _Forgetful(list[str]):
    """Keeps nothing: the server runs for minutes, and its memory is what is looked at."""

    def append(self, _: str) -> None:
        """Drop it."""


def _die(_: Call, __: Proceed) -> Outcome:
    raise Died


def _lose(call: Call, proceed: Proceed) -> Outcome:
    """Carry out the call, and let its caller wait in vain, while others go on with what it did."""
    outcome = faults.LOST.strike(call, proceed)
    time.sleep(TIMEOUT_SECONDS)
    return outcome


def written(call: Call) -> dict[str, list[str]]:
    """What a call touches, for the journal: keys of the rows and edges that it puts, and of all others."""
    found: dict[str, list[str]] = {"put": [], "touched": []}
    _find(call.document, found)
    return found if call.document else {**found, "touched": [call.request.url.partition("?")[0]]}


def _find(value: Any, found: dict[str, list[str]], *, under: str = "") -> None:
    if isinstance(value, list):
        for one in value:
            _find(one, found)
    elif isinstance(value, dict):
        for hash_key, range_key in (("pk", "sk"), ("source", "seq")):
            if hash_key in value and range_key in value:
                key = "#".join(str(next(iter(value[name].values()))) for name in (hash_key, range_key))
                found["put" if under == "Item" else "touched"].append(key)
        for name, one in value.items():
            _find(one, found, under=name)


def _serve() -> int:
    """Serve; faults begin with SIGUSR1 and end with SIGUSR2."""
    on = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: on.set())
    signal.signal(signal.SIGUSR2, lambda *_: on.clear())
    journal = Journal(Path(os.environ["JOURNAL"]))
    kinds = [faults.THROTTLED, faults.TIMEOUT, faults.Fault("answer lost", _lose), faults.Fault("died", _die), None]
    weights = [*SHARES.values(), 1 - sum(SHARES.values())]
    rng = random.Random(1)

    def choose(call: Call) -> faults.Fault | None:
        if not on.is_set() or call.operation not in DATA.get(call.service, ()):
            return None
        fault = rng.choices(kinds, weights)[0]
        if fault is not None:
            journal.note("struck", fault=fault.name, call=call.name, **written(call))
        return fault

    rate = schedules.rate_seconds
    hurried = patch.object(schedules, "rate_seconds", lambda expression: max(1, rate(expression) // HURRY))
    with hurried, faults.choosing(choose) as injection:
        injection.seen = _Forgetful()
        injection.struck = _Forgetful()
        return main()


if __name__ == "__main__":
    sys.exit(_serve())
