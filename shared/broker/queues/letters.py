"""One dead letter: as a type hands it in, as it is stored, and as callers see it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from broker import keys, times
from broker.crypto import Scope, Unreadable, Vault
from broker.ids import Ids
from broker.queues.contents import Content, stored_body
from broker.queues.kinds import Published
from broker.queues.models import DeadLetterAnswer
from broker.queues.queue import Queue
from edge import Edge, Operation, Value

Reason: TypeAlias = Literal[
    "max_deliveries", "rejected", "expired", "key_not_found", "foreign_key_missing", "lookup_timeout"
]
UNREADABLE = "The dead letter does not open any more; it can only be deleted."
"""Why such a dead letter is not redriven."""

_PURPOSE = "dead letter detail"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that failed.

    Attributes:
        entry_id: The message's id for the to-one types; for the to-many types unique per message and consumer.
        message_id: The message's id, under which its body is sealed.
        reason: Why.
        detail: What there is to say beside it, such as the reason of a nack; may be empty.
        failed_at: When.
        deliveries: How often it was delivered.
        published_at: When it was published.
        body: `body`, or `blob` and `size`, as `Contents.seal` made them (`contents.stored_body`). The letter owns its
            object: a type whose message goes on living elsewhere stores a copy of it first, under the entry's id.
        client_id: The consumer it failed at, for the to-many types.
        extra: What the type itself wants to remember, for the redrive.
    """

    entry_id: str
    message_id: str
    reason: Reason
    detail: str
    failed_at: int
    deliveries: int
    published_at: int
    body: dict[str, Value]
    client_id: str | None = None
    extra: dict[str, Value] = field(default_factory=dict)


class Redrives(Protocol):
    """Types whose dead letters go back into the queue."""

    def redrive(
        self, queue: Queue, letter: DeadLetter, content: Content | None, *, removal: Sequence[Operation], ids: Ids
    ) -> Published:
        """Publish a dead letter anew: same id and payload (`content.published`), everything else fresh.

        `removal` belongs into the transaction that stores the message, so that it is never in both places nor in
        neither; its first operation refuses when somebody else has redriven or deleted the letter. The letter's
        object (`letter.body`) passes to the message, or is the type's to discard.

        Args:
            queue: The queue.
            letter: The dead letter.
            content: What it carries, None when it does not open any more.
            removal: Operations that remove it.
            ids: New ids, should the type need any.

        Raises:
            BrokerError: The message is refused (duplicate key, full queue, ...); the letter stays.
        """


def letter_edge(letter: DeadLetter, *, tenant_id: str, queue_id: str, vault: Vault) -> Edge:
    """A dead letter as it is stored, its detail sealed.

    Raises:
        EdgeUnavailable: The tenant's key cannot be had now.
    """
    attributes: dict[str, Value] = {
        "message_id": letter.message_id,
        "reason": letter.reason,
        "deliveries": letter.deliveries,
        "published_at": letter.published_at,
        **stored_body(letter.body),
    }
    if letter.detail:
        scope = Scope(tenant_id, queue_id, _PURPOSE, letter.entry_id)
        attributes["detail"] = vault.seal(letter.detail.encode(), scope=scope)
    if letter.client_id is not None:
        attributes["client_id"] = letter.client_id
    if letter.extra:
        attributes["extra"] = dict(letter.extra)
    return Edge(keys.dead_letters(queue_id), letter.failed_at, letter.entry_id, attributes)


def open_letter(edge: Edge, *, tenant_id: str, queue_id: str, vault: Vault) -> DeadLetter:
    """A dead letter from its edge; its detail is empty when it does not open."""
    letter = read_letter(edge)
    detail = edge.attributes.get("detail")
    if not isinstance(detail, bytes):
        return letter
    try:
        opened = vault.open(detail, scope=Scope(tenant_id, queue_id, _PURPOSE, edge.id))
    except Unreadable:
        return letter
    return replace(letter, detail=opened.decode())


def read_letter(edge: Edge) -> DeadLetter:
    """A dead letter from its edge, its detail left sealed."""
    attributes = edge.attributes
    extra = attributes.get("extra")
    return DeadLetter(
        entry_id=edge.id,
        message_id=str(attributes["message_id"]),
        reason=str(attributes["reason"]),  # type: ignore[arg-type]  # only reasons are stored
        detail="",
        failed_at=edge.seq,
        deliveries=int(str(attributes["deliveries"])),
        published_at=int(str(attributes["published_at"])),
        body=stored_body(attributes),
        client_id=str(attributes["client_id"]) if "client_id" in attributes else None,
        extra=dict(extra) if isinstance(extra, dict) else {},
    )


def letter_answer(letter: DeadLetter, content: Content | None) -> DeadLetterAnswer:
    """A dead letter as callers see it; without a payload, and marked, when that does not open."""
    answer: DeadLetterAnswer = {
        "entry_id": letter.entry_id,
        "message_id": letter.message_id,
        "payload": None if content is None else Content(content.published).raw,
        "reason": letter.reason,
        "detail": letter.detail,
        "failed_at": times.text(letter.failed_at),
        "deliveries": letter.deliveries,
        "published_at": times.text(letter.published_at),
    }
    if letter.client_id is not None:
        answer["client_id"] = letter.client_id
    if content is None:
        answer["error"] = "unreadable"
    return answer
