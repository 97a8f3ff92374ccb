"""Adding a document to a queue: its bytes, then in one step its row, what it counts for, and its place in the outbox.

A transaction keeps the counter of a limited queue exact, at the price that uploads to one queue at the same moment have
to try again. Uploads carry whole files; there are not many at one moment.
"""

from collections.abc import Sequence

from broker.crypto import Vault
from broker.documents import document as entries
from broker.documents import keys
from broker.documents.document import Document
from broker.documents.expiry import is_expired
from broker.documents.outbox import outgoing_row
from broker.documents.store import Store
from broker.errors import QueueFull, Throttled
from broker.ids import Clock, Repeat, moment
from broker.queues.depth import Depth
from broker.queues.queue import Queue, settings_of
from broker.queues.receipts import Receipts
from broker.queues.settings import DocumentSettings
from edge import ConditionFailed, Operation, Row, StateTable, TransactionRefused

_ABSENT = "attribute_not_exists(#pk)"
_ATTEMPTS = 10
_VICTIMS_MOST = 50


class Uploads:
    """Puts documents into queues, from callers and from other queues."""

    def __init__(
        self, *, state: StateTable, store: Store, vault: Vault, depth: Depth, receipts: Receipts, clock: Clock
    ) -> None:
        self._state = state
        self._receipts = receipts
        self._store = store
        self._vault = vault
        self._depth = depth
        self._clock = clock

    def add(
        self,
        queue: Queue,
        document: Document,
        content: bytes,
        *,
        repeat: Repeat = "never",
        also: Sequence[Operation] = (),
    ) -> None:
        """Store a document; durable when this returns. The same document again changes nothing.

        Args:
            queue: Where to.
            document: What it is.
            content: Its bytes.
            repeat: Whether this may be done again under the same id: nothing comes back that was deleted meanwhile.
            also: What else must change in the same step.

        Raises:
            QueueFull: There is no room, and none can be made.
            TransactionRefused: A condition in `also` does not hold; nothing was stored.
        """
        if self._receipts.find(queue.queue_id, document.document_id, repeat=repeat) is not None:
            return
        head = self._state.get(keys.queue(queue.queue_id), keys.SUBSCRIBERS)
        watched = head is not None and int(str(head["count"])) > 0
        entry = entries.seal(document, tenant_id=queue.tenant_id, queue_id=queue.queue_id, vault=self._vault)
        row = entries.row_of(document, queue_id=queue.queue_id, entry=entry, watched=watched)
        receipt = self._receipts.operations(
            queue.queue_id, document.document_id, repeat=repeat, at=moment(document.document_id), status="stored"
        )
        own = [self._state.put_operation(row, condition=_ABSENT), *receipt]
        operations = [*own, *also]
        if watched and head is not None:
            place = outgoing_row(
                document.document_id, queue=queue, entry=entry, epoch=int(str(head["epoch"])), path=document.path
            )
            operations.append(self._state.put_operation(place))
        self._store.put_content(queue, document.document_id, content)
        try:
            self._commit(queue, row, operations, own=len(own))
        except (QueueFull, TransactionRefused):
            self._store.discard(queue.queue_id, [{"sk": document.document_id}])
            raise

    def check_room(self, queue: Queue) -> None:
        """Find out before a document's bytes are stored that it would not be taken.

        Raises:
            QueueFull: There is no room now, and none can be made.
        """
        limit = settings_of(queue, DocumentSettings).max_queue_depth
        if limit is not None:
            self._victims(queue, limit=limit)

    def _commit(self, queue: Queue, row: Row, operations: Sequence[Operation], *, own: int) -> None:
        """Store a row with what goes with it; refused at its `own` operations, the first, it is stored already."""
        limit = settings_of(queue, DocumentSettings).max_queue_depth
        if limit is not None:
            self._commit_counted(queue, operations, own=own, limit=limit)
        elif len(operations) == 1:
            try:
                self._state.put(row, condition=_ABSENT)
            except ConditionFailed:
                return  # ids are never reused: this is the document, stored by an earlier attempt
        else:
            try:
                self._state.transact(operations)
            except TransactionRefused as refused:
                if not any(refused.failures[:own]):
                    raise

    def _commit_counted(self, queue: Queue, operations: Sequence[Operation], *, own: int, limit: int) -> None:
        victims: list[Row] = []
        for _ in range(_ATTEMPTS):
            change = self._depth.operation(queue.queue_id, amount=1 - len(victims), limit=limit)
            deletions = [self._store.delete_operation(queue.queue_id, victim) for victim in victims]
            try:
                self._state.transact([*operations, change, *deletions])
            except TransactionRefused as refused:
                if any(refused.failures[:own]):
                    return  # as above
                if any(refused.failures[own : len(operations)]):
                    raise
                victims = self._victims(queue, limit=limit)
            else:
                self._store.discard(queue.queue_id, victims)
                return
        raise Throttled

    def _victims(self, queue: Queue, *, limit: int) -> list[Row]:
        """What must go to make room for one document: none, expired ones, or the oldest where the policy says so."""
        self._depth.begin(queue.queue_id, count=lambda: self._store.count(queue.queue_id))
        excess = (self._depth.read(queue.queue_id) or 0) + 1 - limit
        while excess > 0:
            rows = self._store.oldest(queue.queue_id, limit=min(excess, _VICTIMS_MOST))
            if settings_of(queue, DocumentSettings).overflow_policy != "drop_oldest_append":
                rows = [row for row in rows if is_expired(str(row["sk"]), queue=queue, now=self._clock())]
            if not rows:
                raise QueueFull
            if len(rows) >= excess:
                return rows
            removed = self._store.remove_rows(queue, rows)
            self._store.discard(queue.queue_id, removed)
            excess -= len(rows)
        return []
