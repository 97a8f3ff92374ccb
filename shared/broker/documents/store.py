"""Documents as rows and objects. Object first, row last; on removal row first, object later.

A row never lacks its object; an object that lost its row, or never got one, is found by the sweep of the bucket.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress

from broker.crypto import Vault
from broker.documents import document as entries
from broker.documents import keys
from broker.documents.document import Document
from broker.documents.expiry import is_expired
from broker.errors import NotFound
from broker.ids import Clock
from broker.queues.depth import Depth
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import DocumentSettings
from edge import BlobStore, ConditionFailed, EdgeUnavailable, Operation, Row, StateTable, TransactionRefused

_PRESENT = "attribute_exists(#pk)"
_CHUNK = 50


class Store:
    """The documents of all queues."""

    def __init__(self, *, state: StateTable, blobs: BlobStore, vault: Vault, depth: Depth, clock: Clock) -> None:
        self._state = state
        self._blobs = blobs
        self._vault = vault
        self._depth = depth
        self._clock = clock

    def load(self, queue: Queue, document_id: str) -> Document:
        """A document without its bytes.

        Raises:
            NotFound: There is none, or it is older than the queue keeps them.
            Unreadable: It does not open.
        """
        if is_expired(document_id, queue=queue, now=self._clock()):
            raise NotFound("There is no such document.")
        row = self._state.get(keys.documents(queue.queue_id), document_id)
        if row is None:
            raise NotFound("There is no such document.")
        return self.read(row, queue=queue)

    def read(self, row: Row, *, queue: Queue) -> Document:
        """A document from its row.

        Raises:
            Unreadable: It does not open.
        """
        return entries.unseal(
            row["entry"],
            tenant_id=queue.tenant_id,
            queue_id=queue.queue_id,
            document_id=str(row["sk"]),
            vault=self._vault,
        )

    def content(self, document_id: str, *, tenant_id: str, queue_id: str) -> bytes:
        """The bytes of a document.

        Raises:
            BlobMissing: There are none.
            Unreadable: They do not open.
        """
        envelope = self._blobs.get(keys.blob(queue_id, document_id=document_id))
        return self._vault.open(envelope, scope=entries.content_scope(tenant_id, queue_id, document_id))

    def put_content(self, queue: Queue, document_id: str, content: bytes) -> None:
        """Store the bytes of a document, before its row."""
        scope = entries.content_scope(queue.tenant_id, queue.queue_id, document_id)
        envelope = self._vault.seal(content, scope=scope)
        self._blobs.put(keys.blob(queue.queue_id, document_id=document_id), envelope)

    def remove(self, queue: Queue, document_id: str) -> None:
        """Remove a document: gone when this returns, its bytes then or later.

        Raises:
            NotFound: There is none, or it is older than the queue keeps them.
        """
        if is_expired(document_id, queue=queue, now=self._clock()):
            raise NotFound("There is no such document.")
        if settings_of(queue, DocumentSettings).max_queue_depth is None:
            removed = [self._remove_uncounted(queue.queue_id, document_id)]
        else:
            found = self._state.get(keys.documents(queue.queue_id), document_id)
            removed = self.remove_rows(queue, [found] if found is not None else [])
        if not removed:
            raise NotFound("There is no such document.")
        self.discard(queue.queue_id, removed)

    def _remove_uncounted(self, queue_id: str, document_id: str) -> Row:
        try:
            row = self._state.delete(keys.documents(queue_id), document_id, condition=_PRESENT)
        except ConditionFailed as failure:
            if not failure.maybe_done:
                raise NotFound("There is no such document.") from failure
            row = None
        # Removed by an attempt whose answer was lost: whether it is watched is not known any more, so ask.
        return row or {"sk": document_id, "watched": True}

    def remove_rows(self, queue: Queue, rows: Sequence[Row]) -> list[Row]:
        """Remove rows with what they count for; returns those that this call removed. Their objects stay."""
        counted = settings_of(queue, DocumentSettings).max_queue_depth is not None
        removed: list[Row] = []
        for start in range(0, len(rows), _CHUNK):
            left = list(rows[start : start + _CHUNK])
            while left:
                operations = [self.delete_operation(queue.queue_id, row) for row in left]
                if counted:
                    operations.append(self._depth.operation(queue.queue_id, amount=-len(left)))
                try:
                    self._state.transact(operations)
                except TransactionRefused as refused:
                    if counted:
                        counted = refused.failures[len(left)] is None
                    left = [row for row, failure in zip(left, refused.failures, strict=False) if failure is None]
                else:
                    removed += left
                    break
        return removed

    def delete_operation(self, queue_id: str, row: Row) -> Operation:
        """The removal of a row that is there, as part of a transaction."""
        return self._state.delete_operation(keys.documents(queue_id), str(row["sk"]), condition=_PRESENT)

    def discard(self, queue_id: str, rows: Sequence[Row]) -> int:
        """Remove the objects of rows that are gone, but not those that copies still need; returns how many.

        Whoever makes the last copy looks for the row and removes the object then: each side writes before it reads.
        What fails here is left to the sweep of the bucket.
        """
        with suppress(EdgeUnavailable):
            watched = [str(row["sk"]) for row in rows if row.get("watched")]
            places = [(keys.outbox(queue_id), keys.outgoing(queue_id, document_id=one)) for one in watched]
            waiting = {one for one, row in zip(watched, self._state.get_many(places), strict=True) if row is not None}
            doomed = [str(row["sk"]) for row in rows if str(row["sk"]) not in waiting]
            self._blobs.delete([keys.blob(queue_id, document_id=one) for one in doomed])
            return len(doomed)
        return 0

    def discard_all(self, queue_id: str) -> bool:
        """Remove whatever objects a queue still has; False when time ran out before the last one."""
        return self._blobs.delete_under(keys.blobs(queue_id))

    def oldest(self, queue_id: str, *, limit: int) -> list[Row]:
        """The oldest rows of a queue, expired ones included."""
        return list(self._state.query(keys.documents(queue_id), limit=limit).rows)

    def count(self, queue_id: str, *, low: str = "", most: int | None = None) -> int:
        """The number of a queue's documents with ids from `low` on; stops counting above `most`."""
        found, start = 0, None
        while True:
            page = self._state.query(keys.documents(queue_id), index="by_sort", start=start)
            found += sum(str(row["sk"]) >= low for row in page.rows)
            start = page.next
            if start is None or (most is not None and found > most):
                return found


def digest(content: bytes) -> str:
    """SHA-256 of a document's bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
