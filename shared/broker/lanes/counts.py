"""How many messages a to-one queue holds, counted."""

from broker import keys
from broker.lanes.messages import partitions_of, shares_lanes
from broker.queues.queue import Queue
from edge import EdgeTable, Row, StateTable
from edge.threads import side_by_side


class Counting:
    """Counts what is stored, whatever counters say."""

    def __init__(self, *, state: StateTable, edges: EdgeTable) -> None:
        self._state = state
        self._edges = edges

    def stored(self, queue: Queue) -> int:
        """All messages: ready, leased, delayed or pending, and expired ones that have not been removed yet.

        Reads in the order of the rows' own keys, which never change, so that what moves meanwhile is counted once.
        """
        if not shares_lanes(queue):
            return sum(self._state.count(pk) for pk in partitions_of(queue))
        return sum(self._in_lanes(queue, pk) for pk in partitions_of(queue))

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
