"""Streams, as enrichment needs them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from broker.enrichment.message import Message
from broker.errors import BrokerError, DuplicateKey, NotFound, QueueFull
from broker.queues.depth import Depth
from broker.queues.kinds import Published
from broker.queues.patience import Patience
from broker.queues.primarykeys import PENDING, Holder, PrimaryKeys
from broker.queues.queue import Queue, limit_of
from broker.streams.consumers import Consumers
from broker.streams.draft import Draft, make_draft
from broker.streams.holders import Holders
from broker.streams.publishing import Publishing
from edge import Operation, TransactionRefused

_RELIEVED_MOST = 25


class ToMany:
    """Streams; implements `broker.enrichment.message.Target`."""

    def __init__(
        self,
        *,
        publishing: Publishing,
        holders: Holders,
        consumers: Consumers,
        primary_keys: PrimaryKeys,
        depth: Depth,
        pending: Callable[[Queue], int],
        expire: Callable[[Queue], int],
        relieve: Callable[[Queue, int], int],
        sleep: Callable[[float], None],
    ) -> None:
        self._publishing = publishing
        self._holders = holders
        self._consumers = consumers
        self._keys = primary_keys
        self._depth = depth
        self._pending = pending
        self._expire = expire
        self._relieve = relieve
        self._sleep = sleep

    def check(self, queue: Queue, message: Message) -> None:
        """See `Target`."""
        self._draft(queue, message)

    def store(self, queue: Queue, message: Message, *, also: Sequence[Operation] = ()) -> Published:
        """See `Target`."""
        try:
            return self._publishing.append(self._bounded(queue, amount=1), self._draft(queue, message), also=also)
        except TransactionRefused as refusal:
            raise NotFound("It has been redriven or deleted already.") from refusal

    def store_many(self, queue: Queue, messages: Sequence[Message]) -> list[Published | BrokerError]:
        """See `Target`."""
        if not messages:
            return []
        try:
            bounded = self._bounded(queue, amount=len(messages))
        except QueueFull as full:
            return [full for _ in messages]
        return list(self._publishing.append_all(bounded, [self._draft(queue, message) for message in messages]))

    def admit(self, queue: Queue, message: Message) -> None:  # noqa: ARG002  # all weigh the same
        """See `Target`. What waits has a counter of its own; what is in the stream is counted by its tails."""
        limit = limit_of(queue)
        if limit is None:
            return
        for _ in range(2):
            left = limit - self._held(queue)
            if left > 0 and self._depth.reserve(queue.queue_id, limit=left, count=lambda: self._pending(queue)):
                return
            if not (self._relieve(queue, 1) or self._expire(queue)):
                break
        raise QueueFull

    def admitted(self, queue: Queue) -> None:
        """See `Target`. Its tail counts it by now."""
        self.dismiss(queue)

    def dismiss(self, queue: Queue) -> None:
        """See `Target`."""
        if limit_of(queue) is not None:
            self._depth.release(queue.queue_id)

    def hold(self, queue: Queue, message: Message, *, at: int) -> list[Operation]:
        """See `Target`."""
        draft = self._draft(queue, message)
        (claims,) = self._holders.find_all(queue, [draft.claims])
        holding = Holder(message.message_id, at, PENDING)
        for claim in claims:
            if claim.living and claim.holder is not None and claim.holder.message_id != message.message_id:
                raise DuplicateKey(message_id=claim.holder.message_id, message_status=claim.status)
        return [self._holders.hold_operation(queue, claim, holder=holding) for claim in claims]

    def release(self, queue: Queue, message: Message) -> list[Operation]:
        """See `Target`."""
        return [
            self._keys.release_operation(queue.queue_id, digest, message_id=message.message_id)
            for digest in self._draft(queue, message).claims
        ]

    def _bounded(self, queue: Queue, *, amount: int) -> Queue:
        """The queue with the limit that what waits leaves to what is in the stream.

        Where that is not enough for some messages, what has waited for too long goes first, by this publisher or by
        another, who is waited for a little.
        """
        limit = limit_of(queue)
        waiting = self._depth.read(queue.queue_id) if limit is not None else None
        if limit is None or not waiting:
            return queue
        patience, expecting = Patience(self._sleep), False
        while self._held(queue) + waiting + amount > limit:
            expecting = self._relieve(queue, _RELIEVED_MOST) > 0 or expecting
            before, waiting = waiting, self._depth.read(queue.queue_id) or 0
            if waiting == before and not (expecting and patience.wait()):
                break
        if waiting >= limit:
            raise QueueFull
        return replace(queue, settings=queue.settings.model_copy(update={"max_queue_depth": limit - waiting}))

    def _held(self, queue: Queue) -> int:
        return sum(tail.held for tail in self._consumers.tails(queue))

    def _draft(self, queue: Queue, message: Message) -> Draft:
        draft = make_draft(queue, message.published, ids=lambda: message.message_id)
        return replace(draft, content=message.content(), repeat=message.repeat)
