"""What was redriven to one consumer: messages of its own, before what it has not yet seen of the stream."""

from collections.abc import Sequence

from broker import keys
from broker.ids import Clock
from broker.queues.kinds import Published
from broker.queues.letters import DeadLetter
from broker.queues.queue import Queue
from broker.streams.consumer import new_rev
from broker.streams.stored import Stored, read_stored, weigh
from edge import BlobStore, Edge, EdgeTable, Operation, Position, StateTable

_PAGE = 100
_PAGE_WEIGHT = 4 * 1024 * 1024


class Redriven:
    """The messages that wait for single consumers."""

    def __init__(self, *, state: StateTable, edges: EdgeTable, blobs: BlobStore, clock: Clock) -> None:
        self._state = state
        self._edges = edges
        self._blobs = blobs
        self._clock = clock

    def add(self, queue: Queue, letter: DeadLetter, *, client_id: str, removal: Sequence[Operation]) -> Published:
        """Give a dead letter back to its consumer, which is made if it has been forgotten.

        Raises:
            TransactionRefused: Somebody else has redriven or deleted it.
        """
        now = self._clock()
        attributes = {"id": letter.message_id, "at": now, **letter.body}
        edge = Edge(keys.redriven(queue.queue_id, client_id=client_id), now, letter.entry_id, attributes)
        counted = self._state.update_operation(
            keys.queue(queue.queue_id),
            keys.consumer(client_id),
            "ADD #waiting :one SET #rev = :rev, #seen_at = if_not_exists(#seen_at, :now),"
            " #made_at = if_not_exists(#made_at, :now)",
            values={"one": 1, "rev": new_rev(), "now": now},
        )
        self._state.transact([*removal, self._edges.insert_operation(edge), counted])
        return Published(letter.message_id, "queued", now)

    def oldest(self, queue_id: str, *, client_id: str, limit: int) -> list[tuple[str, Stored]]:
        """The first messages that wait, each with the id of its edge."""
        page = self._edges.scan(
            keys.redriven(queue_id, client_id=client_id),
            limit=limit,
            max_run=limit,
            max_weight=_PAGE_WEIGHT,
            weigh=weigh,
        )
        return [(edge.id, read_stored(edge)) for edge in page.edges]

    def read(self, queue_id: str, *, client_id: str, at: int, entry: str) -> Stored | None:
        """One message that waits, None when it is not there any more."""
        source = keys.redriven(queue_id, client_id=client_id)
        page = self._edges.scan(source, after=at - 1, until=at, limit=_PAGE)
        return next((read_stored(edge) for edge in page.edges if edge.id == entry), None)

    def remove(self, queue_id: str, *, client_id: str, places: Sequence[tuple[int, str]]) -> None:
        """Remove messages, given as their moment and the id of their edge. Repeatable."""
        wanted = {Position(at, entry) for at, entry in places}
        if wanted:
            self._remove(
                queue_id, client_id, after=min(at for at, _ in places) - 1, wanted=wanted, until=max(wanted).seq
            )

    def empty(self, queue_id: str, *, client_id: str, until: int | None = None) -> bool:
        """Remove all that was redriven up to a moment; True when nothing of it is left. Repeatable."""
        return self._remove(queue_id, client_id, after=None, wanted=None, until=until)

    def _remove(
        self, queue_id: str, client_id: str, *, after: int | None, wanted: set[Position] | None, until: int | None
    ) -> bool:
        removed = self._edges.scan_delete(
            keys.redriven(queue_id, client_id=client_id),
            after=None if after is None else Position(after, "~"),
            until=until,
            only=None if wanted is None else wanted.__contains__,
            keep=("blob",),
        )
        blobs = [str(edge.attributes["blob"]) for edge in removed.edges if "blob" in edge.attributes]
        if blobs:
            self._blobs.delete(blobs)
        return removed.finished
