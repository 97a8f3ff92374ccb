"""Failures of AWS that no local engine shows by itself, injected at any call, and the death of the process there.

    with failing(THROTTLED, at=2, operation="BatchWriteItem") as injection:   # the second BatchWriteItem is throttled
        ...
    assert injection.struck == ["dynamodb.BatchWriteItem"]

    with choosing(lambda call: LOST if rng.random() < 0.1 else None):         # any plan, here a random one
        ...

    for point in crash_points(enqueue, prepare=empty_world):                  # dies before and after each of its calls
        check_invariants(point)

A fault that strikes *before* keeps the engine from seeing the call, in-process moto included; one that strikes *after*
lets the call take effect and then hides its answer. Faults act on all clients and all threads as long as their block is
open.
"""

import contextlib
import dataclasses
import io
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from botocore.response import StreamingBody

from tools.calls import Call, Outcome, Proceed, Watcher, watching
from tools.fault_answers import cancelled, drop, error, partly, throttle


class Killed(BaseException):
    """The process dies here; no error, so that nothing that handles errors handles it.

    Every later call in the block raises it too: the dead do not clean up.
    """


@dataclasses.dataclass(frozen=True)
class Fault:
    """A way to fail: given a call and how to make it, what comes of it."""

    name: str
    strike: Callable[[Call, Proceed], Outcome]

    def __repr__(self) -> str:
        return self.name


Chooser = Callable[[Call], Fault | None]


def refusal(code: str, *, status: int = 400, **members: Any) -> Fault:
    """An error answer, the call not carried out."""
    return Fault(code, lambda call, _: error(call, code, status=status, **members))


def cancellation(reason: str) -> Fault:
    """A transaction cancelled for a reason that lies with its first item, such as `TransactionConflict`."""
    return Fault(f"cancelled by {reason}", lambda call, _: cancelled(call, reason))


def unprocessed(*, done: int) -> Fault:
    """A batch of which only the first `done` requests are carried out and the rest handed back (Write and Get)."""
    return Fault(f"all but {done} unprocessed", lambda call, proceed: partly(call, proceed, done=done))


def _conflict(call: Call, _: Proceed) -> Outcome:
    if call.operation == "TransactWriteItems":
        return cancelled(call, "TransactionConflict")
    return error(call, "TransactionConflictException")


def _lose(call: Call, proceed: Proceed) -> Outcome:
    drop(proceed(call))
    return None, ReadTimeoutError(endpoint_url=call.request.url)


def _break_after(call: Call, proceed: Proceed) -> Outcome:
    drop(proceed(call))
    return error(call, "InternalServerError", status=500)


def _cut(call: Call, proceed: Proceed) -> Outcome:
    outcome = proceed(call)
    drop(outcome)
    if outcome[0] is not None:
        outcome[0][1]["Body"] = StreamingBody(io.BytesIO(), content_length=1)
    return outcome


def _die(_: Call, __: Proceed) -> Outcome:
    raise Killed


def _die_after(call: Call, proceed: Proceed) -> Outcome:
    drop(proceed(call))
    raise Killed


THROTTLED = Fault("throttled", throttle)
"""The service's own word for too many requests."""
THROTTLING = refusal("ThrottlingException")
"""DynamoDB's other word for it, which on-demand tables and the control plane use."""
CONFLICT = Fault("conflict", _conflict)
"""Another transaction holds the item: TransactionConflictException, in a transaction its cancellation reason."""
SERVER_ERROR = refusal("InternalServerError", status=500)
"""A failure of the service before it did anything."""
SERVER_ERROR_AFTER = Fault("server error afterwards", _break_after)
"""A failure of the service after it did everything; the caller cannot tell the two apart."""
TIMEOUT = Fault("timeout", lambda call, _: (None, ConnectTimeoutError(endpoint_url=call.request.url, error="injected")))
"""No connection: the service never saw the call."""
LOST = Fault("answer lost", _lose)
"""Carried out, but the answer never arrives."""
KILLED = Fault("killed before", _die)
"""The process dies before the call."""
KILLED_AFTER = Fault("killed after", _die_after)
"""The process dies once the call took effect."""


CUT = Fault("answer cut", _cut)
"""Carried out, but the body of the answer breaks off while it is read (S3's GetObject)."""


class Injection(Watcher):
    """Asks for each call whether a fault strikes it.

    Attributes:
        seen: Names of the calls that were asked about, in order.
        struck: Names of those that a fault struck.
    """

    def __init__(self, choose: Chooser) -> None:
        self.seen: list[str] = []
        self.struck: list[str] = []
        self._choose = choose
        self._lock = threading.Lock()
        self._dead = False

    def attempt(self, call: Call, proceed: Proceed) -> Outcome:
        """Make the call, or let it fail."""
        with self._lock:
            if self._dead:
                raise Killed
            fault = self._choose(call)
            self.seen.append(call.name)
            if fault is not None:
                self.struck.append(call.name)
        if fault is None:
            return proceed(call)
        try:
            return fault.strike(call, proceed)
        except Killed:
            self._dead = True
            raise


@contextlib.contextmanager
def choosing(choose: Chooser) -> Iterator[Injection]:
    """Ask `choose` for every call in the block which fault strikes it, None for none; by one thread at a time."""
    injection = Injection(choose)
    with watching(injection):
        yield injection


@contextlib.contextmanager
def failing(
    fault: Fault,
    *,
    at: int = 1,
    times: int | None = 1,
    service: str | None = None,
    operation: str | None = None,
    where: Callable[[Call], bool] = lambda _: True,
) -> Iterator[Injection]:
    """Let one or more calls fail.

    Args:
        fault: How.
        at: The first call to fail, counted from 1 among those that match.
        times: How many matching calls fail, from there on; None for all.
        service: Only calls of this service, such as `dynamodb`.
        operation: Only calls of this operation, such as `Query`.
        where: Any other condition on the call.
    """
    numbers = itertools.count(1)

    def choose(call: Call) -> Fault | None:
        if service not in (None, call.service) or operation not in (None, call.operation) or not where(call):
            return None
        number = next(numbers)
        return fault if number >= at and (times is None or number < at + times) else None

    with choosing(choose) as injection:
        yield injection


@dataclasses.dataclass(frozen=True)
class CrashPoint:
    """Where a run of an operation died.

    Attributes:
        number: The call it died at, from 1.
        call: That call's `service.Operation`.
        after: Whether the call took effect.
    """

    number: int
    call: str
    after: bool

    def __str__(self) -> str:
        return f"{'after' if self.after else 'before'} call {self.number}, {self.call}"


def crash_points(
    run: Callable[[], object], *, prepare: Callable[[], object] = lambda: None, most: int = 200
) -> Iterator[CrashPoint]:
    """Run an operation again and again; let it die before and after its 1st, 2nd, … call, until it completes.

    After every death the point is yielded, for the caller to recover and to check what must hold.

    Args:
        run: The operation. It is started afresh each time.
        prepare: Called before each run, unharmed: what the operation needs to find.
        most: The number of calls after which this gives up.

    Raises:
        AssertionError: The operation makes more than `most` calls, or it survived its own death.
    """
    for number in range(1, most + 1):
        for fault in (KILLED, KILLED_AFTER):
            prepare()
            with failing(fault, at=number) as injection:
                try:
                    run()
                except Killed:
                    pass
                else:
                    assert not injection.struck, f"{run} caught its own death at {injection.struck}"
                    return
            yield CrashPoint(number, injection.struck[0], after=fault is KILLED_AFTER)
    raise AssertionError(f"{run} makes more than {most} calls")
