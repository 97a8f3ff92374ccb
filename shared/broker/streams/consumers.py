"""The rows of consumers: read, written on what was read, listed, forgotten."""

from collections.abc import Sequence

from broker import keys
from broker.errors import ValidationFailed
from broker.ids import Clock
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToManySettings
from broker.streams.consumer import Consumer, new_rev, read_consumer
from broker.streams.tail import Tail, read_tail
from edge import ConditionFailed, Row, StateTable


class Consumers:
    """The consumers of all to-many queues."""

    def __init__(self, *, state: StateTable, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def load(self, queue: Queue, client_id: str, *, acting: bool = False) -> tuple[Consumer, list[Tail]]:
        """A consumer as it stands and the tails of all partitions, read together.

        One that is not known, or has been silent for longer than `consumer_ttl_seconds`, comes without positions.

        Raises:
            ValidationFailed: It is not known, and not known to be a client because another is `acting` for it, and
                the tenant has no such client.
        """
        row, *rows = self._state.get_many([(keys.queue(queue.queue_id), keys.consumer(client_id)), *tail_keys(queue)])
        if row is None and acting:
            self._check_client(queue.tenant_id, client_id)
        consumer = Consumer(client_id) if row is None else read_consumer(row)
        if row is not None and self.forgotten(queue, consumer):
            consumer = Consumer(client_id, rev=consumer.rev, waiting=consumer.waiting)
        return consumer, [read_tail(row) for row in rows]

    def tails(self, queue: Queue) -> list[Tail]:
        """The tails of all partitions."""
        return [read_tail(row) for row in self._state.get_many(tail_keys(queue))]

    def save(self, queue: Queue, consumer: Consumer) -> Consumer:
        """Write a consumer that was changed since it was read; returns it as it then stands.

        Raises:
            ConditionFailed: Somebody else has changed it; nothing was written.
        """
        rev = new_rev()
        row = consumer.row(queue.queue_id, rev=rev)
        if consumer.rev:
            self._state.put(row, condition="#rev = :rev", values={"rev": consumer.rev})
        else:
            self._state.put(row, condition="attribute_not_exists(#pk)")
        return read_consumer(row)

    def every(self, queue: Queue) -> list[Consumer]:
        """All that are known, those forgotten left out."""
        found: list[Consumer] = []
        start: Row | None = None
        while True:
            page = self._state.query(keys.queue(queue.queue_id), prefix=keys.CONSUMERS_PREFIX, start=start)
            found += [read_consumer(row) for row in page.rows]
            if page.next is None:
                return [consumer for consumer in found if not self.forgotten(queue, consumer)]
            start = page.next

    def forgotten(self, queue: Queue, consumer: Consumer) -> bool:
        """Whether it has been silent for too long."""
        limit = settings_of(queue, OneToManySettings).consumer_ttl_seconds
        return limit is not None and consumer.seen_at <= self._clock() - limit * 1000

    def _check_client(self, tenant_id: str, client_id: str) -> None:
        if self._state.get(keys.tenant(tenant_id), keys.client(client_id)) is None:
            raise ValidationFailed.of("client_id", "must be the id of a client of this tenant")

    def remove(self, queue_id: str, consumer: Consumer) -> bool:
        """Forget a consumer that has not changed since it was read; False when it has."""
        try:
            self._state.delete(
                keys.queue(queue_id),
                keys.consumer(consumer.client_id),
                condition="#rev = :rev",
                values={"rev": consumer.rev},
            )
        except ConditionFailed as failure:
            return failure.maybe_done and failure.old is None
        return True


def tail_keys(queue: Queue) -> Sequence[tuple[str, str]]:
    """Where the tails of all partitions of a queue are."""
    partitions = settings_of(queue, OneToManySettings).partitions
    return [(keys.stream(queue.queue_id, partition=number), keys.TAIL) for number in range(partitions)]
