"""Publishing to a stream: reserve a number, then write under it, unless a fence stands there by now.

What is refused is refused before anything is reserved, as far as that can be known. A publisher that loses the race
for a primary key gives its number back by fencing it itself.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from broker import keys
from broker.errors import BrokerError, DuplicateKey, Unavailable
from broker.failures import FAILURES, told
from broker.ids import Ids
from broker.queues.contents import Contents, SealedContent
from broker.queues.kinds import Payload, Published
from broker.queues.primarykeys import Holder
from broker.queues.queue import Queue
from broker.queues.receipts import Receipts, stored_before
from broker.streams.draft import Draft, make_draft
from broker.streams.figures import count
from broker.streams.holders import Claim, Holders, place
from broker.streams.room import Reserved, Room
from broker.streams.stored import stored_edge
from broker.streams.tail import Tails
from edge import ConditionFailed, EdgeTable, Operation, StateTable, TransactionRefused
from edge.threads import side_by_side

_ATTEMPTS = 12


@dataclass(frozen=True, slots=True)
class _Ready:
    """A draft that is sealed, its object stored."""

    draft: Draft
    sealed: SealedContent


class _TakenError(Exception):
    """Somebody has been faster, at the number or at a key; nothing was stored."""


class Publishing:
    """Appends messages to streams; implements `broker.queues.kinds.Publishes`."""

    def __init__(
        self,
        *,
        state: StateTable,
        edges: EdgeTable,
        contents: Contents,
        tails: Tails,
        room: Room,
        holders: Holders,
        receipts: Receipts,
    ) -> None:
        self._state = state
        self._edges = edges
        self._contents = contents
        self._tails = tails
        self._room = room
        self._holders = holders
        self._receipts = receipts

    def publish(self, queue: Queue, payload: Payload, *, ids: Ids, if_match: str | None = None) -> Published:  # noqa: ARG002  # of other types
        """Store one message; see `append`."""
        return self.append(queue, make_draft(queue, payload, ids=ids))

    def publish_batch(self, queue: Queue, payloads: Sequence[Payload], *, ids: Ids) -> list[Published | BrokerError]:
        """Store messages, one outcome each, in order; see `append_all`."""
        drafts: list[Draft | BrokerError] = []
        for payload in payloads:
            try:
                drafts.append(make_draft(queue, payload, ids=ids))
            except BrokerError as error:
                drafts.append(error)
        good = [draft for draft in drafts if isinstance(draft, Draft)]
        outcomes = iter(self.append_all(queue, good))
        return [next(outcomes) if isinstance(draft, Draft) else draft for draft in drafts]

    def append(self, queue: Queue, draft: Draft, *, also: Sequence[Operation] = ()) -> Published:
        """Store one message; durable when this returns. Two calls, three with a primary key.

        Args:
            queue: The queue.
            draft: The message.
            also: Further operations of the transaction that stores it.

        Raises:
            DuplicateKey: Another message holds its key.
            QueueFull: There is no room.
            TransactionRefused: One of `also` does not hold; its `failures` are theirs alone. Nothing was stored.
        """
        if (before := self._before(queue, draft)) is not None:
            return before
        ready: _Ready | None = None
        try:
            for _ in range(_ATTEMPTS):
                (claims,) = self._holders.find_all(queue, [draft.claims])
                if (done := _settled_by(draft, claims)) is not None:
                    return done
                ready = ready or self._seal(queue, draft)
                reserved = self._room.reserve(queue, amount=1, choice=draft.choice)
                with suppress(_TakenError):
                    return self._write(queue, ready, reserved, reserved.first, claims, also)
        except BrokerError:
            if ready is not None and draft.repeat == "never":
                self._contents.discard([ready.sealed.attributes])
            raise
        raise Unavailable

    def append_all(self, queue: Queue, drafts: Sequence[Draft]) -> list[Published | BrokerError]:
        """Store messages, one outcome each, in order. Their numbers are reserved together."""
        outcomes: dict[int, Published | BrokerError] = {}
        fresh, later = _first_of_each_key(drafts)
        found = self._holders.find_all(queue, [drafts[index].claims for index in fresh])
        befores = side_by_side(lambda index: self._before(queue, drafts[index]), fresh)
        waiting: list[tuple[int, Sequence[Claim]]] = []
        for index, claims, before in zip(fresh, found, befores, strict=True):
            try:
                done = before or _settled_by(drafts[index], claims)
            except DuplicateKey as error:
                outcomes[index] = error
                continue
            if done is None:
                waiting.append((index, claims))
            else:
                outcomes[index] = done
        while waiting:
            try:
                reserved = self._room.reserve(queue, amount=len(waiting), choice=drafts[waiting[0][0]].choice)
            except FAILURES as error:
                outcomes |= dict.fromkeys((index for index, _ in waiting), told(error))
                break
            batch, waiting = waiting[: reserved.amount], waiting[reserved.amount :]
            tasks = [(drafts[index], claims, offset) for offset, (index, claims) in enumerate(batch)]
            written = side_by_side(lambda task: self._write_or_append(queue, reserved, *task), tasks)  # noqa: B023
            outcomes |= {index: outcome for (index, _), outcome in zip(batch, written, strict=True)}
        for index in later:
            outcomes[index] = self._one_outcome(queue, drafts[index])
        return [outcomes[index] for index in range(len(drafts))]

    def _before(self, queue: Queue, draft: Draft) -> Published | None:
        return self._receipts.find(queue.queue_id, draft.message_id, repeat=draft.repeat)

    def _write_or_append(
        self, queue: Queue, reserved: Reserved, draft: Draft, claims: Sequence[Claim], offset: int
    ) -> Published | BrokerError:
        try:
            return self._write(queue, self._seal(queue, draft), reserved, reserved.first + offset, claims, ())
        except _TakenError:
            return self._one_outcome(queue, draft)
        except FAILURES as error:
            return told(error)

    def _one_outcome(self, queue: Queue, draft: Draft) -> Published | BrokerError:
        try:
            return self.append(queue, draft)
        except FAILURES as error:
            return told(error)

    def _seal(self, queue: Queue, draft: Draft) -> _Ready:
        sealed = self._contents.seal(
            draft.content, tenant_id=queue.tenant_id, queue_id=queue.queue_id, message_id=draft.message_id
        )
        self._contents.store(sealed)
        return _Ready(draft, sealed)

    def _write(
        self,
        queue: Queue,
        ready: _Ready,
        reserved: Reserved,
        number: int,
        claims: Sequence[Claim],
        also: Sequence[Operation],
    ) -> Published:
        draft = ready.draft
        edge = stored_edge(
            keys.stream(queue.queue_id, partition=reserved.partition),
            number=number,
            message_id=draft.message_id,
            at=reserved.at,
            claims=draft.claims,
            body=ready.sealed.attributes,
        )
        published = Published(draft.message_id, "queued", reserved.at)
        receipt = self._receipts.operations(queue.queue_id, draft.message_id, repeat=draft.repeat, at=reserved.at)
        if not (draft.claims or receipt or also):
            try:
                self._edges.insert(edge, if_absent=True)
            except ConditionFailed as failure:
                raise _TakenError from failure
            count(queue, "Published")
            return published
        holder = Holder(draft.message_id, reserved.at, place(reserved.partition, number))
        held = [self._holders.hold_operation(queue, claim, holder=holder) for claim in claims]
        try:
            self._state.transact([*held, self._edges.insert_operation(edge, if_absent=True), *receipt, *also])
        except TransactionRefused as refusal:
            return self._refused(queue, ready, reserved, number, refusal)
        count(queue, "Published")
        return published

    def _refused(
        self, queue: Queue, ready: _Ready, reserved: Reserved, number: int, refusal: TransactionRefused
    ) -> Published:
        """Somebody has been faster: at the number (reserve again), at a key (look again), or elsewhere (give up)."""
        draft, claims = ready.draft, len(ready.draft.claims)
        if refusal.failures[claims] is None:
            self._tails.fence(queue.queue_id, partition=reserved.partition, numbers=[number])
        before = stored_before(refusal, index=claims + 1, repeat=draft.repeat)
        if before is not None:
            return Published(draft.message_id, "queued", before)
        if not any(refusal.failures[: claims + 1]):
            raise TransactionRefused(refusal.failures[claims + 1 + (draft.repeat != "never") :])
        raise _TakenError


def _settled_by(draft: Draft, claims: Sequence[Claim]) -> Published | None:
    """What is known from the holders of a draft's keys: stored before, or not.

    Raises:
        DuplicateKey: Another message holds one.
    """
    for claim in claims:
        holder = claim.holder
        if holder is None or not claim.living:
            continue
        if holder.message_id != draft.message_id:
            raise DuplicateKey(message_id=holder.message_id, message_status=claim.status)
        if claim.stored:
            return Published(draft.message_id, "queued", holder.published_at)
    return None


def _first_of_each_key(drafts: Sequence[Draft]) -> tuple[list[int], list[int]]:
    """The indexes of the first draft of each key, and of those whose key came before."""
    seen: set[str] = set()
    first: list[int] = []
    again: list[int] = []
    for index, draft in enumerate(drafts):
        (again if draft.key in seen else first).append(index)
        seen |= {draft.key} if draft.key else set()
    return first, again
