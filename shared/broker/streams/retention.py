"""What leaves a stream: by age, by depth, by purge. It is always a prefix.

Its holes are fenced first, then the floor rises, and from then on everything up to there has left, for every reader
and every key, whatever is still stored. `Remains` removes it later.
"""

from collections.abc import Callable

from broker import keys
from broker.ids import Clock
from broker.queues.queue import Queue
from broker.streams.expiry import Expiry
from broker.streams.figures import count
from broker.streams.reading import PAGE_WEIGHT
from broker.streams.stored import Stored, read_stored, weigh
from broker.streams.tail import GRACE_SECONDS, Tail, Tails
from edge import EdgeTable, remaining_seconds

_PAGE = 100
_PAGES = 10
_STOP_SECONDS = 3.0


class Retention:
    """Lets messages leave."""

    def __init__(self, *, edges: EdgeTable, tails: Tails, expiry: Expiry, clock: Clock) -> None:
        self._edges = edges
        self._tails = tails
        self._expiry = expiry
        self._clock = clock

    def age_out(self, queue: Queue, *, partition: int, cutoff: int) -> int:
        """Let everything leave that was published at or before a moment and has nothing younger before it.

        Returns how many messages left.
        """

        def younger(stored: Stored) -> bool:
            return stored.is_message and stored.at > cutoff

        left = 0
        while remaining_seconds() > _STOP_SECONDS:
            tail = self._tails.read(queue.queue_id, partition=partition)
            prefix, fenced = self._prefix(queue.queue_id, partition, tail, until=younger)
            if not prefix and not fenced:
                return left
            messages = [stored for stored in prefix if stored.is_message]
            self._expiry.leaving(queue, messages, partition=partition)
            if self._raise(queue.queue_id, partition, tail, prefix):
                left += len(messages)
                count(queue, "Expired", len(messages))
        return left

    def drop_oldest(self, queue_id: str, *, partition: int, tail: Tail, amount: int) -> int:
        """Let the oldest `amount` messages leave; returns how many did: none if somebody else was faster.

        What is being published just now is not dropped: it counts as held, and its publisher will have written soon.
        """
        left = amount

        def enough(stored: Stored) -> bool:
            nonlocal left
            left -= stored.is_message
            return left < 0

        prefix, _ = self._prefix(queue_id, partition, tail, until=enough, most=amount + 1)
        return sum(stored.is_message for stored in prefix) if self._raise(queue_id, partition, tail, prefix) else 0

    def fence_old(self, queue_id: str, *, partition: int, tail: Tail) -> bool:
        """Fence the holes whose publishers must be dead; True when there were any, so that there is more room."""
        position = started = max(tail.settled, tail.floor)
        for _ in range(_PAGES):
            found = self._read(queue_id, partition, position)
            for stored in found:
                if stored.number != position + 1:
                    behind = [later.at for later in found if later.number >= stored.number]
                    return self._fence(queue_id, partition, range(position + 1, stored.number), since=min(behind))
                position = stored.number
            if not found:
                break
        if position < tail.last and not self._read(queue_id, partition, position):
            return self._fence(queue_id, partition, range(position + 1, tail.last + 1), since=tail.reserved_at)
        if position > started:
            self._tails.settle(queue_id, partition=partition, through=position)
        return False

    def _fence(self, queue_id: str, partition: int, holes: range, *, since: int) -> bool:
        """Fence holes that there have been at a moment, if that is long ago."""
        if since > self._clock() - GRACE_SECONDS * 1000:
            return False
        self._tails.fence(queue_id, partition=partition, numbers=holes)
        return True

    def _prefix(
        self, queue_id: str, partition: int, tail: Tail, *, until: Callable[[Stored], bool], most: int = _PAGE
    ) -> tuple[list[Stored], bool]:
        """The oldest messages and tombstones before the first that `until` holds for, and whether holes were fenced.

        They end before a hole: a young one stays, an old one is fenced, and is a tombstone the next time.
        """
        prefix: list[Stored] = []
        for stored in self._read(queue_id, partition, tail.floor, most=most):
            expected = tail.floor + 1 + len(prefix)
            if stored.number != expected:
                return prefix, self._fence(queue_id, partition, range(expected, stored.number), since=stored.at)
            if until(stored):
                break
            prefix.append(stored)
        return prefix, False

    def _raise(self, queue_id: str, partition: int, tail: Tail, prefix: list[Stored]) -> bool:
        return bool(prefix) and self._tails.raise_floor(
            queue_id,
            partition=partition,
            start=tail.floor,
            end=prefix[-1].number,
            messages=sum(stored.is_message for stored in prefix),
        )

    def _read(self, queue_id: str, partition: int, position: int, *, most: int = _PAGE) -> list[Stored]:
        source = keys.stream(queue_id, partition=partition)
        page = self._edges.scan(source, after=position, limit=min(most, _PAGE), max_weight=PAGE_WEIGHT, weigh=weigh)
        return [read_stored(edge) for edge in page.edges]
