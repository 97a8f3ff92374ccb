"""A small cache for what a warm function may remember for a stated time."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from broker.ids import Clock

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Values for at most `seconds`, at most `size` of them, the least recently used forgotten first.

    A load that fails remembers nothing. Threads may load the same key twice; neither waits for the other.
    """

    def __init__(self, *, seconds: int, clock: Clock, size: int = 1024) -> None:
        self._milliseconds = seconds * 1000
        self._clock = clock
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, tuple[int, V]] = OrderedDict()

    def get(self, key: K, load: Callable[[], V]) -> V:
        """The value of a key, loaded when it is not known or known for too long (or the clock went back)."""
        now = self._clock()
        with self._lock:
            entry = self._kept.get(key)
            if entry is not None and 0 <= now - entry[0] < self._milliseconds:
                self._kept.move_to_end(key)
                return entry[1]
        value = load()
        with self._lock:
            self._kept[key] = (now, value)
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return value

    def forget(self, key: K) -> None:
        """Drop a key; the next `get` loads it."""
        with self._lock:
            self._kept.pop(key, None)

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()
