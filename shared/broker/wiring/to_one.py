"""Lanes, as enrichment needs them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from broker.enrichment.message import Message
from broker.errors import BrokerError, DuplicateKey, QueueFull
from broker.ids import Clock
from broker.lanes.counts import Counting
from broker.lanes.messages import Draft, draft_lane, payload_draft, shares_lanes
from broker.lanes.service import Lanes
from broker.queues.depth import Depth
from broker.queues.kinds import Published
from broker.queues.primarykeys import PENDING, Holder, PrimaryKeys
from broker.queues.queue import Queue, cutoff_of, limit_of
from edge import ConditionFailed, Operation, Row, StateTable


class ToOne:
    """Lanes; implements `broker.enrichment.message.Target`."""

    def __init__(
        self,
        *,
        lanes: Lanes,
        state: StateTable,
        primary_keys: PrimaryKeys,
        depth: Depth,
        counting: Counting,
        expire: Callable[[Queue], int],
        clock: Clock,
    ) -> None:
        self._lanes = lanes
        self._state = state
        self._keys = primary_keys
        self._depth = depth
        self._counting = counting
        self._expire = expire
        self._clock = clock

    def check(self, queue: Queue, message: Message) -> None:
        """See `Target`."""
        self._draft(queue, message)

    def store(self, queue: Queue, message: Message, *, also: Sequence[Operation] = ()) -> Published:
        """See `Target`."""
        draft = replace(self._draft(queue, message), alongside=also)
        try:
            return self._lanes.store(queue, draft)
        except DuplicateKey:
            if not self._free_expired(queue, draft):
                raise
            return self._lanes.store(queue, draft)

    def store_many(self, queue: Queue, messages: Sequence[Message]) -> list[Published | BrokerError]:
        """See `Target`."""
        return list(self._lanes.store_many(queue, [self._draft(queue, message) for message in messages]))

    def admit(self, queue: Queue, message: Message) -> None:  # noqa: ARG002  # all weigh the same
        """See `Target`."""
        limit = limit_of(queue)
        if limit is None:
            return
        for _ in range(2):
            if self._depth.reserve(queue.queue_id, limit=limit, count=lambda: self._counting.stored(queue)):
                return
            if not self._expire(queue):
                break
        raise QueueFull

    def admitted(self, queue: Queue) -> None:
        """See `Target`. The counter counts both."""

    def dismiss(self, queue: Queue) -> None:
        """See `Target`."""
        if limit_of(queue) is not None:
            self._depth.release(queue.queue_id)

    def hold(self, queue: Queue, message: Message, *, at: int) -> list[Operation]:
        """See `Target`. Alone in its lane, a message holds its key by a row in the lane's place."""
        draft = self._draft(queue, message)
        if draft.primary is None:
            return []
        now = self._clock()
        found = self._lanes.shape(queue).find(queue, draft, now=now)
        if found is not None:
            holder, seen = found
            if holder.message_id != message.message_id:
                raise DuplicateKey(message_id=holder.message_id, message_status="pending" if seen is None else "ready")
        if shares_lanes(queue):
            holding = Holder(message.message_id, at, PENDING)
            return [
                self._keys.hold_operation(
                    queue.queue_id, draft.primary, holder=holding, cutoff=cutoff_of(queue, now=now)
                )
            ]
        lane = draft_lane(queue, draft)
        row: Row = {"pk": lane.pk, "sk": lane.sk, "message_id": message.message_id, "published_at": at}
        if found is None and self._state.get(lane.pk, lane.sk) is not None and not self._free_expired(queue, draft):
            self._expire(queue)  # what stands there is past its age
        return [self._state.put_operation(row, condition="attribute_not_exists(#pk)")]

    def release(self, queue: Queue, message: Message) -> list[Operation]:
        """See `Target`."""
        draft = self._draft(queue, message)
        if draft.primary is None:
            return []
        if shares_lanes(queue):
            return [self._keys.release_operation(queue.queue_id, draft.primary, message_id=message.message_id)]
        lane = draft_lane(queue, draft)
        return [
            self._state.delete_operation(
                lane.pk,
                lane.sk,
                condition="attribute_not_exists(#pk) OR (attribute_not_exists(#rank) AND #message_id = :message_id)",
                values={"message_id": message.message_id},
            )
        ]

    def _free_expired(self, queue: Queue, draft: Draft) -> bool:
        """Free a key that is held by a message past its age that waits; False when it is not."""
        cutoff = cutoff_of(queue, now=self._clock())
        if cutoff is None or draft.primary is None or shares_lanes(queue):
            return False
        lane = draft_lane(queue, draft)
        try:
            condition = "attribute_not_exists(#rank) AND #published_at <= :cutoff"
            return self._state.delete(lane.pk, lane.sk, condition=condition, values={"cutoff": cutoff}) is not None
        except ConditionFailed:
            return False

    def _draft(self, queue: Queue, message: Message) -> Draft:
        published = message.published
        draft = payload_draft(queue, published.value, text=published.text, message_id=message.message_id)
        return replace(draft, content=message.content(draft.content.meta), repeat=message.repeat)
