"""Where a message goes, and whether there is room: the reservation of numbers under `max_queue_depth`.

The limit is kept by the reservation itself, partition by partition: each has its share of it. A message may go to any
partition, so that only a queue that is full in all of them is full.
"""

from dataclasses import dataclass

from broker import keys
from broker.errors import QueueFull
from broker.ids import Clock
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToManySettings
from broker.streams.figures import count
from broker.streams.retention import Retention
from broker.streams.stored import cutoff
from broker.streams.tail import NoRoom, Tail, Tails, read_tail
from edge import Retry, StateTable

_ROUNDS = 200
_WAITS = 40
_LONGEST_PAUSE = 4


@dataclass(frozen=True, slots=True)
class Reserved:
    """Consecutive numbers of one partition, and the moment they were given out."""

    partition: int
    first: int
    amount: int
    at: int


class Room:
    """Reserves places in streams."""

    def __init__(self, *, state: StateTable, tails: Tails, retention: Retention, retry: Retry, clock: Clock) -> None:
        self._state = state
        self._tails = tails
        self._retention = retention
        self._retry = retry
        self._clock = clock

    def reserve(self, queue: Queue, *, amount: int, choice: int) -> Reserved:
        """Take up to `amount` consecutive numbers, at least one. One call, where there is room for all.

        Args:
            queue: The queue.
            amount: How many are wanted.
            choice: A number by which messages are spread over the partitions; the same one leads to the same.

        Raises:
            QueueFull: Nothing may leave to make room.
        """
        settings = settings_of(queue, OneToManySettings)
        limit = settings.max_queue_depth
        if limit is None:
            partition = choice % settings.partitions
            first, at = self._tails.reserve(queue.queue_id, partition=partition, amount=amount)
            return Reserved(partition, first, amount, at)
        waits = 0
        for _ in range(_ROUNDS):
            partition, share, free = self._choose(queue, settings, limit)
            wanted = min(amount, share if free is None else max(1, min(free, share)))
            try:
                first, at = self._tails.reserve(queue.queue_id, partition=partition, amount=wanted, limit=share)
            except NoRoom as full:
                left = share - full.tail.held
                if left > 0:
                    amount = min(amount, left)
                elif not self._make_room(queue, settings, partition, full.tail, share=share, amount=wanted):
                    if settings.overflow_policy != "drop_oldest_append" or not self._wait(waits):
                        raise QueueFull from full
                    waits += 1
            else:
                return Reserved(partition, first, wanted, at)
        raise QueueFull

    def _wait(self, waits: int) -> bool:
        """Wait for those who are publishing what fills the partition; False when it has been long enough."""
        return waits < _WAITS and self._retry.pause(min(waits, _LONGEST_PAUSE))

    def _choose(self, queue: Queue, settings: OneToManySettings, limit: int) -> tuple[int, int, int | None]:
        """The partition that has had the fewest messages among those with room, or of all; its share, what is free."""
        if settings.partitions == 1:
            return 0, limit, None
        partitions = [number for number in range(settings.partitions) if _share(number, settings.partitions, limit)]
        rows = self._state.get_many(
            [(keys.stream(queue.queue_id, partition=number), keys.TAIL) for number in partitions]
        )
        tails = {number: read_tail(row) for number, row in zip(partitions, rows, strict=True)}
        free = {number: _share(number, settings.partitions, limit) - tail.held for number, tail in tails.items()}
        best = min(partitions, key=lambda number: (free[number] <= 0, tails[number].last, number))
        return best, _share(best, settings.partitions, limit), free[best]

    def _make_room(
        self, queue: Queue, settings: OneToManySettings, partition: int, tail: Tail, *, share: int, amount: int
    ) -> bool:
        if settings.overflow_policy == "drop_oldest_append":
            excess = tail.held + amount - share
            dropped = self._retention.drop_oldest(queue.queue_id, partition=partition, tail=tail, amount=excess)
            if dropped:
                count(queue, "Dropped", dropped)
                return True
        fenced = self._retention.fence_old(queue.queue_id, partition=partition, tail=tail)
        expired = cutoff(self._clock(), age_seconds=settings.max_message_age_seconds)
        if expired is None:
            return fenced
        return self._retention.age_out(queue, partition=partition, cutoff=expired) > 0 or fenced


def _share(partition: int, partitions: int, limit: int) -> int:
    """How many messages one partition may hold."""
    return limit // partitions + (partition < limit % partitions)
