"""Consume: lease the next messages to one consumer, after what it holds, or failed to settle, is dealt with.

Three calls as a rule: the consumer with the tails, one query, one conditional write. What a consumer failed to settle
it gets again before anything else, in order; a delayed message holds it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from broker import times
from broker.errors import Conflict, Unacknowledged
from broker.ids import Clock
from broker.queues.contents import Content, Contents
from broker.queues.models import ConsumeAnswer, MessageAnswer
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToManySettings
from broker.streams.burying import Burying
from broker.streams.consumer import REDRIVEN, Consumer, Slot, new_lease
from broker.streams.consumers import Consumers
from broker.streams.expiry import Expiry
from broker.streams.figures import count
from broker.streams.leases import Lease, Leases
from broker.streams.reading import Reader
from broker.streams.redriven import Redriven
from broker.streams.stored import Stored, cutoff
from broker.streams.tail import Tail
from edge import ConditionFailed

_ATTEMPTS = 6
_SEEN_SECONDS = 60


@dataclass(frozen=True, slots=True)
class _Found:
    """A message to be delivered, and where its edge is."""

    stored: Stored
    deliveries: int
    index: int
    entry: str = ""


class Consuming:
    """Delivers messages of streams."""

    def __init__(
        self,
        *,
        consumers: Consumers,
        reader: Reader,
        redriven: Redriven,
        burying: Burying,
        expiry: Expiry,
        contents: Contents,
        leases: Leases,
        clock: Clock,
    ) -> None:
        self._consumers = consumers
        self._reader = reader
        self._redriven = redriven
        self._burying = burying
        self._expiry = expiry
        self._contents = contents
        self._leases = leases
        self._clock = clock

    def consume(self, queue: Queue, *, client_id: str, limit: int, acting: bool = False) -> ConsumeAnswer:
        """Up to `limit` messages for a consumer, and how many it has missed; `acting` is whether another is calling.

        Raises:
            ValidationFailed: Another is calling, and there is neither such a consumer nor such a client.
            Unacknowledged: It holds a message.
            Conflict: It is busy with other calls, over and over.
        """
        for _ in range(_ATTEMPTS):
            consumer, tails = self._consumers.load(queue, client_id, acting=acting)
            try:
                return self._deliver(queue, consumer, tails, limit)
            except ConditionFailed:
                continue
        raise Conflict("This consumer is being changed by other calls all the time.")

    def _deliver(self, queue: Queue, consumer: Consumer, tails: Sequence[Tail], limit: int) -> ConsumeAnswer:
        now = self._clock()
        gone = -1 if consumer.partition == REDRIVEN or not consumer.slots else tails[consumer.partition].floor
        held = consumer.live(now, above=gone)
        if held is not None:
            raise Unacknowledged(message_id=held.message_id, lease_expires_at=times.text(held.until))
        skipped = 0
        if consumer.pending():
            consumer, left, found = self._again(queue, consumer, tails, limit)
            skipped += left
            if consumer.pending():
                return (
                    self._lease(queue, consumer, found, skipped) if found else self._nothing(queue, consumer, skipped)
                )
        consumer = self._begun(queue, self._closed(queue, consumer), tails)
        return self._next(queue, consumer, tails, limit, skipped)

    def _again(
        self, queue: Queue, consumer: Consumer, tails: Sequence[Tail], limit: int
    ) -> tuple[Consumer, int, list[_Found]]:
        """What is to be delivered again, what is past its last delivery set aside, what has left passed over."""
        now, skipped = self._clock(), 0
        found: list[_Found] = []
        stored = self._burying.read_run(queue, consumer)
        for index, slot in consumer.pending():
            message = stored.get(index)
            if message is None or self._left(queue, consumer, message, tails, now):
                if message is not None and message.expired(_cutoff(queue, now)):
                    self._expiry.missed(queue, [message], client_id=consumer.client_id)
                consumer = consumer.with_slot(index, replace(slot, state="gone"))
                skipped += 1
            elif slot.deliveries >= settings_of(queue, OneToManySettings).max_deliveries:
                consumer = self._burying.spent(queue, consumer, index, message)
            elif slot.until > now or len(found) >= limit:
                break
            else:
                found.append(_Found(message, slot.deliveries + 1, index, slot.entry))
        return consumer, skipped, found

    def _left(self, queue: Queue, consumer: Consumer, message: Stored, tails: Sequence[Tail], now: int) -> bool:
        if consumer.partition != REDRIVEN and message.number <= tails[consumer.partition].floor:
            return True
        return message.expired(_cutoff(queue, now))

    def _closed(self, queue: Queue, consumer: Consumer) -> Consumer:
        """The run over; what was redriven and is settled removed."""
        if consumer.partition == REDRIVEN and consumer.slots:
            places = [(slot.number, slot.entry) for slot in consumer.slots]
            self._redriven.remove(queue.queue_id, client_id=consumer.client_id, places=places)
            consumer = replace(consumer, waiting=max(0, consumer.waiting - len(places)))
        return consumer.without_run()

    def _begun(self, queue: Queue, consumer: Consumer, tails: Sequence[Tail]) -> Consumer:
        """A new consumer put where the queue lets consumers start."""
        if consumer.known:
            return consumer
        latest = settings_of(queue, OneToManySettings).start_from == "latest"
        positions = {partition: tail.last if latest else tail.floor for partition, tail in enumerate(tails)}
        return replace(consumer, positions=positions, made_at=self._clock(), fresh=True)

    def _next(self, queue: Queue, consumer: Consumer, tails: Sequence[Tail], limit: int, skipped: int) -> ConsumeAnswer:
        before = consumer
        if consumer.waiting and not consumer.sought:
            consumer, found = self._given_back(queue, consumer, limit)
            if found:
                return self._lease(queue, consumer, found, skipped)
        count = len(tails)
        for partition in ((consumer.turn + step) % count for step in range(count)):
            stretch = self._reader.after(
                queue.queue_id,
                partition=partition,
                position=consumer.position(partition),
                limit=limit,
                tail=tails[partition],
                cutoff=_cutoff(queue, self._clock()),
            )
            if not consumer.fresh:
                skipped += stretch.skipped
                self._expiry.missed(queue, stretch.expired, client_id=consumer.client_id)
            if stretch.position != consumer.position(partition):
                consumer = consumer.at(partition, position=stretch.position)
            if stretch.messages:
                consumer = replace(consumer, partition=partition, turn=(partition + 1) % count, sought=False)
                found = [_Found(stored, 1, index) for index, stored in enumerate(stretch.messages)]
                return self._lease(queue, consumer, found, skipped)
        return self._nothing(queue, consumer, skipped, changed=consumer != before)

    def _given_back(self, queue: Queue, consumer: Consumer, limit: int) -> tuple[Consumer, list[_Found]]:
        """What was redriven to the consumer, those that have expired since passed over."""
        now = self._clock()
        while consumer.waiting:
            waiting = self._redriven.oldest(queue.queue_id, client_id=consumer.client_id, limit=limit)
            expired = [(entry, stored) for entry, stored in waiting if stored.expired(_cutoff(queue, now))]
            if not expired:
                found = [_Found(stored, 1, index, entry) for index, (entry, stored) in enumerate(waiting)]
                return replace(consumer, partition=REDRIVEN, waiting=consumer.waiting if found else 0), found
            self._expiry.missed(queue, [stored for _, stored in expired], client_id=consumer.client_id)
            places = [(stored.number, entry) for entry, stored in expired]
            self._redriven.remove(queue.queue_id, client_id=consumer.client_id, places=places)
            consumer = replace(consumer, waiting=max(0, consumer.waiting - len(expired)))
        return consumer, []

    def _nothing(self, queue: Queue, consumer: Consumer, skipped: int, *, changed: bool = False) -> ConsumeAnswer:
        """No message; what was found out on the way is kept, and, now and then, that the consumer was there."""
        now = self._clock()
        silence = settings_of(queue, OneToManySettings).consumer_ttl_seconds or _SEEN_SECONDS * 4
        stale = now - consumer.seen_at >= min(_SEEN_SECONDS * 1000, silence * 250)
        if changed or skipped or stale or not consumer.rev:
            self._consumers.save(queue, replace(consumer, seen_at=now))
        return {"messages": [], "skipped": skipped} if skipped else {"messages": []}

    def _lease(self, queue: Queue, consumer: Consumer, found: Sequence[_Found], skipped: int) -> ConsumeAnswer:
        contents = self._contents.open_all(
            [(one.stored.message_id, one.stored.attributes) for one in found],
            tenant_id=queue.tenant_id,
            queue_id=queue.queue_id,
        )
        again = [consumer.slots[one.index] for one in found if one.deliveries > 1]
        now, lease = self._clock(), new_lease()
        until = now + settings_of(queue, OneToManySettings).consume_ttl_seconds * 1000
        for one in found:
            slot = Slot(
                number=one.stored.number,
                message_id=one.stored.message_id,
                state="leased",
                lease=lease,
                until=until,
                deliveries=one.deliveries,
                entry=one.entry,
            )
            consumer = consumer.with_slot(one.index, slot)
        self._consumers.save(queue, replace(consumer, seen_at=now))
        count(queue, "Delivered", len(found))
        count(queue, "Unreadable", contents.count(None))
        count(queue, "ExpiredLeases", sum(slot.state == "leased" for slot in again))
        answers = [self._answer(queue, consumer, one, content) for one, content in zip(found, contents, strict=True)]
        return {"messages": answers, "skipped": skipped} if skipped else {"messages": answers}

    def _answer(self, queue: Queue, consumer: Consumer, one: _Found, content: Content | None) -> MessageAnswer:
        slot = consumer.slots[one.index]
        lease = Lease.of(slot, index=one.index, partition=consumer.partition)
        answer: MessageAnswer = {
            "message_id": slot.message_id,
            "payload": None if content is None else content.raw,
            "published_at": times.text(one.stored.at),
            "delivery": slot.deliveries,
            "lease_id": self._leases.seal(queue, lease, client_id=consumer.client_id),
            "lease_expires_at": times.text(slot.until),
        }
        if content is None:
            answer["error"] = "unreadable"
        elif "lookup" in content.meta:
            answer["lookup"] = content.meta["lookup"]
        return answer


def _cutoff(queue: Queue, now: int) -> int | None:
    return cutoff(now, age_seconds=settings_of(queue, OneToManySettings).max_message_age_seconds)
