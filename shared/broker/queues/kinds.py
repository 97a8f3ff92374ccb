"""What each queue type must be able to do; `broker.wiring` knows which package does it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from broker.caller import Caller
from broker.errors import BrokerError
from broker.ids import Ids
from broker.queues.models import (
    ConsumeAnswer,
    ConsumeRequest,
    ExtendRequest,
    LeaseRequest,
    NackRequest,
    SettleRequest,
    SettleResult,
)
from broker.queues.queue import Queue


@dataclass(frozen=True, slots=True)
class Payload:
    """A message as it was published: its members for reading keys, and its JSON text, which is what is stored."""

    value: dict[str, Any]
    text: bytes


@dataclass(frozen=True, slots=True)
class Published:
    """What became of a message.

    Attributes:
        message_id: Its id.
        status: `queued`, `pending_enrichment`, `stored` or `aggregated`.
        published_at: Milliseconds since the epoch.
        created: False when it replaced what was there.
        members: Further members of the answer.
    """

    message_id: str
    status: str
    published_at: int
    created: bool = True
    members: dict[str, Any] = field(default_factory=dict)


class Publishes(Protocol):
    """Types that messages are published to."""

    def publish(self, queue: Queue, payload: Payload, *, ids: Ids, if_match: str | None) -> Published:
        """Store one message; durable when this returns. Raises what refuses it."""

    def publish_batch(self, queue: Queue, payloads: Sequence[Payload], *, ids: Ids) -> list[Published | BrokerError]:
        """Store messages, one outcome each, in order; one refusal touches no other."""


class Delivers(Protocol):
    """Types that deliver messages under leases."""

    def consume(self, queue: Queue, request: ConsumeRequest, *, caller: Caller) -> ConsumeAnswer:
        """What is there now, at once; waiting is the caller's business."""

    def ack(self, queue: Queue, message_id: str, request: LeaseRequest, *, caller: Caller) -> None:
        """Settle a delivered message for good."""

    def nack(self, queue: Queue, message_id: str, request: NackRequest, *, caller: Caller) -> None:
        """Give a delivered message back."""

    def extend(self, queue: Queue, message_id: str, request: ExtendRequest, *, caller: Caller) -> int:
        """Lengthen a lease from now; returns when it then ends, in milliseconds since the epoch."""

    def settle(self, queue: Queue, request: SettleRequest, *, caller: Caller) -> list[SettleResult]:
        """Many acks and nacks; one result each, acks first, in order."""


class Keeps(Protocol):
    """All types."""

    def stats(self, queue: Queue) -> dict[str, Any]:
        """Counts and ages, in the members that the contract names for the type."""

    def purge(self, queue: Queue, *, until: int) -> bool:
        """Remove what was published up to a moment, dead letters apart; True when nothing of it is left.

        As far as time allows, and repeatable: the sweep goes on where it ran out. `until` is in milliseconds since
        the epoch.
        """

    def remove(self, queue_id: str, *, tenant_id: str, settings: dict[str, Any]) -> bool:
        """Remove what a deleted queue held, dead letters, depth and all; True when nothing is left.

        As far as time allows, and repeatable: the sweep calls it until then, and a minute longer.
        """
