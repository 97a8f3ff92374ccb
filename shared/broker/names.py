"""Names that were free only a moment ago.

A warm function remembers for some seconds which queue a name stood for. If the name were given to a new queue at once,
what such a function still writes to the old one would vanish with it, though its sender saw the new one made. So who
makes a queue under a name just freed waits until nobody can remember the old one.
"""

from collections.abc import Callable

from broker import keys
from broker.ids import Clock
from edge import Operation, StateTable

_SKEW_MILLISECONDS = 500
_KEPT_SECONDS = 3600


class FreedNames:
    """The names that queues had, for as long as functions may remember them."""

    def __init__(self, *, state: StateTable, clock: Clock, sleep: Callable[[float], None]) -> None:
        self._state = state
        self._clock = clock
        self._sleep = sleep

    def free_operation(self, tenant_id: str, name: str, *, remembered_until: int) -> Operation:
        """Note in the transaction that deletes a queue until when its name may be remembered, in milliseconds.

        Args:
            tenant_id: Whose queue.
            name: The range key that the queue had under its tenant.
            remembered_until: Milliseconds since the epoch, by this function's clock.
        """
        return self._state.put_operation(
            {
                "pk": keys.tenant(tenant_id),
                "sk": keys.freed(name),
                "until": remembered_until + _SKEW_MILLISECONDS,
                "ttl": remembered_until // 1000 + _KEPT_SECONDS,
            }
        )

    def wait(self, tenant_id: str, name: str) -> None:
        """Return when nobody remembers an earlier queue of this name: nearly always at once."""
        row = self._state.get(keys.tenant(tenant_id), keys.freed(name))
        left = 0 if row is None else int(str(row["until"])) - self._clock()
        if left > 0:
            self._sleep(left / 1000)
