"""Removing what deleted logs held."""

from broker import keys
from broker.log.commit import Commits
from broker.log.definitions import doomed_sources
from edge import BlobStore, EdgeTable, Row, remaining_seconds

_STOP_SECONDS = 5.0


class Remains:
    """The messages of deleted logs."""

    def __init__(self, *, edges: EdgeTable, blobs: BlobStore) -> None:
        self._commits = Commits(edges=edges, blobs=blobs)
        self._blobs = blobs

    def remove(self, row: Row) -> bool:
        """Remove what the log of a row held, as far as time allows; True when nothing is left."""
        for source in doomed_sources(row):
            if remaining_seconds() < _STOP_SECONDS or not self._commits.offset(source, until=None).finished:
                return False
        # Objects go by their name, not by their edges: some have none, where a process died between the two.
        return self._blobs.delete_under(keys.payload_blobs(str(row["sk"])))
