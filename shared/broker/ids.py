"""ULIDs, and where they come from."""

import hashlib
import secrets
import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

from ulid import ULID

Clock: TypeAlias = Callable[[], int]
"""The time now, in milliseconds since the epoch."""

Ids: TypeAlias = Callable[[], str]
"""A new ULID with every call, each greater than the one before."""

_RANDOM_BITS = 80


class MonotonicIds:
    """Random ULIDs that grow within one process also inside one millisecond, so that order of making is kept."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> str:
        """A new id, greater than every one before."""
        with self._lock:
            fresh = self._clock() << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS - 1)
            same_moment = fresh >> _RANDOM_BITS <= self._last >> _RANDOM_BITS
            self._last = self._last + 1 if same_moment else fresh
            return _text(self._last)


Repeat: TypeAlias = Literal["never", "first", "again"]
"""Whether a request may be carried out again under the same ids, and whether this is such a time."""


class SeededIds:
    """The same ids every time, of one moment and one seed: a request carried out again stores nothing twice.

    Attributes:
        repeat: `again` when the request has been begun before, else `first`.
    """

    def __init__(self, at: int, *, seed: bytes, again: bool = False) -> None:
        self.repeat: Repeat = "again" if again else "first"
        random = int.from_bytes(hashlib.sha256(seed).digest()[:10], "big") >> 1
        self._next = at << _RANDOM_BITS | random

    def __call__(self) -> str:
        """The next id."""
        self._next += 1
        return _text(self._next)


def repeat_of(ids: Ids) -> Repeat:
    """Whether what gets these ids may be carried out again."""
    return ids.repeat if isinstance(ids, SeededIds) else "never"


def moment(ulid: str) -> int:
    """The time in an id, in milliseconds since the epoch."""
    return ULID.from_str(ulid).milliseconds


def smallest(at: int) -> str:
    """The smallest id of a moment, in milliseconds since the epoch."""
    return _text(at << _RANDOM_BITS)


def is_ulid(text: str) -> bool:
    """Whether the text is an id as this module writes them."""
    try:
        return len(text) == 26 and str(ULID.from_str(text)) == text
    except ValueError:
        return False


def _text(value: int) -> str:
    return str(ULID.from_bytes(value.to_bytes(16, "big")))
