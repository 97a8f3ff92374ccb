"""Room in a full queue: what has expired goes first, then, if the queue says so, the oldest that is not in flight."""

import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from broker.ids import is_ulid, moment
from broker.lanes import ranks
from broker.lanes.departures import Departures
from broker.lanes.messages import Candidate, Lane, Message, expires, partitions_of, unchanged
from broker.lanes.shape import Shape
from broker.lanes.shared import Shared
from broker.queues.queue import Queue
from edge import Operation, Row, StateTable, TransactionRefused

_EXPIRED_MOST = 25
_LOOK = 10
_LOOK_MOST = 1000


@dataclass(frozen=True, slots=True)
class Victim:
    """A message that may make room, and the operations that remove it."""

    message: Message
    removal: list[Operation]


class Room:
    """Finds what may go."""

    def __init__(self, *, state: StateTable, departures: Departures) -> None:
        self._state = state
        self._departures = departures

    def expire_some(self, queue: Queue, *, shape: Shape, now: int) -> int | None:
        """Remove expired messages, some of the oldest; returns how many went, None where nothing ever expires."""
        cutoff = expires(queue, now=now)
        if cutoff is None:
            return None
        gone = 0
        for pk in partitions_of(queue):
            page = self._state.query(pk, index="by_rank", high=ranks.up_to(cutoff), limit=_EXPIRED_MOST)
            for row in page.rows:
                gone += self._departures.clear(
                    queue,
                    read_candidate(row),
                    shape=shape,
                    which=lambda message: message.expired(cutoff),
                    expired=True,
                    now=now,
                )
            if gone:
                break
        return gone

    def victims(self, queue: Queue, *, shape: Shape, now: int) -> Iterator[Victim]:
        """What may make room, the best first: the oldest of an idle lane, else the oldest behind one in flight.

        Of several partitions the oldest of each comes first. All are as they are read: whoever removes one may find
        it changed, and takes the next.
        """
        lanes = self._lanes(queue, low=None, most=_LOOK) | self._lanes(queue, low=ranks.since(now), most=_LOOK)
        idle = sorted((one for one in lanes if not one.rank.in_flight(now)), key=_age)
        yield from self._heads(queue, idle, shape=shape, now=now)
        # Those are all in flight, or were taken by others: look at more.
        rest = sorted(self._lanes(queue, low=None, most=_LOOK_MOST) - lanes, key=_age)
        yield from self._heads(
            queue, [one for one in rest if not one.rank.in_flight(now)][:_LOOK], shape=shape, now=now
        )
        if isinstance(shape, Shared):
            busy = sorted((one for one in {*lanes, *rest} if one.rank.in_flight(now)), key=_age)
            yield from self._behind(queue, busy[:_LOOK], shape=shape)

    def drop(self, queue: Queue, *, shape: Shape, most: int, now: int) -> int:
        """Remove some of the oldest messages that are not in flight; returns how many went, at most `most`."""
        gone = 0
        for victim in itertools.islice(self.victims(queue, shape=shape, now=now), most):
            with suppress(TransactionRefused):  # somebody has taken it
                self._state.transact(victim.removal)
                self._departures.settled(queue, [victim.message])
                gone += 1
        return gone

    def _heads(self, queue: Queue, candidates: list[Candidate], *, shape: Shape, now: int) -> Iterator[Victim]:
        for candidate in candidates:
            front = shape.front(queue, candidate, most=1)
            if front:
                message = replace(front[0], pending=self._pending(candidate.lane) if isinstance(shape, Shared) else 1)
                removal = shape.removal(queue, message, guard=unchanged(candidate.seen))
                yield Victim(message, self._departures.make_room(queue, message, removal=removal, now=now))

    def _behind(self, queue: Queue, candidates: list[Candidate], *, shape: Shared) -> Iterator[Victim]:
        waiting = []
        for candidate in candidates:
            behind = shape.front(queue, candidate, most=2)[1:]
            waiting += [(message.published_at, message.message_id, message, candidate.seen) for message in behind]
        for _, _, message, rank in sorted(waiting, key=lambda one: one[:2]):
            yield Victim(message, shape.removal_behind(queue, message, seen=rank))

    def _lanes(self, queue: Queue, *, low: str | None, most: int) -> set[Candidate]:
        pages = [self._state.query(pk, index="by_rank", low=low, limit=most) for pk in partitions_of(queue)]
        return {read_candidate(row) for page in pages for row in page.rows}

    def _pending(self, lane: Lane) -> int:
        row = self._state.get(lane.pk, lane.sk)
        return 0 if row is None else int(str(row["pending"]))


def read_candidate(row: Row) -> Candidate:
    """A lane as the index shows it."""
    return Candidate(Lane(str(row["pk"]), str(row["sk"])), str(row["rank"]))


def _age(candidate: Candidate) -> tuple[int, str]:
    """By when the first message was published; of one that was delivered before its id tells."""
    rank = candidate.rank
    delivered = rank.deliveries and is_ulid(rank.message_id)
    return (moment(rank.message_id) if delivered else rank.due), rank.message_id
