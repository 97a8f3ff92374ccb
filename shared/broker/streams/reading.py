"""Reading a partition forward, so that no number is passed whose message may still come.

Numbers are consecutive. Where one is missing, either retention has passed it, which the floor tells, or its publisher
has not written yet, or never will. A young hole ends the page. An old one is fenced, and then read again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from broker import keys
from broker.ids import Clock
from broker.queues.queue import Queue, cutoff_of
from broker.streams.stored import Stored, read_stored, weigh
from broker.streams.tail import GRACE_SECONDS, Tail, Tails
from edge import EdgeTable, remaining_seconds
from edge.threads import side_by_side

PAGE_WEIGHT = 4 * 1024 * 1024
_PAGE_MOST = 100
_ROUNDS = 40
_STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was read of a partition.

    Attributes:
        messages: To be delivered, in order.
        position: Everything up to here is among `messages`, a tombstone, or has left.
        skipped: How many numbers of it had left before they were read.
        expired: Those of them that are still there, to be set aside if the queue wants that.
    """

    messages: tuple[Stored, ...]
    position: int
    skipped: int
    expired: tuple[Stored, ...]

    @property
    def passed(self) -> int:
        """The highest number before the messages."""
        return self.messages[0].number - 1 if self.messages else self.position


class _Walk:
    """A position on its way through a partition."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.messages: list[Stored] = []
        self.expired: list[Stored] = []
        self.skipped = 0

    def rise(self, tail: Tail) -> bool:
        """Move up to the floor, if retention has passed this position."""
        if tail.floor <= self.position:
            return False
        self.skipped += tail.floor - self.position
        self.position = tail.floor
        return True

    def stretch(self) -> Stretch:
        return Stretch(tuple(self.messages), self.position, self.skipped, tuple(self.expired))


class Reader:
    """Reads the streams of all queues."""

    def __init__(self, *, edges: EdgeTable, tails: Tails, clock: Clock) -> None:
        self._edges = edges
        self._tails = tails
        self._clock = clock

    def after(
        self,
        queue_id: str,
        *,
        partition: int,
        position: int,
        limit: int,
        tail: Tail,
        cutoff: int | None,
        fence: bool = True,
    ) -> Stretch:
        """Up to `limit` messages after a position. One query as a rule, and none where there is nothing to read.

        Args:
            queue_id: The queue.
            partition: Its partition.
            position: Where to begin.
            limit: The most messages; fewer when they weigh 4 MiB.
            tail: The partition's tail, read before.
            cutoff: What was published at or before this moment has expired.
            fence: Whether old holes are fenced; else everything ends before the first hole.
        """
        walk = _Walk(position)
        walk.rise(tail)
        for round_ in range(_ROUNDS):
            if walk.position >= tail.last or (round_ and remaining_seconds() < _STOP_SECONDS):
                break
            page = self._edges.scan(
                keys.stream(queue_id, partition=partition),
                after=walk.position,
                limit=min(_PAGE_MOST, limit * 2**round_),
                max_weight=PAGE_WEIGHT,
                weigh=weigh,
            )
            found = [read_stored(edge) for edge in page.edges]
            _take(walk, found, limit=limit, cutoff=cutoff)
            if walk.messages:
                break
            rest = [stored for stored in found if stored.number > walk.position]
            if (rest or not page.has_next) and not (fence and self._pass_gap(queue_id, partition, walk, rest)):
                break
        return walk.stretch()

    def heads(self, queue: Queue, tails: Sequence[Tail]) -> list[Stretch]:
        """The oldest message of each partition, and before it what has expired and not left yet. Changes nothing."""
        cutoff = cutoff_of(queue, now=self._clock())

        def head(partition: int) -> Stretch:
            tail = tails[partition]
            return self.after(
                queue.queue_id,
                partition=partition,
                position=tail.floor,
                limit=1,
                tail=tail,
                cutoff=cutoff,
                fence=False,
            )

        return side_by_side(head, range(len(tails)))

    def _pass_gap(self, queue_id: str, partition: int, walk: _Walk, rest: Sequence[Stored]) -> bool:
        """Find out why the next number is missing; True when it is worth reading on."""
        if rest and min(stored.at for stored in rest) <= self._clock() - GRACE_SECONDS * 1000:
            holes = range(walk.position + 1, rest[0].number)
            risen = self._tails.fence(queue_id, partition=partition, numbers=holes)
            return True if risen is None else walk.rise(risen)
        return walk.rise(self._tails.read(queue_id, partition=partition))


def _take(walk: _Walk, found: Sequence[Stored], *, limit: int, cutoff: int | None) -> None:
    """Walk over consecutive numbers until there are messages enough."""
    for stored in found:
        if stored.number != walk.position + 1 or len(walk.messages) >= limit:
            return
        walk.position = stored.number
        if not stored.is_message:
            continue
        if stored.expired(cutoff):
            walk.skipped += 1
            walk.expired.append(stored)
        else:
            walk.messages.append(stored)
