"""Room that a request has reserved."""

import threading


class Tickets:
    """Room that has been reserved for some messages, whichever of them come to use it."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Use one, if there is one."""
        with self._lock:
            if self._left:
                self._left -= 1
                return True
            return False

    def give_back(self) -> None:
        """One is not needed after all."""
        with self._lock:
            self._left += 1

    def close(self) -> int:
        """How many nobody has used; there are none afterwards."""
        with self._lock:
            left, self._left = self._left, 0
            return left
