"""A message on its way into a stream: what is stored, and what it is known by."""

from dataclasses import dataclass

import xxhash

from broker.identity import digest, key_values
from broker.ids import Ids, Repeat, repeat_of
from broker.queues.contents import Content
from broker.queues.kinds import Payload
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToManySettings


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to be appended, its content final.

    Attributes:
        message_id: Its id.
        content: What is stored.
        key: The digest of its primary key, computed from the message as it was published; None without one.
        repeat: Whether its request may be carried out again: then it must not be stored twice under its id.
    """

    message_id: str
    content: Content
    key: str | None = None
    repeat: Repeat = "never"

    @property
    def claims(self) -> tuple[str, ...]:
        """What it holds while it is in the queue: its primary key, if it has one."""
        return (self.key,) if self.key else ()

    @property
    def choice(self) -> int:
        """A number by which messages are spread over partitions; the same one for the same message."""
        return int(xxhash.xxh32_intdigest(self.message_id.encode()))


def make_draft(queue: Queue, payload: Payload, *, ids: Ids) -> Draft:
    """A message as it was published, ready to be appended.

    Raises:
        KeyFieldInvalid: A field of its primary key is not there, or cannot be one.
    """
    paths = settings_of(queue, OneToManySettings).primary_key
    key = digest(key_values(payload.value, paths=paths)) if paths else None
    return Draft(ids(), Content(payload.text), key=key, repeat=repeat_of(ids))
