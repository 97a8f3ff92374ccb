"""Messages alone in their lane, as they are without a visibility key: the lane's row is the message.

Publish, lease and ack are one conditional write each. With a primary key the row is named by it, so that storing the
message and finding out that its key is taken are the same write.
"""

from collections.abc import Sequence

from broker.lanes import ranks
from broker.lanes.messages import Candidate, Draft, Guard, Lane, Message, draft_lane, expires
from broker.lanes.shape import AlongsideRefused, Attempt, KeyTaken, LaneChanged
from broker.queues.contents import stored_body
from broker.queues.queue import Queue, settings_of
from broker.queues.receipts import Receipts, stored_before
from broker.queues.settings import OneToOneSettings
from edge import ConditionFailed, Operation, Row, StateTable, TransactionRefused, Value

INLINE_MOST = 4 * 1024
"""Bytes of a body that stand in the row, which is written whole at every delivery."""

_FREE = "attribute_not_exists(#pk) OR (attribute_not_exists(#rank) AND #message_id = :message_id)"


class Alone:
    """Implements `broker.lanes.shape.Shape`."""

    def __init__(self, *, state: StateTable, receipts: Receipts) -> None:
        self._state = state
        self._receipts = receipts

    def find(self, queue: Queue, draft: Draft, *, now: int) -> tuple[Message, str | None] | None:
        """See `Shape`."""
        if draft.primary is None:
            return None
        lane = draft_lane(queue, draft)
        row = self._state.get(lane.pk, lane.sk)
        if row is None:
            return None
        message = read_message(lane, row)
        return None if _has_expired(queue, message, row, now=now) else (message, _seen(row))

    def store(self, queue: Queue, draft: Draft, *, body: dict[str, Value], now: int) -> int | None:
        """See `Shape`."""
        lane = draft_lane(queue, draft)
        row: Row = {
            "pk": lane.pk,
            "sk": lane.sk,
            "rank": ranks.ready(now, message_id=draft.message_id).text(),
            "message_id": draft.message_id,
            "published_at": now,
            **body,
        }
        values: Row = {"message_id": draft.message_id}
        first = [
            *draft.alongside,
            *self._receipts.operations(queue.queue_id, draft.message_id, repeat=draft.repeat, at=now),
        ]
        try:
            if first:
                self._state.transact([*first, self._state.put_operation(row, condition=_FREE, values=values)])
            else:
                self._state.put(row, condition=_FREE, values=values, once="message_id")
        except ConditionFailed as failure:
            return _stored_before(lane, failure, draft)
        except TransactionRefused as refusal:
            before = stored_before(refusal, index=len(draft.alongside), repeat=draft.repeat)
            if before is not None:
                return before
            if refusal.first < len(draft.alongside):
                raise AlongsideRefused(refusal.first) from refusal
            return _stored_before(lane, refusal.failures[refusal.first] or ConditionFailed(), draft)
        return None

    def retract(self, queue: Queue, draft: Draft, *, announced: int | None) -> None:
        """See `Shape`. There are no numbers."""

    def take(self, queue: Queue, candidate: Candidate, *, lease: str, now: int, until: int) -> Attempt:
        """See `Shape`."""
        settings, lane, rank = settings_of(queue, OneToOneSettings), candidate.lane, candidate.rank
        cutoff = expires(queue, now=now)
        if rank.deliveries >= settings.max_deliveries:
            front = self.front(queue, candidate, most=1)
            return Attempt("exhausted", front[0]) if front else Attempt("lost")
        condition, values = "#rank = :seen", Row(seen=candidate.seen)
        if cutoff is not None:
            condition += " AND #published_at > :cutoff"
            values["cutoff"] = cutoff
        try:
            if settings.auto_ack:
                old = self._state.delete(lane.pk, lane.sk, condition=condition, values=values)
                return Attempt("leased", _next(lane, old, rank)) if old else Attempt("lost")
            new = ranks.Rank(until, 0, rank.message_id, rank.deliveries + 1, "L")
            row = self._state.update(
                lane.pk,
                lane.sk,
                "SET #rank = :rank, #lease = :lease, #until = :until, #deliveries = :deliveries",
                values={
                    "rank": new.text(),
                    "lease": lease,
                    "until": until,
                    "deliveries": new.deliveries,
                    **values,
                },
                condition=condition,
                done_if={"lease": lease},
            )
        except ConditionFailed as failure:
            if failure.old is not None and failure.old.get("rank") == candidate.seen:
                return Attempt("expired", read_message(lane, dict(failure.old)))
            return Attempt("lost")
        return Attempt("leased", read_message(lane, row))

    def front(self, queue: Queue, candidate: Candidate, *, most: int) -> list[Message]:  # noqa: ARG002  # as the other
        """See `Shape`."""
        row = self._state.get(candidate.lane.pk, candidate.lane.sk)
        return [read_message(candidate.lane, row)] if row is not None and row.get("rank") == candidate.seen else []

    def whole(self, queue: Queue, message: Message) -> Message | None:  # noqa: ARG002  # as the other
        """See `Shape`."""
        row = self._state.get(message.lane.pk, message.lane.sk)
        return read_message(message.lane, row) if row is not None and row["message_id"] == message.message_id else None

    def removal(self, queue: Queue, message: Message, *, guard: Guard) -> list[Operation]:  # noqa: ARG002  # as the other
        """See `Shape`."""
        condition, values = _guarded(message, guard)
        return [self._state.delete_operation(message.lane.pk, message.lane.sk, condition=condition, values=values)]

    def take_out(
        self,
        queue: Queue,
        messages: Sequence[Message],
        *,
        guard: Guard,
        alongside: Sequence[Operation] = (),
    ) -> None:
        """See `Shape`."""
        (message,) = messages
        lane = message.lane
        condition, values = _guarded(message, guard)
        try:
            if alongside:
                self._state.transact([*alongside, *self.removal(queue, message, guard=guard)])
            else:
                self._state.delete(lane.pk, lane.sk, condition=condition, values=values)
        except ConditionFailed as failure:
            if not (failure.maybe_done and failure.old is None):
                raise LaneChanged(_copied(failure), maybe_done=failure.maybe_done) from failure
        except TransactionRefused as refusal:
            if refusal.first < len(alongside):
                raise AlongsideRefused(refusal.first) from refusal
            raise LaneChanged(_copied(refusal.failures[refusal.first] or ConditionFailed())) from refusal


