"""How many messages a to-one queue holds, counted."""

from collections.abc import Callable

from broker import keys
from broker.lanes.messages import partitions_of, shares_lanes
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToOneSettings
from edge import EdgeTable, Row, StateTable
from edge.threads import side_by_side


class Counting:
    """Counts what is stored, whatever counters say.

    Args:
        state: The lanes.
        edges: What is behind them.
        waiting: How many messages of a queue wait outside of it to be enriched.
    """

    def __init__(self, *, state: StateTable, edges: EdgeTable, waiting: Callable[[Queue], int] = lambda _: 0) -> None:
        self._state = state
        self._edges = edges
        self._waiting = waiting

    def stored(self, queue: Queue) -> int:
        """All messages: ready, leased, delayed or pending, and expired ones that have not been removed yet.

        Reads in the order of the rows' own keys, which never change, so that what moves meanwhile is counted once.
        """
        waiting = self._waiting(queue)
        if not shares_lanes(queue):
            # What waits with a primary key holds it by a row among the lanes.
            rows = sum(self._state.count(pk) for pk in partitions_of(queue))
            return rows if settings_of(queue, OneToOneSettings).primary_key else rows + waiting
        return sum(self._in_lanes(queue, pk) for pk in partitions_of(queue)) + waiting

    def _in_lanes(self, queue: Queue, pk: str) -> int:
        count, start = 0, None
        while True:
            page = self._state.query(pk, start=start)
            count += sum(side_by_side(lambda row: self._in_lane(queue, row), page.rows))
            if page.next is None:
                return count
            start = page.next

    def _in_lane(self, queue: Queue, row: Row) -> int:
        return len(self._edges.positions(keys.lane_source(queue.queue_id, lane=str(row["sk"]))))
