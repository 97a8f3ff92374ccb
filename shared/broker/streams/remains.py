"""Removing for real what has left a stream, and all of a deleted one."""

from broker import keys
from broker.ids import Clock
from broker.queues.deadletters import DeadLetters
from broker.streams.holders import Holders
from broker.streams.reading import PAGE_WEIGHT
from broker.streams.redriven import Redriven
from broker.streams.stored import Stored, read_stored, weigh
from broker.streams.tail import LONGEST_CALL_SECONDS
from edge import BlobStore, EdgeTable, Row, StateTable, remaining_seconds

_PAGE = 100
_STOP_SECONDS = 3.0


class Remains:
    """Removes edges, objects and keys that nothing leads to any more."""

    def __init__(
        self,
        *,
        state: StateTable,
        edges: EdgeTable,
        blobs: BlobStore,
        holders: Holders,
        redriven: Redriven,
        dead_letters: DeadLetters,
        clock: Clock,
    ) -> None:
        self._state = state
        self._edges = edges
        self._blobs = blobs
        self._holders = holders
        self._redriven = redriven
        self._dead_letters = dead_letters
        self._clock = clock

    def sweep(self, queue_id: str, *, partition: int, floor: int) -> bool:
        """Remove what is below the floor; True when nothing is left that may go. Repeatable.

        A tombstone stays until no publisher lives that could still want to write there.
        """
        young = self._clock() - 2 * LONGEST_CALL_SECONDS * 1000
        return self._remove(queue_id, partition, until=floor, keep_after=young)

    def remove(self, queue_id: str, *, partitions: int) -> bool:
        """Remove all of a deleted queue; True when nothing is left. Repeatable."""
        for partition in range(partitions):
            if not self._remove(queue_id, partition, until=None, keep_after=None):
                return False
            self._state.delete(keys.stream(queue_id, partition=partition), keys.TAIL)
        start: Row | None = None
        while remaining_seconds() > _STOP_SECONDS:
            page = self._state.query(keys.queue(queue_id), prefix=keys.CONSUMERS_PREFIX, start=start)
            for row in page.rows:
                client_id = str(row["sk"]).removeprefix(keys.CONSUMERS_PREFIX)
                if not self._redriven.empty(queue_id, client_id=client_id):
                    return False
                self._state.delete(str(row["pk"]), str(row["sk"]))
            if page.next is None:
                return self._dead_letters.empty(queue_id)
            start = page.next
        return False

    def _remove(self, queue_id: str, partition: int, *, until: int | None, keep_after: int | None) -> bool:
        source = keys.stream(queue_id, partition=partition)
        position: int | None = None
        while remaining_seconds() > _STOP_SECONDS:
            page = self._edges.scan(
                source, after=position, until=until, limit=_PAGE, max_weight=PAGE_WEIGHT, weigh=weigh
            )
            found = [read_stored(edge) for edge in page.edges]
            if not found:
                return True
            doomed = [stored for stored in found if stored.is_message or keep_after is None or stored.at <= keep_after]
            self._forget(queue_id, source, doomed)
            position = found[-1].number
            if not page.has_next:
                return True
        return False

    def _forget(self, queue_id: str, source: str, doomed: list[Stored]) -> None:
        """Keys first, then the edges, the objects last: what a crash leaves is found again, but for an object."""
        if not doomed:
            return
        self._holders.release(queue_id, [(claim, stored.message_id) for stored in doomed for claim in stored.claims])
        numbers = {stored.number for stored in doomed}
        self._edges.scan_delete(source, until=max(numbers), only=lambda position: position.seq in numbers)
        blobs = [str(stored.attributes["blob"]) for stored in doomed if "blob" in stored.attributes]
        if blobs:
            self._blobs.delete(blobs)
