"""Removing what deleted logs held."""

from broker import keys
from broker.ids import Clock
from broker.log.commit import Commits
from broker.log.definitions import CACHE_SECONDS, doomed_sources
from edge import BlobStore, EdgeTable, Row, StateTable, remaining_seconds

GRACE_SECONDS = 60 + CACHE_SECONDS
"""How long a deleted log is swept again: longer than any function that still knows it may go on writing to it."""

_STOP_SECONDS = 5.0


class Sweep:
    """The scheduled removal; bounded by the time left, harmless when run twice, resumed by the next run."""

    def __init__(self, *, state: StateTable, edges: EdgeTable, blobs: BlobStore, clock: Clock) -> None:
        self._state = state
        self._commits = Commits(edges=edges, blobs=blobs)
        self._clock = clock

    def run(self) -> int:
        """Remove what there is time for; returns the number of messages removed."""
        count = 0
        for shard in range(keys.SHARDS):
            start: Row | None = None
            while remaining_seconds() > _STOP_SECONDS:
                page = self._state.query(keys.doomed_shard(shard), start=start)
                for row in page.rows:
                    count += self._empty(row)
                if page.next is None:
                    break
                start = page.next
        return count

    def _empty(self, row: Row) -> int:
        count = 0
        for source in doomed_sources(row):
            if remaining_seconds() < _STOP_SECONDS:
                return count
            done = self._commits.offset(source, until=None)
            count += done.count
            if not done.finished:
                return count
        if self._clock() - int(str(row["doomed_at"])) > GRACE_SECONDS * 1000:
            self._state.delete(str(row["pk"]), str(row["sk"]))
        return count
