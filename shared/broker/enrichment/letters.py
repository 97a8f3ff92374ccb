"""Dead letters of messages that could not be enriched."""

from broker.enrichment.message import Message
from broker.ids import Clock
from broker.queues.contents import Content, Contents
from broker.queues.deadletters import DeadLetters
from broker.queues.letters import DeadLetter, Reason
from broker.queues.queue import Queue
from broker.queues.receipts import Receipts
from edge import Operation, StateTable, TransactionRefused


class EnrichmentLetters:
    """Sets messages aside."""

    def __init__(
        self, *, state: StateTable, contents: Contents, letters: DeadLetters, receipts: Receipts, clock: Clock
    ) -> None:
        self._state = state
        self._receipts = receipts
        self._contents = contents
        self._letters = letters
        self._clock = clock

    def operations(
        self, queue: Queue, message: Message, *, reason: Reason, detail: str = "", at: int | None = None
    ) -> list[Operation]:
        """Set a message aside, its object stored; `at` is when it was published, None for now.

        The first operation refuses when it has been set aside already.
        """
        now = self._clock()
        sealed = self._contents.seal(
            Content(message.published.text),
            tenant_id=queue.tenant_id,
            queue_id=queue.queue_id,
            message_id=message.message_id,
        )
        self._contents.store(sealed)
        letter = DeadLetter(
            entry_id=message.message_id,
            message_id=message.message_id,
            reason=reason,
            detail=detail,
            failed_at=now,
            deliveries=0,
            published_at=now if at is None else at,
            body=dict(sealed.attributes),
        )
        return self._letters.entry_operations(queue.queue_id, letter, tenant_id=queue.tenant_id)

    def write(self, queue: Queue, message: Message, *, reason: Reason, detail: str = "") -> None:
        """Set a message aside; once, however often it is tried under one id."""
        receipt = self._receipts.operations(
            queue.queue_id, message.message_id, repeat=message.repeat, at=self._clock(), status=reason
        )
        try:
            self._state.transact([*self.operations(queue, message, reason=reason, detail=detail), *receipt])
        except TransactionRefused:
            return
