"""What every type of queue must do, for to-one queues: figures, purging, and removing what a deleted one held."""

from collections.abc import Iterator, Mapping
from typing import Any

from broker import keys
from broker.ids import Clock, is_ulid, moment
from broker.lanes.departures import Departures
from broker.lanes.messages import Candidate, expires, partitions_of, shares_lanes
from broker.lanes.ranks import Rank
from broker.lanes.room import read_candidate
from broker.lanes.shape import Shape
from broker.queues.contents import Contents
from broker.queues.deadletters import DeadLetters
from broker.queues.queue import Queue
from edge import EdgeTable, Row, StateTable, Value, remaining_seconds
from edge.threads import side_by_side

_STOP_SECONDS = 3.0
_ROUNDS = 200


class Keeping:
    """Looks after whole queues."""

    def __init__(
        self,
        *,
        state: StateTable,
        edges: EdgeTable,
        contents: Contents,
        letters: DeadLetters,
        departures: Departures,
        clock: Clock,
    ) -> None:
        self._state = state
        self._edges = edges
        self._contents = contents
        self._letters = letters
        self._departures = departures
        self._clock = clock

    def stats(self, queue: Queue) -> dict[str, Any]:
        """How much a queue holds and in what state, and the age of the oldest message.

        Reads the ranks of all lanes, and of lanes that messages share their rows; what has expired is not counted.
        """
        now = self._clock()
        cutoff = expires(queue, now=now)
        depth, in_flight, delayed, oldest = 0, 0, 0, now
        for pk in partitions_of(queue):
            pages = self._pages(pk, index=None if shares_lanes(queue) else "by_rank")
            if cutoff is not None and not shares_lanes(queue):
                pages = map(self._with_ages, pages)
            for row in (row for rows in pages for row in rows if "rank" in row):
                candidate = read_candidate(row)
                rank = candidate.rank
                held = self._held(queue, candidate, row, cutoff=cutoff, now=now)
                if not held:
                    continue
                depth += held
                in_flight += rank.in_flight(now)
                delayed += rank.state == "D" and rank.due > now
                oldest = min(oldest, _published(rank, row))
        return {
            "ready": depth - in_flight - delayed,
            "in_flight": in_flight,
            "delayed": delayed,
            "dead_letters": self._letters.count(queue.queue_id),
            "depth": depth,
            "oldest_message_age_seconds": (now - oldest) // 1000 if depth else None,
        }

    def purge(self, queue: Queue, *, until: int, shape: Shape) -> bool:
        """Remove what was published up to a moment, in flight or not; True when nothing of it is left."""

        def clear(row: Row) -> bool:
            if "rank" not in row:
                return True
            return remaining_seconds() > _STOP_SECONDS and self._purge_lane(
                queue, read_candidate(row), until=until, shape=shape
            )

        return all(
            all(side_by_side(clear, rows)) for pk in partitions_of(queue) for rows in self._pages(pk, index=None)
        )

    def _purge_lane(self, queue: Queue, candidate: Candidate, *, until: int, shape: Shape) -> bool:
        lane, now = candidate.lane, self._clock()
        for _ in range(_ROUNDS):
            gone = self._departures.clear(
                queue, candidate, shape=shape, which=lambda one: one.published_at <= until, expired=False, now=now
            )
            row = self._state.get(lane.pk, lane.sk) if shares_lanes(queue) or not gone else None
            if row is None or "rank" not in row or (not gone and row["rank"] == candidate.seen):
                return True
            candidate = read_candidate(row)
            if remaining_seconds() < _STOP_SECONDS:
                break
        return False

    def remove(self, queue_id: str, *, partitions: int) -> bool:
        """Remove what a deleted queue held; True when nothing is left."""
        for number in range(partitions):
            pk = keys.lanes(queue_id, partition=number)
            while rows := self._state.query(pk).rows:
                if remaining_seconds() < _STOP_SECONDS or not all(
                    side_by_side(lambda row: self._empty_lane(queue_id, row), rows)
                ):
                    return False
                self._contents.discard(rows)
                self._state.delete_many([(pk, str(row["sk"])) for row in rows])
        self._state.delete_many([(keys.queue(queue_id), name) for name in (keys.DEPTH, keys.REAPED)])
        return self._letters.empty(queue_id)

    def _empty_lane(self, queue_id: str, row: Row) -> bool:
        """Remove the messages behind a lane's row, with the keys they hold."""
        if "tail" not in row:
            return True
        source = keys.lane_source(queue_id, lane=str(row["sk"]))
        removed = self._edges.scan_delete(source, keep=("blob", "key"))
        held = [str(edge.attributes["key"]) for edge in removed.edges if "key" in edge.attributes]
        self._state.delete_many([(keys.primary_key(queue_id, digest=digest), keys.KEY) for digest in held])
        self._contents.discard([edge.attributes for edge in removed.edges])
        return removed.finished

    def _held(self, queue: Queue, candidate: Candidate, row: Row, *, cutoff: int | None, now: int) -> int:
        """How many messages a lane holds that have not expired."""
        rank = candidate.rank
        published_at = int(str(row.get("published_at", rank.due))) if rank.deliveries else rank.due
        gone = cutoff is not None and published_at <= cutoff and not rank.in_flight(now)
        if not shares_lanes(queue):
            return 0 if gone else 1
        if not gone and rank.state != "W":
            return max(1, int(str(row["pending"])))
        positions = self._edges.positions(keys.lane_source(queue.queue_id, lane=candidate.lane.sk))
        return sum(cutoff is None or moment(position.id) > cutoff for position in positions)

    def _with_ages(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """Rows of the index with the whole of those that were delivered before, whose rank does not tell their age."""
        known = {str(row["sk"]) for row in rows if not read_candidate(row).rank.deliveries}
        wanted = [(str(row["pk"]), str(row["sk"])) for row in rows if str(row["sk"]) not in known]
        whole = self._state.get_many(wanted) if wanted else []
        return (*(row for row in rows if str(row["sk"]) in known), *(row for row in whole if row is not None))

    def _pages(self, pk: str, *, index: str | None) -> Iterator[tuple[Row, ...]]:
        start: Mapping[str, Value] | None = None
        while True:
            page = self._state.query(pk, index=index, start=start)
            yield page.rows
            if page.next is None:
                return
            start = page.next


def _published(rank: Rank, row: Row) -> int:
    """When the first message of a lane was published, or redriven; of one that is delivered its id must tell."""
    if not rank.deliveries:
        return rank.due
    if "published_at" in row:
        return int(str(row["published_at"]))
    return min(rank.due, moment(rank.message_id) if is_ulid(rank.message_id) else rank.due)
