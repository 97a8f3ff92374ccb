"""one_to_one: a work queue. Implements what a type of queue must be able to do (`broker.queues.kinds`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from broker.caller import Caller
from broker.errors import BrokerError, KeyFieldInvalid
from broker.ids import Ids, repeat_of
from broker.lanes.alone import Alone
from broker.lanes.consuming import Consuming
from broker.lanes.keeping import Keeping
from broker.lanes.messages import Draft, load_object, payload_draft, shares_lanes
from broker.lanes.publishing import Publishing
from broker.lanes.settling import Settling
from broker.lanes.shape import Shape
from broker.lanes.shared import Shared
from broker.lanes.upkeep import Upkeep
from broker.queues.contents import Content
from broker.queues.kinds import Payload, Published
from broker.queues.letters import UNREADABLE, DeadLetter
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
from edge import Operation


class Lanes:
    """Queues whose messages go to one consumer each.

    `store` and `store_many` take drafts that another type has made: what is delivered, what is kept beside it, and the
    identities of the message as it was published.
    """

    def __init__(
        self,
        *,
        alone: Alone,
        shared: Shared,
        publishing: Publishing,
        consuming: Consuming,
        settling: Settling,
        keeping: Keeping,
        upkeep: Upkeep,
    ) -> None:
        self._alone = alone
        self._shared = shared
        self._publishing = publishing
        self._consuming = consuming
        self._settling = settling
        self._keeping = keeping
        self._upkeep = upkeep

    def publish(self, queue: Queue, payload: Payload, *, ids: Ids, if_match: str | None) -> Published:  # noqa: ARG002  # items'
        """Store one message; see `Publishes`."""
        return self.store(queue, _draft(queue, payload, ids=ids))

    def publish_batch(self, queue: Queue, payloads: Sequence[Payload], *, ids: Ids) -> list[Published | BrokerError]:
        """Store messages, one outcome each; see `Publishes`."""
        outcomes: list[Published | BrokerError | None] = []
        drafts: list[Draft] = []
        for payload in payloads:
            try:
                drafts.append(_draft(queue, payload, ids=ids))
                outcomes.append(None)
            except KeyFieldInvalid as error:
                outcomes.append(error)
        stored = iter(self.store_many(queue, drafts))
        return [next(stored) if outcome is None else outcome for outcome in outcomes]

    def store(self, queue: Queue, draft: Draft) -> Published:
        """Store one draft; durable when this returns.

        Raises:
            DuplicateKey, QueueFull: The queue refuses it.
            NotFound: The condition of an operation of `draft.alongside` did not hold.
        """
        return self._publishing.publish(queue, draft, shape=self.shape(queue))

    def store_many(self, queue: Queue, drafts: Sequence[Draft]) -> list[Published | BrokerError]:
        """Store drafts, one outcome each, in order."""
        return self._publishing.publish_many(queue, drafts, shape=self.shape(queue))

    def consume(self, queue: Queue, request: ConsumeRequest, *, caller: Caller) -> ConsumeAnswer:  # noqa: ARG002  # any
        """Deliver what is due; see `Delivers`."""
        return self._consuming.consume(queue, request, shape=self.shape(queue))

    def ack(self, queue: Queue, message_id: str, request: LeaseRequest, *, caller: Caller) -> None:  # noqa: ARG002  # any
        """Settle a message; see `Delivers`."""
        self._settling.ack(queue, message_id, request.lease_id, shape=self.shape(queue))

    def nack(self, queue: Queue, message_id: str, request: NackRequest, *, caller: Caller) -> None:  # noqa: ARG002  # any
        """Give a message back; see `Delivers`."""
        self._settling.nack(queue, message_id, request, shape=self.shape(queue))

    def extend(self, queue: Queue, message_id: str, request: ExtendRequest, *, caller: Caller) -> int:  # noqa: ARG002
        """Lengthen a lease; see `Delivers`."""
        return self._settling.extend(queue, message_id, request)

    def settle(self, queue: Queue, request: SettleRequest, *, caller: Caller) -> list[SettleResult]:  # noqa: ARG002  # any
        """Many acks and nacks; see `Delivers`."""
        return self._settling.settle(queue, request, shape=self.shape(queue))

    def stats(self, queue: Queue) -> dict[str, Any]:
        """Counts and ages; see `Keeps`."""
        return self._keeping.stats(queue)

    def purge(self, queue: Queue, *, until: int) -> bool:
        """Empty a queue; see `Keeps`."""
        return self._keeping.purge(queue, until=until, shape=self.shape(queue))

    def remove(self, queue_id: str, *, tenant_id: str, settings: dict[str, Any]) -> bool:  # noqa: ARG002  # keys need none
        """Remove what a deleted queue held; see `Keeps`."""
        return self._keeping.remove(queue_id, partitions=int(settings.get("partitions", 1)))

    def reap(self, queue: Queue) -> int:
        """Every minute: leases and delays that have ended; returns how many."""
        self._upkeep.observe(queue)
        return self._upkeep.reap(queue, shape=self.shape(queue))

    def expire(self, queue: Queue) -> int:
        """Every minute: messages past their age or above the limit, and the depth counter; returns what was done."""
        shape = self.shape(queue)
        return (
            self._upkeep.expire(queue, shape=shape) + self._upkeep.trim(queue, shape=shape) + self._upkeep.repair(queue)
        )

    def redrive(
        self,
        queue: Queue,
        letter: DeadLetter,
        content: Content | None,
        *,
        removal: Sequence[Operation],
        ids: Ids,  # noqa: ARG002  # it keeps its id
    ) -> Published:
        """Publish a dead letter anew; see `Redrives`."""
        if content is None:
            raise KeyFieldInvalid(UNREADABLE)
        text = content.published
        draft = payload_draft(queue, load_object(text), text=text, message_id=letter.message_id)
        return self.store(queue, _moved(draft, letter, removal=removal))

    def shape(self, queue: Queue) -> Shape:
        """The queue's kind of lanes."""
        return self._shared if shares_lanes(queue) else self._alone


def _draft(queue: Queue, payload: Payload, *, ids: Ids) -> Draft:
    draft = payload_draft(queue, payload.value, text=payload.text, message_id=ids())
    return replace(draft, repeat=repeat_of(ids))


def _moved(draft: Draft, letter: DeadLetter, *, removal: Sequence[Operation]) -> Draft:
    """The draft of a dead letter, whose body is stored as it was."""
    return replace(draft, alongside=removal, body=letter.body)
