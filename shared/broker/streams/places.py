"""Consumers as their queue's owners see them: listed, looked at, moved, forgotten."""

from collections.abc import Sequence
from dataclasses import replace

from broker import keys, times
from broker.caller import Caller
from broker.crypto import Scope
from broker.errors import Conflict, Forbidden, NotFound, ValidationFailed, WrongQueueType
from broker.ids import Clock, is_ulid
from broker.jsontext import Number
from broker.listing import Lister, Listing, PageRequest
from broker.queues.queue import Queue
from broker.queues.registry import Registry
from broker.queues.settings import TO_MANY
from broker.streams.consumer import REDRIVEN, Consumer, read_consumer
from broker.streams.consumers import Consumers
from broker.streams.models import ConsumerAnswer, PlaceAnswer, SeekRequest
from broker.streams.reading import Reader, Stretch
from broker.streams.redriven import Redriven
from broker.streams.seeking import Seeking
from broker.streams.tail import Tail
from edge import ConditionFailed

_ATTEMPTS = 6


class Places:
    """The `/queues/{queue}/consumers` API."""

    def __init__(
        self,
        *,
        registry: Registry,
        lister: Lister,
        consumers: Consumers,
        seeking: Seeking,
        redriven: Redriven,
        reader: Reader,
        clock: Clock,
    ) -> None:
        self._registry = registry
        self._lister = lister
        self._consumers = consumers
        self._seeking = seeking
        self._redriven = redriven
        self._reader = reader
        self._clock = clock

    def listed(self, caller: Caller, reference: str, request: PageRequest) -> Listing[ConsumerAnswer]:
        """A page of consumers by client id; a page may be short."""
        queue = self._find(caller, reference)
        page = self._lister.page(
            keys.queue(queue.queue_id),
            prefix=keys.CONSUMERS_PREFIX,
            scope=Scope(queue.tenant_id, queue.queue_id, "consumers"),
            request=request,
            read=read_consumer,
        )
        shown = [consumer for consumer in page.items if not self._consumers.forgotten(queue, consumer)]
        tails = self._consumers.tails(queue)
        heads, now = self._heads(queue, tails), self._clock()
        return Listing([consumer_answer(one, tails, now=now, heads=heads) for one in shown], page.next_token)

    def read(self, caller: Caller, reference: str, client_id: str) -> ConsumerAnswer:
        """One consumer.

        Raises:
            NotFound: The queue has no consumer of this id.
        """
        queue = self._find(caller, reference)
        consumer, tails = self._load(queue, client_id)
        return consumer_answer(consumer, tails, now=self._clock(), heads=self._heads(queue, tails))

    def seek(self, caller: Caller, reference: str, client_id: str, request: SeekRequest) -> ConsumerAnswer:
        """Move a consumer; what it holds is let go, what was redriven to it stays.

        Raises:
            Forbidden: The caller is no tenant admin.
            NotFound: The queue has no such consumer, or no such message.
        """
        queue = self._find(caller, reference, admin=True)
        target = _target(request.seek)
        for _ in range(_ATTEMPTS):
            consumer, tails = self._load(queue, client_id)
            positions, turn = self._seeking.positions(queue, target, tails)
            moved = replace(
                self._let_go(queue, consumer),
                positions=positions,
                turn=consumer.turn if turn is None else turn,
                sought=turn is not None,
            )
            try:
                saved = self._consumers.save(queue, moved)
            except ConditionFailed:
                continue
            return consumer_answer(saved, tails, now=self._clock(), heads=self._heads(queue, tails))
        raise Conflict("This consumer is being changed by other calls all the time.")

    def forget(self, caller: Caller, reference: str, client_id: str) -> None:
        """Forget a consumer, and what was redriven to it; should it come again, it begins as a new one.

        Raises:
            Forbidden: The caller is no tenant admin.
            NotFound: The queue has no such consumer.
        """
        queue = self._find(caller, reference, admin=True)
        for _ in range(_ATTEMPTS):
            consumer, _ = self._load(queue, client_id)
            if self._consumers.remove(queue.queue_id, consumer):
                self._redriven.empty(queue.queue_id, client_id=client_id)
                return
        raise Conflict("This consumer is being changed by other calls all the time.")

    def _heads(self, queue: Queue, tails: Sequence[Tail]) -> list[Stretch]:
        """What has expired; read only where something can have."""
        return [] if queue.settings.max_message_age_seconds is None else self._reader.heads(queue, tails)

    def _let_go(self, queue: Queue, consumer: Consumer) -> Consumer:
        """The run over, what of it was redriven and is not settled still waiting."""
        if consumer.partition == REDRIVEN:
            settled = [(slot.number, slot.entry) for slot in consumer.slots if not slot.pending]
            self._redriven.remove(queue.queue_id, client_id=consumer.client_id, places=settled)
            consumer = replace(consumer, waiting=max(0, consumer.waiting - len(settled)))
        return consumer.without_run()

    def _load(self, queue: Queue, client_id: str) -> tuple[Consumer, list[Tail]]:
        consumer, tails = self._consumers.load(queue, client_id) if is_ulid(client_id) else (Consumer(client_id), [])
        if not consumer.rev or self._consumers.forgotten(queue, consumer):
            raise NotFound(f"This queue has no consumer {client_id}.")
        return consumer, tails

    def _find(self, caller: Caller, reference: str, *, admin: bool = False) -> Queue:
        queue = self._registry.find(caller, reference, action="consume")
        if queue.type not in TO_MANY:
            raise WrongQueueType(f"A {queue.type} queue has no consumers of its own.")
        if admin and caller.role != "admin":
            raise Forbidden("Only the tenant admin moves and forgets consumers.")
        return queue