def read_message(lane: Lane, row: Row) -> Message:
    """The message that a row is."""
    return Message(
        lane,
        str(row["message_id"]),
        int(str(row["published_at"])),
        deliveries=int(str(row.get("deliveries", 0))),
        body=stored_body(row),
        pending=1,
    )


def _guarded(message: Message, guard: Guard) -> tuple[str, Row]:
    return f"{guard.condition} AND #message_id = :message_id", {**guard.values, "message_id": message.message_id}


def _next(lane: Lane, row: Row, rank: ranks.Rank) -> Message:
    message = read_message(lane, row)
    return Message(lane, message.message_id, message.published_at, deliveries=rank.deliveries + 1, body=message.body)


def _seen(row: Row) -> str | None:
    return str(row["rank"]) if "rank" in row else None


def _has_expired(queue: Queue, message: Message, row: Row, *, now: int) -> bool:
    """Whether it is absent; what is in flight is not."""
    seen = _seen(row)
    in_flight = seen is not None and ranks.parse(seen).in_flight(now)
    return message.expired(expires(queue, now=now)) and not in_flight


def _stored_before(lane: Lane, failure: ConditionFailed, draft: Draft) -> int:
    """When an earlier attempt stored this very message.

    Raises:
        KeyTaken: It is another one.
    """
    row = _copied(failure) or {"message_id": "", "published_at": 0}
    holder = read_message(lane, row)
    if holder.message_id == draft.message_id:
        return holder.published_at
    raise KeyTaken(holder, seen=_seen(row)) from failure


def _copied(failure: ConditionFailed) -> Row | None:
    return None if failure.old is None else dict(failure.old)
