"""How a write is known again when its answer was lost.

Each process leaves in each bucket that it writes to one mark of its own, a number that grows with every write. A write
is made on the condition that the mark in the row is lower, so it takes effect once, however often it is sent; and only
this process changes its mark, so a row that has the number is a row that has the write, whatever others did since.
"""

import contextlib
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from broker.errors import BrokerError
from broker.ids import Clock
from edge import EdgeUnavailable

PREFIX = "w_"
KEPT_SECONDS = 600
"""How long a mark is kept after its last use; the longest that a process may try to have one write answered is less."""

_THOUSAND = 1000


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of one write.

    Attributes:
        name: The attribute.
        number: Its value: microseconds of this process's clock, or more.
    """

    name: str
    number: int


class Marks:
    """The marks of this process: one name for each write that is under way at the same time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._free: list[Mark] = []

    @contextlib.contextmanager
    def lend(self) -> Iterator[Mark]:
        """A mark for one write. Its name is not used again where that write may still be under way, unanswered."""
        with self._lock:
            last = self._free.pop() if self._free else Mark(PREFIX + secrets.token_hex(5), 0)
        mark = Mark(last.name, max(last.number + 1, self._clock() * _THOUSAND))
        try:
            yield mark
        except BrokerError:
            self._give_back(mark)
            raise
        except EdgeUnavailable as error:
            if not error.maybe_done:
                self._give_back(mark)
            raise
        self._give_back(mark)

    def forgettable(self, marks: dict[str, int], *, most: int) -> dict[str, int]:
        """Those of the marks that no process can still ask for, at most `most`."""
        before = (self._clock() - KEPT_SECONDS * _THOUSAND) * _THOUSAND
        old = [(name, number) for name, number in marks.items() if number < before]
        return dict(old[:most])

    def _give_back(self, mark: Mark) -> None:
        with self._lock:
            self._free.append(mark)
