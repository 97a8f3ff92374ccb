"""Lanes that messages share, one per value of the visibility key.

The lane's row is all that changes; the messages are edges behind it, numbered by it. A publisher announces, which
numbers its message and makes the lane due, and appends then. The row goes only when all that was announced has been
settled: deleting it earlier would orphan the message of a publisher that has announced and not yet appended.
"""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from broker import keys
from broker.ids import Clock
from broker.lanes import ranks
from broker.lanes.messages import Candidate, Draft, Guard, Lane, Message, draft_lane, expires, lane_of, unchanged
from broker.lanes.shape import AlongsideRefused, Attempt, KeyTaken, LaneChanged
from broker.queues.contents import stored_body
from broker.queues.depth import LONGEST_CALL_SECONDS
from broker.queues.primarykeys import Holder, PrimaryKeys, holder_of
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToOneSettings
from edge import ConditionFailed, Edge, EdgeTable, Operation, Position, Row, StateTable, TransactionRefused, Value

_HEAD = "REMOVE #lease, #until, #settled, #message_id, #published_at, #deliveries"
_PAUSE = 1000


class Shared:
    """Implements `broker.lanes.shape.Shape`."""

    def __init__(self, *, state: StateTable, edges: EdgeTable, primary_keys: PrimaryKeys, clock: Clock) -> None:
        self._state = state
        self._edges = edges
        self._keys = primary_keys
        self._clock = clock

    def find(self, queue: Queue, draft: Draft, *, now: int) -> tuple[Message, str | None] | None:
        """See `Shape`."""
        digest = _key(draft)
        holder = None if digest is None else self._keys.find(queue.queue_id, digest, cutoff=expires(queue, now=now))
        return None if holder is None else (_held_by(queue, draft, holder), None)

    def store(self, queue: Queue, draft: Draft, *, body: dict[str, Value], now: int) -> int | None:
        """See `Shape`."""
        lane, digest = draft_lane(queue, draft), _key(draft)
        n = draft.announced or self._announce(lane, draft.message_id, now=now)
        attributes: dict[str, Value] = {"published_at": now, **body}
        if digest is not None:
            attributes["key"] = digest
        edge = Edge(keys.lane_source(queue.queue_id, lane=lane.sk), n, draft.message_id, attributes)
        if digest is None and not draft.alongside:
            self._edges.insert(edge)
            return None
        operations = [*draft.alongside, self._edges.insert_operation(edge)]
        cutoff = expires(queue, now=now)
        if digest is not None:
            holder = Holder(draft.message_id, now, lane.sk)
            operations.append(self._keys.hold_operation(queue.queue_id, digest, holder=holder, cutoff=cutoff))
        try:
            self._state.transact(operations)
        except TransactionRefused as refusal:
            failure = refusal.failures[refusal.first] or ConditionFailed()
            if refusal.first < len(draft.alongside):
                raise AlongsideRefused(refusal.first, announced=n) from refusal
            found = holder_of(dict(failure.old), cutoff=None) if failure.old else Holder("", 0, lane.sk)
            if found is not None and found.message_id == draft.message_id:
                return found.published_at
            raise KeyTaken(_held_by(queue, draft, found or Holder("", 0)), seen=None) from refusal
        return None

    def take(self, queue: Queue, candidate: Candidate, *, lease: str, now: int, until: int) -> Attempt:
        """See `Shape`."""
        settings, lane = settings_of(queue, OneToOneSettings), candidate.lane
        waiting = self._waiting(queue, candidate, most=2)
        if not waiting:
            self._wait_for_the_append(candidate, now=now)
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
            expression += " REMOVE #settled, #next_rank"
        else:
            expression += ", #next_rank = :next REMOVE #settled"
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
        source = keys.lane_source(queue.queue_id, lane=messages[0].lane.sk)
        taken = [self._edges.delete_operation(source, Position(one.n, one.message_id)) for one in messages]
        frees = {
            one.primary: self._keys.release_operation(queue.queue_id, one.primary, message_id=one.message_id)
            for one in messages
            if one.primary is not None
        }
        emptied = 0 < messages[-1].pending <= len(messages)
        while True:
            release = self._release(messages, guard=guard, emptied=emptied)
            try:
                self._state.transact([*alongside, release, *taken, *frees.values()])
            except TransactionRefused as refusal:
                index = refusal.first
                failure = refusal.failures[index] or ConditionFailed()
                if index < len(alongside):
                    raise AlongsideRefused(index) from refusal
                if index > len(alongside):
                    # Another message holds the key by now, having taken it over when this one expired.
                    frees.pop(list(frees)[index - len(alongside) - 1 - len(taken)])
                    continue
                old = None if failure.old is None else dict(failure.old)
                if old is None or not guard.holds(old):
                    raise LaneChanged(old) from refusal
                emptied = not emptied
            else:
                return

    def removal(self, queue: Queue, message: Message, *, guard: Guard) -> list[Operation]:
        """See `Shape`."""
        release = self._release([message], guard=guard, emptied=message.pending == 1)
        return [release, *self._taken(queue, message)]

    def removal_behind(self, queue: Queue, message: Message, *, seen: str) -> list[Operation]:
        """What removes a message that waits behind one in flight; refused first when the lane has changed."""
        skip = self._state.update_operation(
            message.lane.pk,
            message.lane.sk,
            "ADD #pending :less REMOVE #next_rank",
            values={"less": -1, "seen": seen},
            condition="#rank = :seen",
        )
        return [skip, *self._taken(queue, message)]

    def _taken(self, queue: Queue, message: Message) -> list[Operation]:
        source = keys.lane_source(queue.queue_id, lane=message.lane.sk)
        position = Position(message.n, message.message_id)
        operations = [self._edges.delete_operation(source, position, must_exist=True)]
        if message.primary is not None:
            operations.append(
                self._keys.release_operation(queue.queue_id, message.primary, message_id=message.message_id)
            )
        return operations

    def _announce(self, lane: Lane, message_id: str, *, now: int) -> int:
        row = self._state.update(
            lane.pk,
            lane.sk,
            "SET #rank = if_not_exists(#rank, :rank), #next_rank = if_not_exists(#next_rank, :rank), "
            "#announced_at = :now ADD #tail :one, #pending :one",
            values={"rank": ranks.ready(now, message_id=message_id).text(), "now": now, "one": 1},
        )
        return int(str(row["tail"]))

    def _wait_for_the_append(self, candidate: Candidate, *, now: int) -> None:
        """Look at an announced but empty lane again in a second; forget it when no publisher can be alive."""
        lane, rank = candidate.lane, candidate.rank
        later = ranks.Rank(now + _PAUSE, rank.n, rank.message_id, rank.deliveries, "W").text()
        try:
            row = self._state.update(
                lane.pk,
                lane.sk,
                "SET #rank = :rank",
                values={"rank": later, "seen": candidate.seen},
                condition="#rank = :seen",
            )
            announced_at = int(str(row.get("announced_at", 0)))
            if announced_at < now - 2 * LONGEST_CALL_SECONDS * 1000:
                self._state.delete(
                    lane.pk,
                    lane.sk,
                    condition="#rank = :rank AND #announced_at = :announced_at",
                    values={"rank": later, "announced_at": announced_at},
                )
        except ConditionFailed:
            return

    def _release(self, messages: Sequence[Message], *, guard: Guard, emptied: bool) -> Operation:
        """The part of a removal that concerns the lane's row: it goes, or takes the rank of what follows."""
        lane, last = messages[0].lane, messages[-1]
        values: Row = {**guard.values, "count": len(messages)}
        if emptied:
            condition = f"{guard.condition} AND #pending <= :count"
            return self._state.delete_operation(lane.pk, lane.sk, condition=condition, values=values)
        values["less"] = -len(messages)
        following = "if_not_exists(#next_rank, :next)" if last.following is None else ":next"
        # What follows is not known when it came later: then it is as old as this moment, under a name of its own.
        unknown = ranks.ready(self._clock(), message_id=secrets.token_hex(8)).text()
        values["next"] = last.following or unknown
        return self._state.update_operation(
            lane.pk,
            lane.sk,
            f"SET #rank = {following} {_HEAD}, #next_rank ADD #pending :less",
            values=values,
            condition=f"{guard.condition} AND #pending > :count",
        )


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
    return ranks.ready(int(str(edge.attributes["published_at"])), message_id=edge.id).text()


def _key(draft: Draft) -> str | None:
    """What a message holds as its primary key: also its own id, where it must not be stored twice."""
    return draft.primary or (draft.message_id if draft.once else None)


def _previous(message: Message) -> Message:
    """With the deliveries that the message has had."""
    return replace(message, deliveries=message.deliveries - 1)


def _held_by(queue: Queue, draft: Draft, holder: Holder) -> Message:
    return Message(lane_of(queue, holder.place or (draft.visibility or "")), holder.message_id, holder.published_at)
