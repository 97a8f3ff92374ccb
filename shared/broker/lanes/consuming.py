"""Finding what is due, leasing it, and handing it over."""

import random
import secrets
from collections.abc import Sequence

from broker import metrics, times
from broker.errors import KeyFieldInvalid, ValidationFailed
from broker.ids import Clock
from broker.lanes import ranks
from broker.lanes.departures import Departures
from broker.lanes.leases import Lease, Leases
from broker.lanes.messages import (
    LOOKUP,
    VISIBILITY,
    Candidate,
    expires,
    lane_of,
    partitions_of,
    shares_lanes,
    unchanged,
    visibility_digest,
)
from broker.lanes.room import read_candidate
from broker.lanes.shape import Fate, Shape
from broker.queues.contents import ANSWER_MOST, Content, Contents, weight
from broker.queues.models import ConsumeAnswer, ConsumeRequest, MessageAnswer
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToOneSettings
from edge import StateTable
from edge.threads import side_by_side

_MESSAGE_MOST = 1024 * 1024
_SPARE = 12
_ROUNDS = 8
_LANE_ROUNDS = 30
SKEW = ranks.SKEW_SECONDS * 1000


class Consuming:
    """Delivers messages."""

    def __init__(
        self, *, state: StateTable, contents: Contents, departures: Departures, leases: Leases, clock: Clock
    ) -> None:
        self._state = state
        self._contents = contents
        self._departures = departures
        self._leases = leases
        self._clock = clock

    def consume(self, queue: Queue, request: ConsumeRequest, *, shape: Shape) -> ConsumeAnswer:
        """What is due now, the oldest first.

        Raises:
            ValidationFailed: A visibility key is named and the queue has none.
            KeyFieldInvalid: What is named cannot be a visibility key.
        """
        if request.visibility_key_value is not None:
            leases = self._named(queue, request.visibility_key_value, shape=shape)
        else:
            leases = []
            partitions = partitions_of(queue)
            first = random.randrange(len(partitions))  # noqa: S311  # spreads consumers, hides nothing
            for pk in partitions[first:] + partitions[:first]:
                if self._is_late(queue, leases):
                    break
                wanted = request.max_messages - len(leases)
                leases += self._due(queue, pk, wanted=wanted, taken=leases, shape=shape)
                if len(leases) >= request.max_messages or _room(leases) < 1:
                    break
        leases.sort(key=lambda lease: (lease.message.published_at, lease.message.message_id))
        return {"messages": self._answers(queue, leases)}

    def _due(self, queue: Queue, pk: str, *, wanted: int, taken: Sequence[Lease], shape: Shape) -> list[Lease]:
        """Lease up to `wanted` messages of one partition: the oldest, or, where others are quicker, any that is due.

        How long a message is shows only when it is leased. So no more are leased at a time than fit the answer for
        certain, beside those `taken` from other partitions: four, unless these are short, then more.
        """
        leases: list[Lease] = []
        for number in range(_ROUNDS):
            now = self._clock()
            limit = wanted - len(leases) + _SPARE
            page = self._state.query(pk, index="by_rank", high=ranks.up_to(now + SKEW), limit=limit)
            due = [one for one in map(read_candidate, page.rows) if one.rank.is_due(now)]
            if number:
                random.shuffle(due)
            again = len(page.rows) == limit
            while due and (room := min(wanted - len(leases), _room(leases, taken=taken))) > 0:
                batch = due[:room]
                attempts = side_by_side(lambda candidate: self._take(queue, candidate, shape=shape), batch)
                leases += [attempt for attempt in attempts if isinstance(attempt, Lease)]
                again = again or any(attempt in ("lost", "expired", "exhausted") for attempt in attempts)
                due = due[len(batch) :]
                if "lost" in attempts:
                    random.shuffle(due)
            full = _room(leases, taken=taken) < 1 or len(leases) >= wanted
            if full or not again or not page.rows or self._is_late(queue, leases):
                break
        return leases

    def _is_late(self, queue: Queue, leases: Sequence[Lease]) -> bool:
        """Whether half of the first lease is over: then it is time to hand over what there is."""
        half = settings_of(queue, OneToOneSettings).consume_ttl_seconds * 500
        return bool(leases) and min(lease.until for lease in leases) - self._clock() < half

    def _named(self, queue: Queue, value: object, *, shape: Shape) -> list[Lease]:
        """Lease the next message of one visibility key, if it is due."""
        if not shares_lanes(queue):
            raise ValidationFailed.of("visibility_key_value", "has no meaning for a queue without visibility_key")
        digest = visibility_digest(queue, value)
        if digest is None:
            raise KeyFieldInvalid("visibility_key_value cannot be a visibility key of this queue.")
        lane = lane_of(queue, digest)
        for _ in range(_LANE_ROUNDS):
            row = self._state.get(lane.pk, lane.sk)
            if row is None or not ranks.parse(str(row["rank"])).is_due(self._clock()):
                return []
            attempt = self._take(queue, Candidate(lane, str(row["rank"])), shape=shape)
            if isinstance(attempt, Lease):
                return [attempt]
            if attempt == "empty":
                return []
        return []

    def _take(self, queue: Queue, candidate: Candidate, *, shape: Shape) -> Lease | Fate:
        """Lease a lane's next message; what is exhausted or expired is taken out of the way instead."""
        now, settings = self._clock(), settings_of(queue, OneToOneSettings)
        lease = secrets.token_hex(8)
        until = now + settings.consume_ttl_seconds * 1000
        attempt = shape.take(queue, candidate, lease=lease, now=now, until=until)
        if attempt.fate == "leased" and attempt.message is not None:
            if candidate.rank.state == "L":
                self._count(queue, "ExpiredLeases")
            return Lease(lease, attempt.message, until)
        guard = unchanged(candidate.seen)
        if attempt.fate == "exhausted" and attempt.message is not None:
            self._departures.set_aside(
                queue, [attempt.message], reason="max_deliveries", shape=shape, guard=guard, now=now
            )
        elif attempt.fate == "expired":
            cutoff = expires(queue, now=now)
            self._departures.clear(
                queue, candidate, shape=shape, which=lambda one: one.expired(cutoff), expired=True, now=now
            )
        return attempt.fate

    def _answers(self, queue: Queue, leases: Sequence[Lease]) -> list[MessageAnswer]:
        stored = [(lease.message.message_id, lease.message.body) for lease in leases]
        contents = self._contents.open_all(stored, tenant_id=queue.tenant_id, queue_id=queue.queue_id)
        now, auto_ack = self._clock(), settings_of(queue, OneToOneSettings).auto_ack
        if auto_ack and leases:
            self._departures.settled(queue, [lease.message for lease in leases])
        # A lease that ran out while the others were collected is worth nothing, and others may have the message.
        good = [pair for pair in zip(leases, contents, strict=True) if auto_ack or pair[0].until > now]
        self._count(queue, "Delivered", len(good))
        self._count(queue, "Unreadable", sum(content is None for _, content in good))
        return [self._answer(queue, lease, content) for lease, content in good]

    def _answer(self, queue: Queue, lease: Lease, content: Content | None) -> MessageAnswer:
        message = lease.message
        answer: MessageAnswer = {
            "message_id": message.message_id,
            "payload": None if content is None else content.raw,
            "published_at": times.text(message.published_at),
            "delivery": message.deliveries,
        }
        if not settings_of(queue, OneToOneSettings).auto_ack:
            answer["lease_id"] = self._leases.seal(queue, lease)
            answer["lease_expires_at"] = times.text(lease.until)
        if content is None:
            answer["error"] = "unreadable"
            return answer
        if VISIBILITY in content.meta:
            answer["visibility_key"] = content.meta[VISIBILITY]
        if LOOKUP in content.meta:
            answer["lookup"] = content.meta[LOOKUP]
        return answer

    def _count(self, queue: Queue, name: str, value: float = 1) -> None:
        metrics.count(name, value, kind=queue.type, tenant_id=queue.tenant_id, queue_id=queue.queue_id)


def _room(leases: Sequence[Lease], *, taken: Sequence[Lease] = ()) -> int:
    """How many more messages fit the answer, however long they are."""
    held = sum(min(weight(lease.message.body), _MESSAGE_MOST) for lease in (*taken, *leases))
    return (ANSWER_MOST - held) // _MESSAGE_MOST
