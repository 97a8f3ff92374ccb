"""Lanes that messages share, one per value of the visibility key.

The lane's row is all that changes; the messages are edges behind it, numbered by it. A publisher announces, which
numbers its message and makes the lane due, and appends then. The row goes only when all that was announced has been
settled: deleting it earlier would orphan the message of a publisher that has announced and not yet appended.
"""

from collections.abc import Sequence
from dataclasses import replace

from broker import keys
from broker.ids import Clock
from broker.lanes import ranks
from broker.lanes.announcing import Announcing
from broker.lanes.messages import Candidate, Draft, Guard, Lane, Message, draft_lane, expires, lane_of, unchanged
from broker.lanes.removals import Removals
from broker.lanes.shape import AlongsideRefused, Attempt, KeyTaken, LaneChanged
from broker.queues.contents import stored_body
from broker.queues.primarykeys import PENDING, Holder, PrimaryKeys, holder_of
from broker.queues.queue import Queue, settings_of
from broker.queues.receipts import Receipts, stored_before
from broker.queues.settings import OneToOneSettings
from edge import (
    ConditionFailed,
    Edge,
    EdgeTable,
    EdgeUnavailable,
    Operation,
    Row,
    StateTable,
    TransactionRefused,
    Value,
)


class Shared:
    """Implements `broker.lanes.shape.Shape`.

    Attributes:
        announcing: The numbers of the lanes.
    """

    def __init__(
        self, *, state: StateTable, edges: EdgeTable, primary_keys: PrimaryKeys, receipts: Receipts, clock: Clock
    ) -> None:
        self._state = state
        self._edges = edges
        self._keys = primary_keys
        self._receipts = receipts
        self.announcing = Announcing(state=state)
        self._removals = Removals(state=state, edges=edges, primary_keys=primary_keys, clock=clock)

    def find(self, queue: Queue, draft: Draft, *, now: int) -> tuple[Message, str | None] | None:
        """See `Shape`."""
        digest = draft.primary
        holder = None if digest is None else self._keys.find(queue.queue_id, digest, cutoff=None)
        if holder is None or (holder.place == PENDING and holder.message_id == draft.message_id):
            return None
        message, cutoff = _held_by(queue, draft, holder), expires(queue, now=now)
        return None if message.expired(cutoff) and not self._in_flight(message, now=now) else (message, None)

    def _in_flight(self, message: Message, *, now: int) -> bool:
        """Whether a message past its age is leased: until that ends it is not absent."""
        row = self._state.get(message.lane.pk, message.lane.sk)
        if row is None or row.get("message_id") != message.message_id:
            return False
        return ranks.parse(str(row["rank"])).in_flight(now)

    def store(self, queue: Queue, draft: Draft, *, body: dict[str, Value], now: int) -> int | None:
        """See `Shape`."""
        lane, digest = draft_lane(queue, draft), draft.primary
        n = draft.announced or self.announcing.announce(lane, draft.message_id, now=now)
        attributes: dict[str, Value] = {"published_at": now, **body}
        if digest is not None:
            attributes["key"] = digest
        edge = Edge(keys.lane_source(queue.queue_id, lane=lane.sk), n, draft.message_id, attributes)
        receipt = self._receipts.operations(queue.queue_id, draft.message_id, repeat=draft.repeat, at=now)
        operations = [*draft.alongside, *receipt, self._edges.insert_operation(edge)]
        if digest is not None:
            holder = Holder(draft.message_id, now, lane.sk)
            operations.append(
                self._keys.hold_operation(
                    queue.queue_id,
                    digest,
                    holder=holder,
                    cutoff=expires(queue, now=now),
                    displaced=Holder(draft.message_id, 0, PENDING),  # itself, while it waited to be enriched
                )
            )
        try:
            if len(operations) == 1:
                self._edges.insert(edge, once=True)
            else:
                self._state.transact(operations)
        except EdgeUnavailable as error:
            if not error.maybe_done:
                self.announcing.retract(lane)
            raise
        except TransactionRefused as refusal:
            before = stored_before(refusal, index=len(draft.alongside), repeat=draft.repeat)
            if before is None and refusal.first < len(draft.alongside):
                raise AlongsideRefused(refusal.first, announced=n) from refusal
            self.announcing.retract(lane)
            return before or self._taken(queue, draft, refusal)
        return None

    def retract(self, queue: Queue, draft: Draft, *, announced: int | None) -> None:
        """See `Shape`."""
        if announced is not None:
            self.announcing.retract(draft_lane(queue, draft))

    def _taken(self, queue: Queue, draft: Draft, refusal: TransactionRefused) -> int:
        """When an earlier attempt stored the message that now was refused its key.

        Raises:
            KeyTaken: It is another one.
        """
        failure = refusal.failures[refusal.first] or ConditionFailed()
        holder = holder_of(dict(failure.old), cutoff=None) if failure.old else None
        if holder is not None and holder.message_id == draft.message_id and holder.place != PENDING:
            return holder.published_at
        raise KeyTaken(_held_by(queue, draft, holder or Holder("", 0)), seen=None) from refusal

    def take(self, queue: Queue, candidate: Candidate, *, lease: str, now: int, until: int) -> Attempt:
        """See `Shape`."""
        settings, lane = settings_of(queue, OneToOneSettings), candidate.lane
        waiting = self._waiting(queue, candidate, most=2)
        if not waiting:
            self.announcing.wait(candidate, now=now)
            return Attempt("empty")
        message = waiting[0]
        cutoff = expires(queue, now=now)
        if message.expired(cutoff):
            return Attempt("expired", _previous(message))
        if message.deliveries > settings.max_deliveries:
            return Attempt("exhausted", _previous(message))
        if settings.auto_ack:
            try:
                self.take_out(queue, [message], guard=unchanged(candidate.seen))
            except LaneChanged:
                return Attempt("lost")
            return Attempt("leased", message)
        new = ranks.Rank(until, message.n, message.message_id, message.deliveries, "L")
        expression = (
            "SET #rank = :rank, #lease = :lease, #until = :until, #message_id = :message_id, "
            "#published_at = :published_at, #deliveries = :deliveries"
        )
        values: Row = {
            "rank": new.text(),
            "lease": lease,
            "until": until,
            "message_id": message.message_id,
            "published_at": message.published_at,
            "deliveries": message.deliveries,
            "seen": candidate.seen,
        }
        if message.following is None:
            expression += " REMOVE #next_rank"
        else:
            expression += ", #next_rank = :next"
            values["next"] = message.following
        try:
            row = self._state.update(
                lane.pk, lane.sk, expression, values=values, condition="#rank = :seen", done_if={"lease": lease}
            )
        except ConditionFailed:
            return Attempt("lost")
        return Attempt("leased", replace(message, pending=int(str(row["pending"]))))

    def front(self, queue: Queue, candidate: Candidate, *, most: int) -> list[Message]:
        """See `Shape`."""
        return [_previous(message) for message in self._waiting(queue, candidate, most=most + 1)[:most]]

    def whole(self, queue: Queue, message: Message) -> Message | None:
        """See `Shape`."""
        source = keys.lane_source(queue.queue_id, lane=message.lane.sk)
        found = self._edges.first(source, most=1, start=message.n)
        if not found or found[0].id != message.message_id:
            return None
        return _message(message.lane, found[0], message.deliveries, None)

    def _waiting(self, queue: Queue, candidate: Candidate, *, most: int) -> list[Message]:
        """The first messages of a lane, each as its next delivery would have it.

        A message that was delivered before comes first, whatever an earlier publisher appended late meanwhile.
        """
        source, rank = keys.lane_source(queue.queue_id, lane=candidate.lane.sk), candidate.rank
        found: list[Edge] = []
        if rank.deliveries:
            found = self._edges.first(source, most=most, start=rank.n)
            if found and found[0].id != rank.message_id:
                found = []
        edges = found or self._edges.first(source, most=most)
        messages = []
        for index, edge in enumerate(edges):
            again = index == 0 and edge.id == rank.message_id
            following = _ready(edges[index + 1]) if index + 1 < len(edges) else None
            messages.append(_message(candidate.lane, edge, rank.deliveries * again + 1, following))
        return messages

    def take_out(
        self, queue: Queue, messages: Sequence[Message], *, guard: Guard, alongside: Sequence[Operation] = ()
    ) -> None:
        """See `Shape`."""
        self._removals.take_out(queue, messages, guard=guard, alongside=alongside)

    def removal(self, queue: Queue, message: Message, *, guard: Guard) -> list[Operation]:
        """See `Shape`."""
        return self._removals.removal(queue, message, guard=guard)

    def removal_behind(self, queue: Queue, message: Message, *, seen: str) -> list[Operation]:
        """What removes a message that waits behind one in flight; refused first when the lane has changed."""
        return self._removals.removal_behind(queue, message, seen=seen)


def _message(lane: Lane, edge: Edge, deliveries: int, following: str | None) -> Message:
    attributes = edge.attributes
    return Message(
        lane,
        edge.id,
        int(str(attributes["published_at"])),
        edge.seq,
        deliveries,
        stored_body(attributes),
        str(attributes["key"]) if "key" in attributes else None,
        following=following,
    )


def _ready(edge: Edge) -> str:
    return ranks.following(int(str(edge.attributes["published_at"])), message_id=edge.id).text()


def _previous(message: Message) -> Message:
    """With the deliveries that the message has had."""
    return replace(message, deliveries=message.deliveries - 1)


def _held_by(queue: Queue, draft: Draft, holder: Holder) -> Message:
    return Message(lane_of(queue, holder.place or (draft.visibility or "")), holder.message_id, holder.published_at)
