"""Leases as consumers hold them: sealed tokens, good for one message, one consumer and one delivery of it.

Acks, nacks and extensions check the lease, not the message. Each is one conditional write; only where its condition
fails is the row looked at, to say why.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from broker import jsontext, keys
from broker.crypto import Scope
from broker.errors import InvalidToken, LeaseExpired, LeaseLost, NotFound
from broker.queues.queue import Queue
from broker.streams.consumer import Slot, read_consumer, slot_name
from broker.tokens import Tokens
from edge import Value

Wish: TypeAlias = Literal["acked", "nacked", "extended"]
_SAME: dict[Wish, str] = {"acked": "a", "nacked": "nd", "extended": ""}
"""The outcomes, by their first letters, that a repeated call finds as its own doing."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What a lease token says.

    Attributes:
        message_id: The message.
        lease: The delivery, shared by the messages of one run.
        index: The slot of the consumer's run.
        deliveries: Which delivery it is.
        partition: Where the message is.
        number: Its number there.
        entry: The id of its edge, of a redriven one.
    """

    message_id: str
    lease: str
    index: int
    deliveries: int
    partition: int
    number: int
    entry: str = ""

    @classmethod
    def of(cls, slot: Slot, *, index: int, partition: int) -> "Lease":
        """The lease of a slot that was just delivered."""
        return cls(slot.message_id, slot.lease, index, slot.deliveries, partition, slot.number, slot.entry)

    @property
    def slot(self) -> str:
        """The attribute of its slot."""
        return slot_name(self.index)

    @property
    def held(self) -> str:
        """The condition under which it still holds, with `:lease`, `:leased` and `:now`."""
        return f"#{self.slot}.#lease = :lease AND #{self.slot}.#state = :leased AND #{self.slot}.#until > :now"


class Leases:
    """Seals and opens lease tokens."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def seal(self, queue: Queue, lease: Lease, *, client_id: str) -> str:
        """The token of a lease."""
        content = [lease.lease, lease.index, lease.deliveries, lease.partition, lease.number, lease.entry]
        return self._tokens.seal(jsontext.dumps(content), scope=_scope(queue, client_id, lease.message_id))

    def open(self, queue: Queue, token: str, *, client_id: str, message_id: str) -> Lease:
        """The lease of a token.

        Raises:
            NotFound: It is none of this tenant, queue, consumer and message.
        """
        try:
            content = jsontext.loads(self._tokens.open(token, scope=_scope(queue, client_id, message_id)))
        except (InvalidToken, UnicodeEncodeError) as error:
            raise NotFound("There is no such lease of this message.") from error
        return Lease(message_id, *content)


def judge(old: Mapping[str, Value] | None, lease: Lease, *, wish: Wish, now: int) -> None:
    """Say why a lease does not hold; returns where the very same call has been carried out before.

    Raises:
        NotFound: The consumer has been forgotten.
        LeaseExpired: It has run out, and the message was not taken again.
        LeaseLost: The message was taken again, or settled the other way.
    """
    if old is None or keys.CONSUMERS_PREFIX not in str(old.get("sk", "")):
        raise NotFound("There is no such lease of this message.")
    consumer = read_consumer(old)
    slot = consumer.slots[lease.index] if lease.index < len(consumer.slots) else None
    if slot is not None and slot.lease == lease.lease:
        if slot.state == "leased" and slot.until <= now:
            raise LeaseExpired
        if slot.state[0] in _SAME[wish]:
            return
    elif any(f"{lease.lease}{lease.index}{outcome}" in consumer.past for outcome in _SAME[wish]):
        return
    raise LeaseLost


def _scope(queue: Queue, client_id: str, message_id: str) -> Scope:
    return Scope(queue.tenant_id, queue.queue_id, "lease", f"{client_id}/{message_id}")
