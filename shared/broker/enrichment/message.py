"""A message on its way through enrichment, and what the type that delivers it must be able to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from broker import jsontext
from broker.errors import BrokerError, ForeignKeyMissing, KeyFieldInvalid, PayloadTooLarge
from broker.identity import digest, key_values
from broker.ids import Repeat
from broker.jsontext import Raw
from broker.queues.contents import Content
from broker.queues.kinds import Payload, Published
from broker.queues.queue import Queue
from broker.queues.service import PAYLOAD_MOST
from broker.queues.settings import Enriched
from edge import Operation


@dataclass(frozen=True, slots=True)
class LookupItem:
    """An item that messages are joined with: the JSON texts of its key and payload, and its version."""

    key: bytes
    payload: bytes
    version: str


class LookupItems(Protocol):
    """Where items are found."""

    def find(self, lookup: Queue, digests: Sequence[str]) -> list[LookupItem | None]:
        """The live items under distinct keys, in order; None where there is none. One call."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it was published, and what it is to be delivered with.

    Attributes:
        message_id: Its id.
        published: As it was published, by which it is known.
        payload: The JSON text that consumers get; None until it is joined.
        beside: What is delivered beside the payload.
        repeat: Whether its request may be carried out again: then it must not be stored twice under its id.
    """

    message_id: str
    published: Payload
    payload: bytes | None = None
    beside: dict[str, Any] = field(default_factory=dict)
    repeat: Repeat = "never"

    def content(self, meta: Mapping[str, Any] | None = None) -> Content:
        """What is stored of it, `meta` beside what is delivered beside the payload."""
        beside = {**(meta or {}), **self.beside}
        if self.payload is None:
            return Content(self.published.text, meta=beside)
        return Content(self.payload, original=self.published.text, meta=beside)


class Target(Protocol):
    """A type that delivers messages, as enrichment needs it."""

    def check(self, queue: Queue, message: Message) -> None:
        """Refuse a message whose key fields are not as they must be.

        Raises:
            KeyFieldInvalid: So it is.
        """

    def store(self, queue: Queue, message: Message, *, also: Sequence[Operation] = ()) -> Published:
        """Store a joined message, `also` in the same transaction.

        Raises:
            NotFound: The condition of one of `also` does not hold; nothing was stored.
            DuplicateKey, QueueFull: The queue refuses it.
        """

    def store_many(self, queue: Queue, messages: Sequence[Message]) -> list[Published | BrokerError]:
        """Store joined messages, one outcome each, in order."""

    def admit(self, queue: Queue, message: Message) -> None:
        """Make room for a message that is to wait.

        Raises:
            QueueFull: There is none.
        """

    def admitted(self, queue: Queue) -> None:
        """Pass the room of a message that waited on to what it is now that it is stored."""

    def dismiss(self, queue: Queue) -> None:
        """Give back the room of a message that waits no longer and was not stored."""

    def hold(self, queue: Queue, message: Message, *, at: int) -> list[Operation]:
        """Take the keys of a message that is to wait.

        Raises:
            DuplicateKey: Another message holds one.
        """

    def release(self, queue: Queue, message: Message) -> list[Operation]:
        """Free the keys of a message that waited."""


def lookup_settings(queue: Queue) -> Enriched | None:
    """How a queue's messages are enriched, None when they are not."""
    settings: object = queue.settings
    return settings if isinstance(settings, Enriched) else None


def foreign_digest(settings: Enriched, payload: dict[str, Any]) -> str:
    """The hash of the key of the item that a message wants.

    Raises:
        ForeignKeyMissing: It does not name one.
    """
    try:
        return digest(key_values(payload, paths=settings.foreign_key))
    except KeyFieldInvalid as error:
        raise ForeignKeyMissing(
            f"The message cannot be looked up, and is in the dead letters. {error.detail}", **error.members
        ) from error


def join(message: Message, item: LookupItem, *, lookup: Queue) -> Message:
    """The message with the members of an item that it has not itself; top level only.

    Raises:
        PayloadTooLarge: Together they are over 1 MiB.
    """
    payload = jsontext.dumps({**jsontext.loads(item.payload), **message.published.value})
    if len(payload) > PAYLOAD_MOST:
        raise PayloadTooLarge(f"The message and what it is enriched with are over {PAYLOAD_MOST} bytes together.")
    beside = {"queue": lookup.name, "key": Raw(item.key.decode()), "version": item.version}
    return Message(message.message_id, message.published, payload, {"lookup": beside}, message.repeat)
