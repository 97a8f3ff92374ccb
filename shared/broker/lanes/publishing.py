"""Publishing to lanes: duplicates, room, and storing, for one message or many."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from broker import metrics
from broker.errors import BrokerError, DuplicateKey, NotFound, QueueFull
from broker.failures import FAILURES, told
from broker.ids import Clock
from broker.lanes import ranks
from broker.lanes.alone import INLINE_MOST as ALONE_INLINE_MOST
from broker.lanes.batches import fill, in_order
from broker.lanes.counts import Counting
from broker.lanes.departures import Departures
from broker.lanes.duplicates import Duplicates
from broker.lanes.messages import Draft, draft_lane, expires, shares_lanes, unchanged
from broker.lanes.room import Room, Victim
from broker.lanes.shape import AlongsideRefused, KeyTaken, Shape
from broker.lanes.tickets import Tickets
from broker.queues.contents import INLINE_MOST, Contents
from broker.queues.depth import Depth
from broker.queues.kinds import Published
from broker.queues.patience import Patience
from broker.queues.queue import Queue, limit_of, settings_of
from broker.queues.receipts import Receipts
from broker.queues.settings import OneToOneSettings
from edge import EdgeUnavailable, StateTable, Value
from edge.threads import side_by_side

_VICTIMS_MOST = 30
_ATTEMPTS = 4


class Publishing:
    """Stores drafts: those of one_to_one's own messages, and those that another type hands in."""

    def __init__(
        self,
        *,
        state: StateTable,
        contents: Contents,
        depth: Depth,
        room: Room,
        departures: Departures,
        counting: Counting,
        receipts: Receipts,
        clock: Clock,
        sleep: Callable[[float], None],
    ) -> None:
        self._contents = contents
        self._depth = depth
        self._room = room
        self._departures = departures
        self._counting = counting
        self._receipts = receipts
        self._duplicates = Duplicates(state=state, clock=clock)
        self._clock = clock
        self._sleep = sleep

    def publish(self, queue: Queue, draft: Draft, *, shape: Shape) -> Published:
        """Store one message; durable when this returns.

        Raises:
            DuplicateKey: A message with its primary key is in the queue.
            QueueFull: There is no room.
            NotFound: The condition of an operation of `draft.alongside` did not hold.
        """
        tickets = Tickets(0)
        try:
            return self._publish(queue, draft, shape=shape, tickets=tickets, patience=Patience(self._sleep))
        finally:
            self._close(queue, tickets)

    def publish_many(self, queue: Queue, drafts: Sequence[Draft], *, shape: Shape) -> list[Published | BrokerError]:
        """Store messages, one outcome each, in order; one refusal touches no other.

        Messages of one lane are stored one after the other, lanes side by side. All are published at one moment, so
        that they are delivered in their order. When there is not room for all, the first get it.
        """
        now = self._clock()
        drafts = [replace(draft, at=now) for draft in drafts]
        limit = limit_of(queue)
        granted = 0 if limit is None else self._reserve(queue, limit, amount=len(drafts))
        tickets, patience = Tickets(granted), Patience(self._sleep)
        outcomes: dict[int, Published | BrokerError] = {}

        def store(numbers: Sequence[int]) -> None:
            for number in numbers:
                try:
                    outcomes[number] = self._publish(
                        queue, drafts[number], shape=shape, tickets=tickets, patience=patience
                    )
                except FAILURES as error:
                    outcomes[number] = told(error)

        try:
            if limit is not None and granted < len(drafts):
                for number in fill(range(len(drafts)), store=store, outcomes=outcomes):
                    outcomes[number] = self._refusal(queue, drafts[number], shape=shape)
            else:
                side_by_side(store, in_order(queue, drafts))
        finally:
            self._close(queue, tickets)
        return [outcomes[number] for number in range(len(drafts))]

    def _publish(self, queue: Queue, draft: Draft, *, shape: Shape, tickets: Tickets, patience: Patience) -> Published:
        if (before := self._receipts.find(queue.queue_id, draft.message_id, repeat=draft.repeat)) is not None:
            return before
        limit = limit_of(queue)
        if shares_lanes(queue):
            stored = self._duplicates.find(queue, draft, shape=shape)
            if stored is not None:
                return stored
        drops = settings_of(queue, OneToOneSettings).overflow_policy == "drop_oldest_append"
        # Who drops nothing need not wait: what is refused may be sent again.
        wait = patience.wait if drops else lambda: False
        if limit is None or tickets.take() or self._reserve(queue, limit, wait=wait):
            return self._store(queue, draft, shape=shape, tickets=None if limit is None else tickets)
        freed = self._room.expire_some(queue, shape=shape, now=self._clock())
        # Also where nothing was left to free: somebody may have freed it since.
        pause = patience.wait if freed else wait
        if freed is not None and self._reserve(queue, limit, wait=pause, expecting=bool(freed)):
            return self._store(queue, draft, shape=shape, tickets=tickets)
        if not shares_lanes(queue):
            stored = self._duplicates.find(queue, draft, shape=shape)
            if stored is not None:
                return stored
        if drops:
            return self._swap(queue, draft, shape=shape)
        raise QueueFull

    def _refusal(self, queue: Queue, draft: Draft, *, shape: Shape) -> Published | BrokerError:
        """What to say of a message for which there is no room: that it is there already, if it is."""
        try:
            return self._duplicates.find(queue, draft, shape=shape) or QueueFull()
        except FAILURES as error:
            return told(error)

    def _store(self, queue: Queue, draft: Draft, *, shape: Shape, tickets: Tickets | None) -> Published:
        """Store a message for which there is room; the room goes back when it is not stored."""
        body = self._body(queue, draft)
        try:
            published, fresh = self._try(queue, draft, shape=shape, body=body)
        except EdgeUnavailable as error:
            if tickets is not None and not error.maybe_done:
                tickets.give_back()
            raise
        except BaseException:
            if tickets is not None:
                tickets.give_back()
            raise
        if tickets is not None and not fresh:
            tickets.give_back()
        return published

    def _try(self, queue: Queue, draft: Draft, *, shape: Shape, body: dict[str, Value]) -> tuple[Published, bool]:
        """Store a message; says too whether it is this call that stored it."""
        for _ in range(_ATTEMPTS):
            now = self._clock() if draft.at is None else draft.at
            try:
                before = shape.store(queue, draft, body=body, now=now)
            except AlongsideRefused as refusal:
                shape.retract(queue, draft, announced=refusal.announced)
                raise NotFound("It has been redriven or deleted already.") from refusal
            except KeyTaken as taken:
                holder, seen = taken.holder, taken.seen
                if not (seen and holder.expired(expires(queue, now=now)) and not ranks.parse(seen).in_flight(now)):
                    if draft.body is None:
                        self._contents.discard([body])
                    raise self._duplicates.refusal(queue, holder, seen, now=now) from taken
                self._departures.expire(queue, [holder], shape=shape, guard=unchanged(seen), now=now)
            else:
                _count(queue, "Published")
                return Published(draft.message_id, "queued", now if before is None else before), before is None
        raise DuplicateKey(message_id=draft.message_id, message_status="ready")

    def _swap(self, queue: Queue, draft: Draft, *, shape: Shape) -> Published:
        """Store a message in the place of another, both in one transaction."""
        body = self._body(queue, draft)
        for victim in itertools.islice(self._victims(queue, draft, shape=shape), _VICTIMS_MOST):
            now = self._clock() if draft.at is None else draft.at
            going = replace(draft, alongside=[*draft.alongside, *victim.removal])
            try:
                before = shape.store(queue, going, body=body, now=now)
            except AlongsideRefused as refusal:
                if refusal.index < len(draft.alongside):
                    shape.retract(queue, draft, announced=refusal.announced)
                    raise NotFound("It has been redriven or deleted already.") from refusal
                draft = replace(draft, announced=refusal.announced)
            except KeyTaken as taken:
                self._contents.discard([] if draft.body is not None else [body])
                raise self._duplicates.refusal(queue, taken.holder, taken.seen, now=now) from taken
            else:
                if before is None:
                    self._contents.discard([victim.message.body])
                    _count(queue, "Dropped")
                    _count(queue, "Published")
                return Published(draft.message_id, "queued", now if before is None else before)
        shape.retract(queue, draft, announced=draft.announced)
        self._contents.discard([] if draft.body is not None else [body])
        raise QueueFull

    def _victims(self, queue: Queue, draft: Draft, *, shape: Shape) -> Iterator[Victim]:
        """What may make room, looked for again when others were quicker; never what holds the message's own key."""
        own = draft_lane(queue, draft)
        for _ in range(_ATTEMPTS):
            for victim in self._room.victims(queue, shape=shape, now=self._clock()):
                key = victim.message.primary
                if (key is None or key != draft.primary) and (shares_lanes(queue) or victim.message.lane != own):
                    yield victim

    def _reserve(
        self,
        queue: Queue,
        limit: int,
        *,
        amount: int = 1,
        wait: Callable[[], bool] = lambda: False,
        expecting: bool = False,
    ) -> int:
        return self._depth.reserve(
            queue.queue_id,
            limit=limit,
            amount=amount,
            count=lambda: self._counting.stored(queue),
            wait=wait,
            expecting=expecting,
        )

    def _body(self, queue: Queue, draft: Draft) -> dict[str, Value]:
        """The sealed body, its object stored."""
        if draft.body is not None:
            return draft.body
        sealed = self._contents.seal(
            draft.content,
            tenant_id=queue.tenant_id,
            queue_id=queue.queue_id,
            message_id=draft.message_id,
            inline_most=INLINE_MOST if shares_lanes(queue) else ALONE_INLINE_MOST,
        )
        self._contents.store(sealed)
        return dict(sealed.attributes)

    def _close(self, queue: Queue, tickets: Tickets) -> None:
        self._depth.release(queue.queue_id, amount=tickets.close())


def _count(queue: Queue, name: str) -> None:
    metrics.count(name, kind=queue.type, tenant_id=queue.tenant_id, queue_id=queue.queue_id)
