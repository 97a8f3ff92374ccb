"""Publishing to stream queues: look up, join, store; or set aside, or let wait."""

from collections.abc import Callable, Sequence

from broker.enrichment.letters import EnrichmentLetters
from broker.enrichment.message import LookupItems, Message, Target, foreign_digest, join, lookup_settings
from broker.enrichment.promoting import Promoter
from broker.enrichment.waiting import WaitingRoom
from broker.errors import (
    BrokerError,
    ForeignKeyMissing,
    KeyFieldInvalid,
    KeyNotFound,
    NotFound,
    Unavailable,
)
from broker.failures import FAILURES, told
from broker.ids import Ids, moment, repeat_of
from broker.jsontext import loads
from broker.queues.contents import Content
from broker.queues.kinds import Payload, Published
from broker.queues.letters import UNREADABLE, DeadLetter, Redrives
from broker.queues.queue import Queue
from broker.queues.receipts import Receipts
from broker.queues.settings import Enriched, QueueType
from edge import EdgeUnavailable, Operation, StateTable, TransactionRefused
from edge.threads import side_by_side

_ATTEMPTS = 6
_PENDING = "pending_enrichment"


class Enrichment:
    """Implements `broker.queues.kinds.Publishes` and `broker.queues.letters.Redrives` for the stream types.

    Args:
        state: For transactions.
        items: Where items are found.
        room: Where messages wait.
        promoter: What promotes them.
        letters: Where messages are set aside.
        receipts: What earlier attempts have done.
        targets: What stores the messages of a type.
        known: A queue by tenant and name; raises NotFound.
        given_back: What gives the dead letter of a single consumer, joined already, back to it.
    """

    def __init__(
        self,
        *,
        state: StateTable,
        items: LookupItems,
        room: WaitingRoom,
        promoter: Promoter,
        letters: EnrichmentLetters,
        receipts: Receipts,
        targets: Callable[[QueueType], Target],
        known: Callable[[str, str], Queue],
        given_back: Callable[[], Redrives],
    ) -> None:
        self._state = state
        self._items = items
        self._room = room
        self._promoter = promoter
        self._letters = letters
        self._receipts = receipts
        self._targets = targets
        self._known = known
        self._given_back = given_back

    def publish(self, queue: Queue, payload: Payload, *, ids: Ids, if_match: str | None) -> Published:  # noqa: ARG002  # items'
        """Join and store one message, or let it wait.

        Raises:
            KeyNotFound, ForeignKeyMissing: There is nothing to join it with; it is a dead letter now.
            PayloadTooLarge: Joined it is over 1 MiB.
            BrokerError: What else the type refuses.
        """
        message = Message(ids(), payload, repeat=repeat_of(ids))
        self._targets(queue.type).check(queue, message)
        if (before := self._before(queue, message)) is not None:
            return before
        lookup, digest = self._lookup(queue), self._digest(queue, message)
        (item,) = self._items.find(lookup, [digest])
        if item is None:
            return self._without(queue, message, lookup=lookup, digest=digest)
        return self._targets(queue.type).store(queue, join(message, item, lookup=lookup))

    def publish_batch(self, queue: Queue, payloads: Sequence[Payload], *, ids: Ids) -> list[Published | BrokerError]:
        """Join and store messages, one outcome each, in order. All their items are found with one call."""
        target, lookup = self._targets(queue.type), self._lookup(queue)
        outcomes: dict[int, Published | BrokerError] = {}
        wanted: dict[int, tuple[Message, str]] = {}
        for index, payload in enumerate(payloads):
            message = Message(ids(), payload, repeat=repeat_of(ids))
            try:
                target.check(queue, message)
                if (before := self._before(queue, message)) is not None:
                    outcomes[index] = before
                    continue
                wanted[index] = (message, self._digest(queue, message))
            except BrokerError as error:
                outcomes[index] = error
        digests = list(dict.fromkeys(digest for _, digest in wanted.values()))
        items = dict(zip(digests, self._items.find(lookup, digests), strict=True)) if digests else {}
        joined: dict[int, Message] = {}
        missing: dict[str, list[int]] = {}
        for index, (message, digest) in wanted.items():
            item = items[digest]
            try:
                if item is None:
                    missing.setdefault(digest, []).append(index)
                else:
                    joined[index] = join(message, item, lookup=lookup)
            except BrokerError as error:
                outcomes[index] = error
        stored = target.store_many(queue, list(joined.values()))
        outcomes |= dict(zip(joined, stored, strict=True))

        def of_one_item(indexes: list[int]) -> list[tuple[int, Published | BrokerError]]:
            return [(index, self._outcome(queue, *wanted[index], lookup=lookup)) for index in indexes]

        for done in side_by_side(of_one_item, list(missing.values())):
            outcomes.update(done)
        return [outcomes[index] for index in range(len(payloads))]

    def redrive(
        self, queue: Queue, letter: DeadLetter, content: Content | None, *, removal: Sequence[Operation], ids: Ids
    ) -> Published:
        """Publish a dead letter anew, joined with what its item is now; see `Redrives`."""
        if letter.client_id is not None:
            return self._given_back().redrive(queue, letter, content, removal=removal, ids=ids)
        if content is None:
            raise KeyFieldInvalid(UNREADABLE)
        text = content.published
        message = Message(letter.message_id, Payload(loads(text), text))
        target = self._targets(queue.type)
        target.check(queue, message)
        lookup = self._lookup(queue)
        digest = foreign_digest(_settings(queue), message.published.value)
        (item,) = self._items.find(lookup, [digest])
        if item is not None:
            return target.store(queue, join(message, item, lookup=lookup), also=removal)
        if _settings(queue).missing_lookup == "reject":
            raise KeyNotFound("There is still no item under the foreign key; the message stays in the dead letters.")
        return self._defer(queue, message, lookup=lookup, digest=digest, at=moment(ids()), also=removal)

    def _before(self, queue: Queue, message: Message) -> Published | None:
        """What an earlier attempt at the request did with a message, None when it did nothing.

        Raises:
            KeyNotFound: It was set aside.
        """
        before = self._receipts.find(queue.queue_id, message.message_id, repeat=message.repeat)
        if before is not None and before.status == "key_not_found":
            raise KeyNotFound(message_id=message.message_id)
        return before

    def _without(self, queue: Queue, message: Message, *, lookup: Queue, digest: str) -> Published:
        if _settings(queue).missing_lookup == "defer":
            return self._defer(queue, message, lookup=lookup, digest=digest, at=moment(message.message_id))
        self._letters.write(queue, message, reason="key_not_found")
        raise KeyNotFound(message_id=message.message_id)

    def _defer(
        self,
        queue: Queue,
        message: Message,
        *,
        lookup: Queue,
        digest: str,
        at: int,
        also: Sequence[Operation] = (),
    ) -> Published:
        """Let a message wait, and then look again: whoever stores the item looks for what waits after storing it."""
        target = self._targets(queue.type)
        target.admit(queue, message)
        try:
            self._room.announce(lookup.queue_id, digest)
            if not self._let_wait(queue, message, lookup=lookup, digest=digest, at=at, also=also):
                target.dismiss(queue)
        except (BrokerError, EdgeUnavailable) as error:
            if not (isinstance(error, EdgeUnavailable) and error.maybe_done):
                target.dismiss(queue)
            raise
        status = _PENDING
        (item,) = self._items.find(lookup, [digest])
        if item is not None:
            self._promoter.arrived(lookup, digest)
            status = "queued"
        return Published(message.message_id, status, at)

    def _let_wait(
        self, queue: Queue, message: Message, *, lookup: Queue, digest: str, at: int, also: Sequence[Operation]
    ) -> bool:
        """Store a message where it waits; False when an earlier attempt under this id has."""
        insertion = self._room.insertion(queue, message, lookup_id=lookup.queue_id, digest=digest, at=at)
        receipt = self._receipts.operations(
            queue.queue_id, message.message_id, repeat=message.repeat, at=at, status=_PENDING
        )
        own = [insertion, *receipt]
        for _ in range(_ATTEMPTS):
            held = self._targets(queue.type).hold(queue, message, at=at)
            try:
                self._state.transact([*also, *own, *held])
            except TransactionRefused as refusal:
                if any(refusal.failures[: len(also)]):
                    raise NotFound("It has been redriven or deleted already.") from refusal
                if any(refusal.failures[len(also) : len(also) + len(own)]):
                    return False
            else:
                return True
        raise Unavailable

    def _outcome(self, queue: Queue, message: Message, digest: str, *, lookup: Queue) -> Published | BrokerError:
        try:
            return self._without(queue, message, lookup=lookup, digest=digest)
        except FAILURES as error:
            return told(error)

    def _digest(self, queue: Queue, message: Message) -> str:
        try:
            return foreign_digest(_settings(queue), message.published.value)
        except ForeignKeyMissing as error:
            self._letters.write(
                queue, message, reason="foreign_key_missing", detail=str(error.members.get("field", ""))
            )
            raise ForeignKeyMissing(error.detail, message_id=message.message_id, **error.members) from error

    def _lookup(self, queue: Queue) -> Queue:
        try:
            return self._known(queue.tenant_id, _settings(queue).lookup_queue)
        except NotFound as error:
            raise Unavailable("The lookup queue is not there.") from error


def _settings(queue: Queue) -> Enriched:
    settings = lookup_settings(queue)
    if settings is None:
        raise TypeError(f"{queue.type} looks nothing up")
    return settings
