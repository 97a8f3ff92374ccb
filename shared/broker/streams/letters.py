"""What one consumer could not deal with, as a dead letter of its own: a copy, since the message stays for others."""

from broker import keys
from broker.crypto import Scope, Unreadable, Vault
from broker.ids import Ids, SeededIds
from broker.queues.contents import stored_body
from broker.queues.deadletters import DeadLetters
from broker.queues.letters import DeadLetter, Reason
from broker.queues.queue import Queue
from broker.streams.figures import count
from broker.streams.stored import Stored
from edge import BlobMissing, BlobStore, Operation, StateTable, TransactionRefused, Value

_PURPOSE = "nack reason"


class Letters:
    """Makes dead letters of messages in streams."""

    def __init__(
        self, *, dead_letters: DeadLetters, state: StateTable, blobs: BlobStore, vault: Vault, ids: Ids
    ) -> None:
        self._dead_letters = dead_letters
        self._state = state
        self._blobs = blobs
        self._vault = vault
        self._ids = ids

    def operations(
        self,
        queue: Queue,
        message: Stored,
        *,
        client_id: str,
        reason: Reason,
        detail: str = "",
        failed_at: int,
        deliveries: int,
    ) -> list[Operation]:
        """Set a message aside for a consumer, in the transaction that takes it from the consumer.

        A payload in an object is copied now: the letter outlives the message.

        Raises:
            EdgeUnavailable: The object cannot be copied, or the tenant's key be had, now.
        """
        return self._operations(
            queue, message, self._ids(), client_id, reason, detail=detail, failed_at=failed_at, deliveries=deliveries
        )

    def expire(self, queue: Queue, message: Stored, *, client_id: str, age_seconds: int) -> None:
        """Set a message aside that has expired before the consumer got it; once, whoever finds out how often."""
        failed_at = message.at + age_seconds * 1000
        entry_id = SeededIds(failed_at, seed=f"{message.message_id}{client_id}".encode())()
        operations = self._operations(
            queue, message, entry_id, client_id, "expired", detail="", failed_at=failed_at, deliveries=0
        )
        try:
            self._state.transact(operations)
        except TransactionRefused:
            return
        count(queue, "DeadLettered")

    def seal_detail(self, text: str, *, queue: Queue, client_id: str, message_id: str) -> bytes:
        """The reason of a nack, to be kept beside the consumer until it is needed."""
        scope = Scope(queue.tenant_id, queue.queue_id, _PURPOSE, f"{client_id}/{message_id}")
        return self._vault.seal(text.encode(), scope=scope)

    def open_detail(self, sealed: bytes, *, queue: Queue, client_id: str, message_id: str) -> str:
        """Back from what `seal_detail` made; empty when there is none, or it does not open."""
        scope = Scope(queue.tenant_id, queue.queue_id, _PURPOSE, f"{client_id}/{message_id}")
        try:
            return self._vault.open(sealed, scope=scope).decode() if sealed else ""
        except Unreadable:
            return ""

    def _operations(
        self,
        queue: Queue,
        message: Stored,
        entry_id: str,
        client_id: str,
        reason: Reason,
        *,
        detail: str,
        failed_at: int,
        deliveries: int,
    ) -> list[Operation]:
        letter = DeadLetter(
            entry_id=entry_id,
            message_id=message.message_id,
            reason=reason,
            detail=detail,
            failed_at=failed_at,
            deliveries=deliveries,
            published_at=message.at,
            body=self._copy(queue, message, entry_id),
            client_id=client_id,
        )
        return self._dead_letters.entry_operations(queue.queue_id, letter, tenant_id=queue.tenant_id)

    def _copy(self, queue: Queue, message: Stored, entry_id: str) -> dict[str, Value]:
        body = stored_body(message.attributes)
        if "blob" not in body:
            return body
        copy = keys.payload_blob(queue.queue_id, record_id=entry_id)
        try:
            self._blobs.put(copy, self._blobs.get(str(body["blob"])))
        except BlobMissing:
            return body  # it does not open there either, and the letter says so
        return {**body, "blob": copy}
