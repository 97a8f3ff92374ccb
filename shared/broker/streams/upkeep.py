"""What a schedule does for to-many queues.

Messages leave by age, what has left is removed, silent consumers are forgotten, and what consumers let run out too
often is set aside, should they not come back to find out.
"""

from broker import keys
from broker.errors import NotFound
from broker.ids import Clock
from broker.queues.queue import Queue, settings_of
from broker.queues.registry import Registry
from broker.queues.settings import TO_MANY, OneToManySettings
from broker.streams.burying import Burying
from broker.streams.consumer import REDRIVEN, Consumer, read_consumer
from broker.streams.consumers import Consumers
from broker.streams.redriven import Redriven
from broker.streams.remains import Remains
from broker.streams.retention import Retention
from broker.streams.stored import cutoff
from edge import ConditionFailed, Row, StateTable, remaining_seconds

_STOP_SECONDS = 5.0


class Upkeep:
    """The scheduled care of all to-many queues; bounded by the time left, harmless at any time."""

    def __init__(
        self,
        *,
        registry: Registry,
        state: StateTable,
        consumers: Consumers,
        retention: Retention,
        remains: Remains,
        redriven: Redriven,
        burying: Burying,
        clock: Clock,
    ) -> None:
        self._registry = registry
        self._state = state
        self._consumers = consumers
        self._retention = retention
        self._remains = remains
        self._redriven = redriven
        self._burying = burying
        self._clock = clock

    def run(self) -> int:
        """Care for every queue that there is time for; returns how many messages and consumers left.

        Each run begins with another queue, so that what one has no time for another has.

        Raises:
            ExceptionGroup: Some could not be cared for; the others were.
        """
        rows = [row for shard in range(keys.SHARDS) for row in self._rows(shard) if row["type"] in TO_MANY]
        first = self._clock() // 60_000 % len(rows) if rows else 0
        done, failures = 0, []
        for row in rows[first:] + rows[:first]:
            if remaining_seconds() < _STOP_SECONDS:
                break
            try:
                done += self.care(self._registry.load(str(row["tenant_id"]), str(row["sk"])))
            except NotFound:
                continue
            except Exception as error:  # noqa: BLE001  # one queue's trouble must not hold up the others
                failures.append(error)
        if failures:
            raise ExceptionGroup("to-many queues that could not be cared for", failures)
        return done

    def care(self, queue: Queue) -> int:
        """Care for one queue; returns how many messages and consumers left."""
        done = self.age_out(queue)
        for partition, tail in enumerate(self._consumers.tails(queue)):
            if tail.floor:
                self._remains.sweep(queue.queue_id, partition=partition, floor=tail.floor)
        return done + self._consumers_of(queue)

    def age_out(self, queue: Queue) -> int:
        """Let what is past its age leave the queue; returns how many messages left."""
        settings = settings_of(queue, OneToManySettings)
        expired = cutoff(self._clock(), age_seconds=settings.max_message_age_seconds)
        if expired is None:
            return 0
        return sum(
            self._retention.age_out(queue, partition=partition, cutoff=expired)
            for partition, tail in enumerate(self._consumers.tails(queue))
            if tail.held
        )

    def _consumers_of(self, queue: Queue) -> int:
        done = 0
        start: Row | None = None
        while remaining_seconds() > _STOP_SECONDS:
            page = self._state.query(keys.queue(queue.queue_id), prefix=keys.CONSUMERS_PREFIX, start=start)
            for row in page.rows:
                done += self._consumer(queue, read_consumer(row))
            if page.next is None:
                break
            start = page.next
        return done

    def _consumer(self, queue: Queue, consumer: Consumer) -> int:
        if self._consumers.forgotten(queue, consumer):
            gone = self._consumers.remove(queue.queue_id, consumer)
            if gone:
                self._redriven.empty(queue.queue_id, client_id=consumer.client_id)
            return int(gone)
        try:
            return self._spent(queue, consumer)
        except ConditionFailed:
            return 0  # the consumer is there itself

    def _spent(self, queue: Queue, consumer: Consumer) -> int:
        """Set aside what has run out of deliveries; what has left the queue is the consumer's to find out."""
        now, most = self._clock(), settings_of(queue, OneToManySettings).max_deliveries
        due = [index for index, slot in consumer.pending() if slot.until <= now and slot.deliveries >= most]
        stored = self._burying.read_run(queue, consumer) if due else {}
        floor = 0
        if due and consumer.partition != REDRIVEN:
            floor = self._consumers.tails(queue)[consumer.partition].floor
        done = 0
        for index in due:
            message = stored.get(index)
            if message is not None and message.number > floor:
                consumer = self._burying.spent(queue, consumer, index, message)
                done += 1
        return done

    def _rows(self, shard: int) -> list[Row]:
        rows: list[Row] = []
        start: Row | None = None
        while True:
            page = self._state.query(keys.registry_shard(shard), start=start)
            rows += page.rows
            if page.next is None:
                return rows
            start = page.next
