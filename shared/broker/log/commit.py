"""Deleting what was polled: by offset a prefix, by cursor exactly what the polls behind it returned."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from broker.log.cursor import Cursor, Seen
from broker.records import blob_keys
from edge import BlobStore, EdgeTable, Position


@dataclass(frozen=True, slots=True)
class Committed:
    """What one call deleted; when time ran out, `finished` is False and a commit by cursor goes on from `rest`."""

    count: int
    finished: bool
    rest: Cursor | None = None


class Commits:
    """Deletes messages and their objects: the edge first, so that no message is ever without its value."""

    def __init__(self, *, edges: EdgeTable, blobs: BlobStore) -> None:
        self._edges = edges
        self._blobs = blobs

    def offset(self, source: str, *, until: int | None) -> Committed:
        """Delete everything with a seq up to `until`, or everything."""
        removed = self._edges.scan_delete(source, until=until, keep=("blob",))
        self._blobs.delete(blob_keys(removed.edges))
        return Committed(len(removed.edges), removed.finished)

    def cursor(self, source: str, *, cursor: Cursor) -> Committed:
        """Delete what the polls up to a cursor returned, as far as it is certain (see `broker.log.cursor`)."""
        count = 0
        if cursor.before.count and cursor.page_start is not None:
            stands = set(self._edges.positions(source, after=cursor.start, through=cursor.page_start))
            if Seen.of(stands) == cursor.before:
                gone, finished = self._delete(
                    source, after=cursor.start, through=cursor.page_start, only=stands.__contains__
                )
                count = len(gone)
                if not finished:
                    return Committed(count, finished=False, rest=replace(cursor, before=Seen.of(stands - gone)))
        gone, finished = self._delete(source, after=cursor.page_start, through=cursor.last, only=cursor.returned)
        rest = None if finished else replace(cursor, before=Seen())
        return Committed(count + len(gone), finished, rest)

    def _delete(
        self, source: str, *, after: Position | None, through: Position, only: Callable[[Position], bool]
    ) -> tuple[set[Position], bool]:
        removed = self._edges.scan_delete(source, after=after, through=through, only=only, keep=("blob",))
        self._blobs.delete(blob_keys(removed.edges))
        return {edge.position for edge in removed.edges}, removed.finished
