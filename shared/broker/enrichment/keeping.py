"""What every type has, for the stream types: that of the type that delivers, and what waits."""

from collections.abc import Callable
from typing import Any

from broker.enrichment.message import lookup_settings
from broker.enrichment.promoting import Promoter
from broker.errors import NotFound
from broker.queues.kinds import Keeps
from broker.queues.queue import Queue


class StreamKeeping:
    """Implements `broker.queues.kinds.Keeps`.

    Args:
        inner: The type that delivers.
        promoter: What knows the messages that wait.
        known: A queue by tenant and name; raises NotFound.
    """

    def __init__(self, *, inner: Keeps, promoter: Promoter, known: Callable[[str, str], Queue]) -> None:
        self._inner = inner
        self._promoter = promoter
        self._known = known

    def stats(self, queue: Queue) -> dict[str, Any]:
        """Those of the type that delivers, and `pending_enrichment`, which `depth` counts too."""
        stats = self._inner.stats(queue)
        lookup = self._lookup(queue.tenant_id, lookup_of(queue))
        pending = 0 if lookup is None else self._promoter.count(lookup, queue, living=True)
        return {**stats, "pending_enrichment": pending, "depth": stats["depth"] + pending}

    def pending(self, queue: Queue) -> int:
        """How many messages are stored as waiting, those that have waited for too long included."""
        lookup = self._lookup(queue.tenant_id, lookup_of(queue))
        return 0 if lookup is None else self._promoter.count(lookup, queue)

    def relieve(self, queue: Queue, most: int) -> int:
        """Let up to `most` messages go that have waited for too long; returns how many went."""
        lookup = self._lookup(queue.tenant_id, lookup_of(queue))
        return 0 if lookup is None else self._promoter.relieve(lookup, queue, most=most)

    def purge(self, queue: Queue, *, until: int) -> bool:
        """Remove what was published up to a moment, waiting or not; see `Keeps`."""
        lookup = self._lookup(queue.tenant_id, lookup_of(queue))
        waiting_gone = lookup is None or self._promoter.drop(lookup, queue, until=until)
        return self._inner.purge(queue, until=until) and waiting_gone

    def remove(self, queue_id: str, *, tenant_id: str, settings: dict[str, Any]) -> bool:
        """Remove what a deleted queue held; see `Keeps`. What waited is removed by the schedule, as it is met."""
        return self._inner.remove(queue_id, tenant_id=tenant_id, settings=settings)

    def _lookup(self, tenant_id: str, name: str | None) -> Queue | None:
        if name is None:
            return None
        try:
            return self._known(tenant_id, name)
        except NotFound:
            return None


def lookup_of(queue: Queue) -> str | None:
    """The name of the queue that a queue looks items up in, None when it looks none up."""
    settings = lookup_settings(queue)
    return None if settings is None else settings.lookup_queue
