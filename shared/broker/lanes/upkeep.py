"""What a minute brings: ended leases, messages past their age, counters that have drifted.

None of it is needed for a message to be delivered, or to be absent, in time: consumers see to that themselves. It
restores order, brings dead letters to light, and frees room.
"""

from contextlib import suppress

from broker import keys, metrics
from broker.ids import Clock
from broker.lanes import ranks
from broker.lanes.announcing import DEAD_AFTER
from broker.lanes.counts import Counting
from broker.lanes.departures import Departures
from broker.lanes.messages import Candidate, expires, partitions_of, unchanged
from broker.lanes.room import Room, read_candidate
from broker.lanes.shape import Shape
from broker.lanes.shared import Shared
from broker.queues.depth import Depth
from broker.queues.queue import Queue, limit_of, settings_of
from broker.queues.settings import OneToOneSettings
from edge import ConditionFailed, Row, StateTable, remaining_seconds
from edge.threads import side_by_side

_OVERLAP = 10_000
_STOP_SECONDS = 5.0
_PAGE = 500
_DEAD_MOST = 3


class Upkeep:
    """Scheduled work at one queue; harmless when it is done twice, late, or with an old view of things."""

    def __init__(
        self, *, state: StateTable, departures: Departures, depth: Depth, counting: Counting, room: Room, clock: Clock
    ) -> None:
        self._state = state
        self._departures = departures
        self._depth = depth
        self._counting = counting
        self._room = room
        self._clock = clock

    def reap(self, queue: Queue, *, shape: Shape) -> int:
        """See to leases and delays that have ended since the last time; returns how many there were.

        A message out of deliveries, or past its age, is set aside or dropped; another goes back to its old place in
        the order. Every write is on the condition that the lane is as it was seen, lease, end and all.
        """
        now = self._clock()
        row = self._state.get(keys.queue(queue.queue_id), keys.REAPED)
        since = None if row is None else ranks.since(int(str(row["at"])) - _OVERLAP)
        done = 0
        for pk in partitions_of(queue):
            start: Row | None = None
            while True:
                page = self._state.query(
                    pk, index="by_rank", low=since, high=ranks.up_to(now), limit=_PAGE, start=start
                )
                ended = [one for one in map(read_candidate, page.rows) if one.rank.state != "R"]
                done += sum(side_by_side(lambda one: self._ended(queue, one, shape=shape, now=now), ended))
                if page.next is None:
                    break
                if remaining_seconds() < _STOP_SECONDS:
                    return done
                start = page.next
            if isinstance(shape, Shared):
                self._forget_the_dead(queue, pk, shape=shape, now=now)
        self._state.put({"pk": keys.queue(queue.queue_id), "sk": keys.REAPED, "at": now})
        return done

    def expire(self, queue: Queue, *, shape: Shape) -> int:
        """Remove what has passed its age, the oldest first; returns how many went."""
        now = self._clock()
        cutoff = expires(queue, now=now)
        if cutoff is None:
            return 0

        def clear(candidate: Candidate) -> int:
            return self._departures.clear(
                queue, candidate, shape=shape, which=lambda one: one.expired(cutoff), expired=True, now=now
            )

        done = 0
        for pk in partitions_of(queue):
            while remaining_seconds() > _STOP_SECONDS:
                page = self._state.query(pk, index="by_rank", high=ranks.up_to(cutoff), limit=_PAGE)
                gone = sum(side_by_side(clear, [read_candidate(row) for row in page.rows]))
                done += gone
                if not gone:
                    break
        self._count(queue, "Expired", done)
        return done

    def trim(self, queue: Queue, *, shape: Shape) -> int:
        """Where a queue drops its oldest, remove what is above a limit that was lowered; returns how many went."""
        limit = limit_of(queue)
        if limit is None or settings_of(queue, OneToOneSettings).overflow_policy != "drop_oldest_append":
            return 0
        done = gone = 0
        while remaining_seconds() > _STOP_SECONDS:
            surplus = (self._depth.read(queue.queue_id) or 0) - limit
            if surplus > 0:  # the counter may be above the truth
                surplus = min(surplus, self._counting.stored(queue) - limit)
            gone = self._room.drop(queue, shape=shape, most=surplus, now=self._clock()) if surplus > 0 else 0
            if not gone:
                break
            done += gone
        self._count(queue, "Dropped", done)
        return done

    def repair(self, queue: Queue) -> int:
        """Bring the depth counter nearer to the truth; returns by how much."""
        if limit_of(queue) is None:
            return 0
        return abs(self._depth.repair(queue.queue_id, count=lambda: self._counting.stored(queue)))

    def observe(self, queue: Queue) -> None:
        """Count, for the alarms and graphs, how much a queue holds and how old its oldest ready message is."""
        now, oldest = self._clock(), None
        for pk in partitions_of(queue):
            for row in self._state.query(pk, index="by_rank", high=ranks.up_to(now), limit=1).rows:
                due = read_candidate(row).rank.due
                oldest = due if oldest is None else min(oldest, due)
        if oldest is not None:
            self._count(queue, "OldestAge", (now - oldest) / 1000, unit="Seconds")
        if limit_of(queue) is not None:
            self._count(queue, "Depth", self._depth.read(queue.queue_id) or 0)

    def _forget_the_dead(self, queue: Queue, pk: str, *, shape: Shared, now: int) -> None:
        """See to the oldest lanes if they are empty, their publishers dead: perhaps nobody will ever consume."""
        for row in self._state.query(pk, index="by_rank", high=ranks.up_to(now - DEAD_AFTER), limit=_DEAD_MOST).rows:
            candidate = read_candidate(row)
            if not shape.front(queue, candidate, most=1):
                shape.announcing.wait(candidate, now=now)

    def _ended(self, queue: Queue, candidate: Candidate, *, shape: Shape, now: int) -> int:
        front = shape.front(queue, candidate, most=1)
        if not front:
            if isinstance(shape, Shared):
                shape.announcing.wait(candidate, now=now)
            return 0
        message, rank, guard = front[0], candidate.rank, unchanged(candidate.seen)
        if rank.state == "L":
            self._count(queue, "ExpiredLeases", 1)
        if message.expired(expires(queue, now=now)):
            return int(self._departures.expire(queue, [message], shape=shape, guard=guard, now=now))
        if message.deliveries >= settings_of(queue, OneToOneSettings).max_deliveries:
            return int(
                self._departures.set_aside(queue, [message], reason="max_deliveries", shape=shape, guard=guard, now=now)
            )
        place = ranks.Rank(message.published_at, message.n, message.message_id, message.deliveries, "R")
        with suppress(ConditionFailed):
            self._state.update(
                candidate.lane.pk,
                candidate.lane.sk,
                "SET #rank = :rank REMOVE #lease, #until",
                values={"rank": place.text(), "seen": candidate.seen},
                condition="#rank = :seen",
            )
            return 1
        return 0

    def _count(self, queue: Queue, name: str, value: float, *, unit: metrics.Unit = "Count") -> None:
        metrics.count(name, value, kind=queue.type, tenant_id=queue.tenant_id, queue_id=queue.queue_id, unit=unit)
