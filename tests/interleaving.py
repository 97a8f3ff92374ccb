"""Operations side by side, one AWS call at a time, in an order that a random number decides: slow and dead processes.

    turns = Turns(rng)
    with watching(turns):
        turns.start("publish", lambda: node.publish(queue))
        turns.step()          # some operation makes its next call
        turns.kill(...)       # one never makes another
        turns.finish()        # all others run to their end

Every operation is a thread, and only one of them ever runs, so that a seed always gives the same run.
"""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from tools.calls import Call, Outcome, Proceed, Watcher
from tools.faults import Killed

_PATIENCE_SECONDS = 30
_SLOW_TURNS = 0.05


@dataclass(eq=False)
class Operation:
    """One operation under way; a slow one gets its turn rarely."""

    name: str
    born: int
    slow: bool = False
    thread: threading.Thread | None = None
    may_go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    stopped: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    over: bool = False
    dead: bool = False
    failure: BaseException | None = None


class Turns(Watcher):
    """Lets operations make their calls in turns.

    Args:
        rng: Decides whose turn it is.
        seen: Told of every call that has been answered without an error.
    """

    def __init__(self, rng: random.Random, *, seen: Callable[[Call], None] = lambda _: None) -> None:
        self.operations: list[Operation] = []
        self._rng = rng
        self._seen = seen
        self._own = threading.local()

    def attempt(self, call: Call, proceed: Proceed) -> Outcome:
        """Wait for the operation's turn; calls that belong to none pass."""
        operation: Operation | None = getattr(self._own, "operation", None)
        if operation is not None:
            operation.stopped.release()
            assert operation.may_go.acquire(timeout=_PATIENCE_SECONDS)
            if operation.dead:
                raise Killed
        outcome = proceed(call)
        answer, _ = outcome
        if answer is not None and "Error" not in answer[1]:
            self._seen(call)
        return outcome

    def start(self, name: str, work: Callable[[], object], *, born: int = 0, slow: bool = False) -> Operation:
        """Begin an operation; it stops before its first call."""
        operation = Operation(name, born, slow)

        def run() -> None:
            self._own.operation = operation
            try:
                work()
            except Killed:
                pass
            except BaseException as failure:  # noqa: BLE001  # shown to the test
                operation.failure = failure
            operation.over = True
            operation.stopped.release()

        operation.thread = threading.Thread(target=run, name=name, daemon=True)
        operation.thread.start()
        assert operation.stopped.acquire(timeout=_PATIENCE_SECONDS)
        self.operations.append(operation)
        self._settle(operation)
        return operation

    def step(self, operation: Operation | None = None) -> None:
        """Let one operation make one call: one of the newest, as often as not, so that others become slow."""
        if not self.operations:
            return
        if operation is None:
            quick = [one for one in self.operations if not one.slow or self._rng.random() < _SLOW_TURNS]
            if not quick:
                return
            operation = self._rng.choice(quick if self._rng.random() < 0.5 else quick[-3:])
        operation.may_go.release()
        assert operation.stopped.acquire(timeout=_PATIENCE_SECONDS)
        self._settle(operation)

    def kill(self, operation: Operation) -> None:
        """The process of an operation dies before its next call."""
        operation.dead = True
        self.step(operation)

    def finish(self) -> None:
        """Run all that is under way to its end."""
        while self.operations:
            self.step(self.operations[0])

    def _settle(self, operation: Operation) -> None:
        if operation.over:
            self.operations.remove(operation)
            assert operation.thread is not None
            operation.thread.join(timeout=_PATIENCE_SECONDS)
            if operation.failure is not None:
                raise AssertionError(f"{operation.name} failed") from operation.failure