def consumer_answer(
    consumer: Consumer, tails: Sequence[Tail], *, now: int, heads: Sequence[Stretch] = ()
) -> ConsumerAnswer:
    """A consumer as callers see it; `heads` say what of each partition has expired, none where nothing can have."""
    places: list[PlaceAnswer] = []
    for partition, tail in enumerate(tails):
        gone = len(heads[partition].expired) if heads else 0
        passed = heads[partition].passed if heads else tail.floor
        held = [slot for _, slot in consumer.pending() if consumer.partition == partition and slot.number > tail.floor]
        fresh = sum(slot.number > passed for slot in held)
        leased = sum(slot.number <= passed and slot.state == "leased" and slot.until > now for slot in held)
        behind = tail.last - max(consumer.position(partition), passed)
        reached = max(consumer.reached(partition), tail.floor)
        lag = min(behind + fresh, tail.held - gone) + leased
        places.append({"partition": partition, "position": reached, "lag": lag})
    answer: ConsumerAnswer = {
        "client_id": consumer.client_id,
        "position": sum(place["position"] for place in places),
        "lag": sum(place["lag"] for place in places) + waiting(consumer),
        "redriven": waiting(consumer),
        "partitions": places,
        "created_at": times.text(consumer.made_at),
        "last_seen_at": times.text(consumer.seen_at),
    }
    live = [slot for slot in consumer.slots if slot.state == "leased" and slot.until > now]
    if live:
        ends = max(slot.until for slot in live)
        first = live[0].message_id
        answer["lease"] = {"message_id": first, "lease_expires_at": times.text(ends), "messages": len(live)}
    return answer


def waiting(consumer: Consumer) -> int:
    """How many redriven messages a consumer has yet to settle."""
    settled = sum(not slot.pending for slot in consumer.slots) if consumer.partition == REDRIVEN else 0
    return max(0, consumer.waiting - settled)


def _target(seek: object) -> str | int:
    """`earliest`, `latest`, the id of a message, or a moment."""
    if isinstance(seek, str) and (seek in ("earliest", "latest") or is_ulid(seek)):
        return seek
    try:
        return times.parse(seek.integer() if isinstance(seek, Number) else seek)
    except ValueError as error:
        raise ValidationFailed.of("seek", "must be earliest, latest, the id of a message, or a time") from error
