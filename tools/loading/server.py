"""The local server on ministack, with faults: storage throttles, times out, loses answers, and functions die."""

import random
import signal
import sys
import threading

from tools import faults
from tools.calls import Call, Outcome, Proceed
from tools.serve import main

DATA = {
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "GetItem",
    "Query",
    "BatchGetItem",
    "BatchWriteItem",
    "TransactWriteItems",
}
SHARES = {"throttled": 0.02, "timeout": 0.01, "lost": 0.005, "died": 0.002}


class Died(BaseException):
    """The function's process is gone; the gateway answers 500 for it."""


def _die(_: Call, __: Proceed) -> Outcome:
    raise Died


def _serve() -> int:
    """Serve; faults begin with SIGUSR1 and end with SIGUSR2."""
    on = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: on.set())
    signal.signal(signal.SIGUSR2, lambda *_: on.clear())
    kinds = [faults.THROTTLED, faults.TIMEOUT, faults.LOST, faults.Fault("died", _die), None]
    weights = [*SHARES.values(), 1 - sum(SHARES.values())]
    rng = random.Random(1)

    def choose(call: Call) -> faults.Fault | None:
        if not on.is_set() or call.service != "dynamodb" or call.operation not in DATA:
            return None
        return rng.choices(kinds, weights)[0]

    with faults.choosing(choose) as injection:
        injection.seen = _Forgetful()
        injection.struck = _Forgetful()
        return main()


class _Forgetful(list[str]):
    """Keeps nothing: the server runs for minutes, and its memory is what is looked at."""

    def append(self, _: str) -> None:
        """Drop it."""


if __name__ == "__main__":
    sys.exit(_serve())
