"""Expiring items: in the background, so that lists and counts need not pass over them for long."""

from broker import keys
from broker.errors import NotFound
from broker.items.kind import KeyValue, has_time
from broker.queues.queue import limit_of
from broker.queues.registry import Registry
from edge import Row, StateTable


class ItemSweep:
    """The scheduled work on all key_value queues; bounded by the time left, harmless when run twice."""

    def __init__(self, *, state: StateTable, registry: Registry, kind: KeyValue) -> None:
        self._state = state
        self._registry = registry
        self._kind = kind

    def run(self) -> int:
        """Put tombstones in the place of expired items and counters right; returns the number of items expired.

        Raises:
            ExceptionGroup: Some queues could not be worked on; the others were.
        """
        count, failures = 0, []
        for shard in range(keys.SHARDS):
            start: Row | None = None
            while has_time():
                page = self._state.query(keys.registry_shard(shard), start=start)
                for row in page.rows:
                    if row["type"] != "key_value" or not has_time():
                        continue
                    try:
                        count += self._sweep(row)
                    except Exception as error:  # noqa: BLE001  # one queue's trouble must not hold up the others
                        failures.append(error)
                if page.next is None:
                    break
                start = page.next
        if failures:
            raise ExceptionGroup("queues whose items could not be expired", failures)
        return count

    def _sweep(self, row: Row) -> int:
        try:
            queue = self._registry.load(str(row["tenant_id"]), str(row["sk"]))
        except NotFound:
            return 0
        bounded = queue.settings.max_message_age_seconds is not None or limit_of(queue) is not None
        return self._kind.sweep(queue) if bounded else 0
