"""The local server on ministack, with faults: storage throttles, times out, loses answers, and functions die."""

import collections
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tools import faults
from tools.calls import Call, Outcome, Proceed, Watcher, watching
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
_TOKENS_MOST = 500


class Died(BaseException):
    """The function's process is gone; the gateway answers 500 for it."""


class Tokens(Watcher):
    """Honours the request tokens of transactions, as DynamoDB does and ministack does not."""

    def __init__(self) -> None:
        self._answered: collections.OrderedDict[str, Outcome] = collections.OrderedDict()

    def attempt(self, call: Call, proceed: Proceed) -> Outcome:
        """Carry out a transaction once, and answer its repeats as the first."""
        if call.operation != "TransactWriteItems":
            return proceed(call)
        token = str(call.document["ClientRequestToken"])
        if token in self._answered:
            return self._answered[token]
        outcome = proceed(call)
        if outcome[0] is not None and "Error" not in outcome[0][1]:
            self._answered[token] = outcome
            if len(self._answered) > _TOKENS_MOST:
                self._answered.popitem(last=False)
        return outcome


class _Forgetful(list[str]):
    """Keeps nothing: the server runs for minutes, and its memory is what is looked at."""

    def append(self, _: str) -> None:
        """Drop it."""


def _die(_: Call, __: Proceed) -> Outcome:
    raise Died


def _written(value: Any) -> Iterator[str]:
    """The keys of the rows and edges in a request."""
    if isinstance(value, list):
        for one in value:
            yield from _written(one)
    elif isinstance(value, dict):
        for hash_key, range_key in (("pk", "sk"), ("source", "seq")):
            if hash_key in value and range_key in value:
                yield "#".join(str(next(iter(value[name].values()))) for name in (hash_key, range_key))
        for one in value.values():
            yield from _written(one)


def _serve() -> int:
    """Serve; faults begin with SIGUSR1 and end with SIGUSR2."""
    on = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: on.set())
    signal.signal(signal.SIGUSR2, lambda *_: on.clear())
    journal = Journal(Path(os.environ["JOURNAL"]))
    kinds = [faults.THROTTLED, faults.TIMEOUT, faults.LOST, faults.Fault("died", _die), None]
    weights = [*SHARES.values(), 1 - sum(SHARES.values())]
    rng = random.Random(1)

    def choose(call: Call) -> faults.Fault | None:
        if not on.is_set() or call.operation not in DATA.get(call.service, ()):
            return None
        fault = rng.choices(kinds, weights)[0]
        if fault is not None:
            written = list(_written(call.document)) or [call.request.url.partition("?")[0]]
            journal.note("struck", fault=fault.name, call=call.name, written=written)
        return fault

    rate = schedules.rate_seconds
    hurried = patch.object(schedules, "rate_seconds", lambda expression: max(1, rate(expression) // HURRY))
    with hurried, faults.choosing(choose) as injection, watching(Tokens()):
        injection.seen = _Forgetful()
        injection.struck = _Forgetful()
        return main()


if __name__ == "__main__":
    sys.exit(_serve())
