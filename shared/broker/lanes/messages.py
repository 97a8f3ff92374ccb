"""Messages on their way into a lane, and in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import xxhash

from broker import identity, jsontext, keys
from broker.ids import Repeat
from broker.jsontext import Number
from broker.lanes import ranks
from broker.queues.contents import Content
from broker.queues.queue import Queue, cutoff_of, settings_of
from broker.queues.settings import OneToOneSettings
from edge import Operation, Row, Value

VISIBILITY = "visibility_key"
LOOKUP = "lookup"


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that is to be published.

    Attributes:
        message_id: Its id.
        content: What it carries; `meta` may have `visibility_key` and `lookup`, which are delivered with it.
        primary: The digest of its primary key, None without one; of the message as it was published.
        visibility: The digest of its visibility key, None where each message is a lane of its own.
        alongside: Operations that belong into the transaction that stores it, such as the removal of the dead letter
            it was. Their conditions come before the message's own.
        body: Its sealed body, where it has been stored before.
        repeat: Whether its request may be carried out again: then it must not be stored twice under its id.
        announced: Its number in a shared lane, where an attempt that was refused has announced it already.
        at: The moment at which it is published, None for when it is stored.
    """

    message_id: str
    content: Content
    primary: str | None
    visibility: str | None
    alongside: Sequence[Operation] = ()
    body: dict[str, Value] | None = None
    repeat: Repeat = "never"
    announced: int | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """Where a lane stands: the key of its row."""

    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lane as the index shows it."""

    lane: Lane
    seen: str

    @property
    def rank(self) -> ranks.Rank:
        """What its rank says."""
        return ranks.parse(self.seen)


@dataclass(frozen=True, slots=True)
class Message:
    """A message in its lane.

    Attributes:
        lane: Its lane.
        message_id: Its id.
        published_at: When it was published, or redriven.
        n: Its number in a shared lane, 0 alone.
        deliveries: How often it has been delivered, the present delivery included.
        body: `body`, or `blob` and `size`.
        primary: The digest of the primary key it holds in a row of its own (in shared lanes), else None.
        pending: How many messages its lane holds, as far as is known; 0 for not known.
        following: The rank that the lane takes when this message leaves, None for not known or none.
    """

    lane: Lane
    message_id: str
    published_at: int
    n: int = 0
    deliveries: int = 0
    body: dict[str, Value] = field(default_factory=dict)
    primary: str | None = None
    pending: int = 0
    following: str | None = None

    def expired(self, cutoff: int | None) -> bool:
        """Whether it has passed the queue's age limit."""
        return cutoff is not None and self.published_at <= cutoff


@dataclass(frozen=True, slots=True)
class Guard:
    """What must still hold of a lane's row for a write to go through."""

    condition: str
    values: dict[str, Value]

    def holds(self, row: Row | None) -> bool:
        """Whether it holds of a row."""
        if row is None:
            return False
        if "seen" in self.values:
            return row.get("rank") == self.values["seen"]
        return row.get("lease") == self.values["lease"] and int(str(row.get("until", 0))) > int(str(self.values["now"]))


def unchanged(seen: str) -> Guard:
    """Nobody has touched the lane."""
    return Guard("#rank = :seen", {"seen": seen})


def held(lease: str, *, now: int) -> Guard:
    """The lease holds."""
    return Guard("#lease = :lease AND #until > :now", {"lease": lease, "now": now})


def lane_of(queue: Queue, sk: str) -> Lane:
    """The lane of this name; lanes are spread over the queue's partitions."""
    partitions = settings_of(queue, OneToOneSettings).partitions
    number = xxhash.xxh32_intdigest(sk.encode()) % partitions
    return Lane(keys.lanes(queue.queue_id, partition=number), sk)


def draft_lane(queue: Queue, draft: Draft) -> Lane:
    """The lane a message goes to: its visibility key's; else one of its own, named by its primary key if it has one."""
    return lane_of(queue, draft.visibility or draft.primary or draft.message_id)


def partitions_of(queue: Queue) -> list[str]:
    """The hash keys of all lanes of a queue."""
    count = settings_of(queue, OneToOneSettings).partitions
    return [keys.lanes(queue.queue_id, partition=number) for number in range(count)]


def shares_lanes(queue: Queue) -> bool:
    """Whether messages of the queue share lanes, having a visibility key."""
    return settings_of(queue, OneToOneSettings).visibility_key is not None


def key_text(values: Sequence[Any]) -> Any:
    """Key values as they are shown: the value itself, of a composite key the list of them."""
    return values[0] if len(values) == 1 else list(values)


def visibility_digest(queue: Queue, value: Any) -> str | None:
    """The lane that a `visibility_key_value` names, None when it cannot be one."""
    paths = settings_of(queue, OneToOneSettings).visibility_key or []
    values = [value] if len(paths) == 1 else value
    if not isinstance(values, list) or len(values) != len(paths):
        return None
    if not all(isinstance(one, (str, int, bool, Number)) for one in values):
        return None
    return identity.digest(values)


def expires(queue: Queue, *, now: int) -> int | None:
    """The moment at or before which what was published has expired."""
    return cutoff_of(queue, now=now)


def payload_keys(queue: Queue, payload: dict[str, Any]) -> tuple[str | None, list[Any] | None]:
    """The digest of the primary key of a message as it was published, and the values of its visibility key.

    Raises:
        KeyFieldInvalid: A key field is absent, null, an object or an array.
    """
    settings = settings_of(queue, OneToOneSettings)
    primary = (
        identity.digest(identity.key_values(payload, paths=settings.primary_key)) if settings.primary_key else None
    )
    visible = identity.key_values(payload, paths=settings.visibility_key) if settings.visibility_key else None
    return primary, visible


def payload_draft(queue: Queue, payload: dict[str, Any], *, text: bytes, message_id: str) -> Draft:
    """The draft of a message without anything beside it.

    Raises:
        KeyFieldInvalid: A key field is absent, null, an object or an array.
    """
    primary, visible = payload_keys(queue, payload)
    meta = {} if visible is None else {VISIBILITY: key_text(visible)}
    digest = None if visible is None else identity.digest(visible)
    return Draft(message_id, Content(text, meta=meta), primary, digest)


def load_object(text: bytes) -> dict[str, Any]:
    """A stored payload, parsed."""
    value = jsontext.loads(text)
    if not isinstance(value, dict):
        raise TypeError("a stored payload is an object")
    return value
