"""key_value as a type of queue: publishing, and what every type has."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from broker.errors import BrokerError
from broker.failures import FAILURES, told
from broker.ids import Clock, Ids, repeat_of
from broker.items.fresh import Fresh, Written
from broker.items.repeats import REPLACED
from broker.items.rows import Place, rank_text
from broker.items.store import ItemStore
from broker.items.writing import ItemWriter, fresh_item, place_of
from broker.jsontext import Raw
from broker.queues.depth import Depth
from broker.queues.kinds import Payload, Published
from broker.queues.queue import Queue, cutoff_of, limit_of
from broker.queues.receipts import Receipts
from edge import remaining_seconds
from edge.threads import side_by_side

_STOP_SECONDS = 5.0


class KeyValue:
    """Implements `Publishes` and `Keeps` of `broker.queues.kinds`.

    Args:
        store: The rows.
        writer: What stores items.
        depth: The counters.
        receipts: What earlier attempts have stored.
        arrived: Told of every stored item, by queue and hash of its key, for what waits for it. It does not raise.
        forgotten: Told of a deleted queue, by its id, until it says that nothing waits for its items any more.
        clock: The time.
    """

    def __init__(
        self,
        *,
        store: ItemStore,
        writer: ItemWriter,
        depth: Depth,
        receipts: Receipts,
        arrived: Callable[[Queue, str], None],
        forgotten: Callable[[str], bool],
        clock: Clock,
    ) -> None:
        self._store = store
        self._writer = writer
        self._depth = depth
        self._receipts = receipts
        self._arrived = arrived
        self._forgotten = forgotten
        self._clock = clock

    def publish(self, queue: Queue, payload: Payload, *, ids: Ids, if_match: str | None) -> Published:
        """Store an item; see `ItemWriter.publish` for what refuses it."""
        return self._publish(queue, fresh_item(queue, payload, version=ids(), repeat=repeat_of(ids)), if_match=if_match)

    def publish_batch(self, queue: Queue, payloads: Sequence[Payload], *, ids: Ids) -> list[Published | BrokerError]:
        """Store items side by side, those of one key in order; one outcome each.

        Where there is a limit they are stored one after the other, so that it is the first that find room, and the
        oldest that makes it.
        """
        outcomes: dict[int, Published | BrokerError] = {}
        by_key: dict[str, list[tuple[int, Fresh]]] = {}
        for index, payload in enumerate(payloads):
            version = ids()
            try:
                fresh = fresh_item(queue, payload, version=version, repeat=repeat_of(ids))
            except BrokerError as error:
                outcomes[index] = error
            else:
                by_key.setdefault(fresh.digest, []).append((index, fresh))

        def of_one_key(entries: list[tuple[int, Fresh]]) -> list[tuple[int, Published | BrokerError]]:
            return [(index, self._outcome(queue, fresh)) for index, fresh in entries]

        if limit_of(queue) is None:
            for done in side_by_side(of_one_key, list(by_key.values())):
                outcomes.update(done)
        else:
            for entry in sorted(itertools.chain(*by_key.values()), key=lambda numbered: numbered[0]):
                outcomes.update(of_one_key([entry]))
        return [outcomes[index] for index in range(len(payloads))]

    def stats(self, queue: Queue) -> dict[str, Any]:
        """`depth`, and the age of the item that has not changed for longest."""
        now = self._clock()
        place, cutoff = place_of(queue), cutoff_of(queue, now=now)
        depth = self._depth.read(queue.queue_id) if cutoff is None else None
        oldest = self._oldest_at(place, cutoff=cutoff)
        return {
            "depth": self._store.count(place, cutoff=cutoff) if depth is None else depth,
            "oldest_message_age_seconds": None if oldest is None else max(0, now - oldest) // 1000,
        }

    def purge(self, queue: Queue, *, until: int) -> bool:
        """Put tombstones in the place of what was published up to a moment, as far as time allows."""
        return self._writer.purge(queue, until=until, goes_on=has_time)

    def remove(self, queue_id: str, *, tenant_id: str, settings: dict[str, Any]) -> bool:
        """Remove everything of a deleted queue, as far as time allows."""
        if not self._store.remove(Place(tenant_id, queue_id, int(settings.get("partitions", 1)))):
            return False
        self._depth.forget(queue_id)
        return self._forgotten(queue_id)

    def sweep(self, queue: Queue) -> int:
        """What a schedule does for a queue: remove what is too old or above the limit, and put its counter right."""
        expired = self._writer.expire(queue, goes_on=has_time) + self._writer.trim(queue, goes_on=has_time)
        if limit_of(queue) is not None:
            place = place_of(queue)
            self._depth.repair(queue.queue_id, count=lambda: self._store.count(place))
        return expired

    def _publish(self, queue: Queue, fresh: Fresh, *, if_match: str | None) -> Published:
        before = self._receipts.find(queue.queue_id, fresh.version, repeat=fresh.repeat)
        if before is None:
            written = self._writer.publish(queue, fresh, if_match=if_match)
        else:
            written = Written(before.published_at, created=before.status != REPLACED, took_over=True)
        self._arrived(queue, fresh.digest)
        members = {"key": Raw(fresh.key.decode()), "version": fresh.version}
        return Published(fresh.version, "stored", written.at, created=written.created, members=members)

    def _outcome(self, queue: Queue, fresh: Fresh) -> Published | BrokerError:
        try:
            return self._publish(queue, fresh, if_match=None)
        except FAILURES as error:
            return told(error)

    def _oldest_at(self, place: Place, *, cutoff: int | None) -> int | None:
        through = rank_text(self._clock() * 2)

        def one(shard: int) -> int | None:
            rows = self._store.oldest(place, shard, through=through, note=False)
            return next((stored.at for stored in rows if stored.lives(cutoff)), None)

        found = [at for at in side_by_side(one, list(range(place.partitions))) if at is not None]
        return min(found, default=None)


def has_time() -> bool:
    """Whether another step fits the time that is left."""
    return remaining_seconds() > _STOP_SECONDS
