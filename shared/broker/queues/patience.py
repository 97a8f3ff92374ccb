"""Waiting a little, before others' messages make room, for room that may come back by itself."""

from collections.abc import Callable

_PAUSE_SECONDS = 0.05
_PAUSES = 6


class Patience:
    """How long one request waits altogether: 0.3 seconds."""

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self._sleep = sleep
        self._left = _PAUSES

    def wait(self) -> bool:
        """Pause; False, at once, when the patience is at its end."""
        if self._left < 1:
            return False
        self._left -= 1
        self._sleep(_PAUSE_SECONDS)
        return True
