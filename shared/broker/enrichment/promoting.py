"""Promotion: what waited for an item is joined with it and stored in its queue.

Each message in one transaction, which takes it from where it waits and appends it as a publish does; of those that
wait for one item the oldest first, the next only when the one before is certain to be gone. So any number of promoters
may work at the same item, and die at any point.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from broker.enrichment.letters import EnrichmentLetters
from broker.enrichment.message import LookupItem, LookupItems, Message, Target, join, lookup_settings
from broker.enrichment.waiting import Waiting, WaitingRoom
from broker.errors import BrokerError, DuplicateKey, NotFound, PayloadTooLarge
from broker.ids import Clock
from broker.queues.letters import Reason
from broker.queues.queue import Queue, cutoff_of
from broker.queues.settings import Delivery, QueueType
from edge import EdgeError, Operation, TransactionRefused, remaining_seconds
from edge.threads import side_by_side

_STOP_SECONDS = 4.0


class Promoter:
    """Promotes, and gives up on what has waited for too long.

    Args:
        room: Where messages wait.
        items: Where items are found.
        letters: Where messages are set aside.
        targets: What stores the messages of a type.
        known: A queue by tenant and id; raises NotFound.
        clock: The time.
    """

    def __init__(
        self,
        *,
        room: WaitingRoom,
        items: LookupItems,
        letters: EnrichmentLetters,
        targets: Callable[[QueueType], Target],
        known: Callable[[str, str], Queue],
        clock: Clock,
    ) -> None:
        self._room = room
        self._items = items
        self._letters = letters
        self._targets = targets
        self._known = known
        self._clock = clock

    def arrived(self, lookup: Queue, digest: str) -> None:
        """An item was stored: promote what waits for it. What fails, or has no time, is left to the schedule."""
        with suppress(EdgeError, BrokerError):
            self.promote(lookup, digest)

    def promote(self, lookup: Queue, digest: str) -> int:
        """Promote what waits for an item, as far as time allows; returns how many messages were seen to.

        Nothing happens when there is no such item.
        """
        done, item = 0, None
        for waiting in self._room.read(lookup.queue_id, digest):
            if remaining_seconds() < _STOP_SECONDS:
                return done
            if item is None:
                (item,) = self._items.find(lookup, [digest])
                if item is None:
                    return done
            done += self._promote(lookup, waiting, item)
        return done

    def sweep(self, lookup: Queue) -> int:
        """What the schedule does for a queue: promote what was left, and give up on what has waited for too long."""
        done = 0
        for page in self._room.keys_of(lookup.queue_id):
            digests = [digest for digest, _ in page]
            found = self._items.find(lookup, digests) if digests else []
            places = side_by_side(lambda digest: self._room.places(lookup.queue_id, digest), digests)
            for (digest, touched_at), item, waiting in zip(page, found, places, strict=True):
                if remaining_seconds() < _STOP_SECONDS:
                    return done
                if not waiting:
                    self._room.forget(lookup.queue_id, digest, touched_at=touched_at)
                elif item is not None:
                    done += self.promote(lookup, digest)
                elif any(self._overdue(self._queue(lookup, one), one) for one in waiting):
                    done += self._give_up(lookup, digest)
        return done

    def relieve(self, lookup: Queue, queue: Queue, *, most: int) -> int:
        """Give up on what has waited for too long in a queue that is full, as the schedule would; at most `most`.

        Returns how many messages went, those included that others are about to let go. Looks under a hundred keys;
        where there are more, each time under others.
        """
        if not _gives_up(queue):
            return 0
        digests = self._room.some_keys(lookup.queue_id)
        places = side_by_side(lambda digest: self._room.places(lookup.queue_id, digest), digests)
        done = 0
        for digest, waiting in zip(digests, places, strict=True):
            if done >= most or remaining_seconds() < _STOP_SECONDS:
                break
            overdue = sum(one.queue_id == queue.queue_id and bool(self._overdue(queue, one)) for one in waiting)
            if overdue:
                self._give_up(lookup, digest, only=queue, most=most - done)
                done += min(overdue, most - done)
        return done

    def drop(self, lookup: Queue, queue: Queue, *, until: int) -> bool:
        """Remove what a queue has waiting since up to a moment, without a trace; True when nothing of it is left."""
        for page in self._room.keys_of(lookup.queue_id):
            for digest, _ in page:
                mine = [one for one in self._room.places(lookup.queue_id, digest) if one.queue_id == queue.queue_id]
                if not any(one.published_at <= until for one in mine):
                    continue
                for waiting in self._room.read(lookup.queue_id, digest):
                    if remaining_seconds() < _STOP_SECONDS:
                        return False
                    if waiting.queue_id == queue.queue_id and waiting.published_at <= until:
                        self._leave(queue, waiting, self._room.open(queue, waiting), reason=None)
        return True

    def count(self, lookup: Queue, queue: Queue, *, living: bool = False) -> int:
        """How many messages of a queue are stored as waiting; or of the `living`, which may wait longer."""
        digests = [digest for page in self._room.keys_of(lookup.queue_id) for digest, _ in page]
        places = side_by_side(lambda digest: self._room.places(lookup.queue_id, digest), digests)
        mine = (one for some in places for one in some if one.queue_id == queue.queue_id)
        return sum(not (living and self._overdue(queue, one)) for one in mine)

    def _promote(self, lookup: Queue, waiting: Waiting, item: LookupItem) -> bool:
        queue = self._queue(lookup, waiting)
        if queue is None:
            return self._orphaned(waiting)
        message = self._room.open(queue, waiting)
        if message is None:
            return False
        overdue = self._overdue(queue, waiting)
        if overdue is not None:
            return self._leave(queue, waiting, message, reason=overdue)
        try:
            joined = join(message, item, lookup=lookup)
            self._targets(queue.type).store(unlimited(queue), joined, also=[self._room.removal(waiting)])
        except NotFound:
            return False
        except (PayloadTooLarge, DuplicateKey) as error:
            return self._leave(queue, waiting, message, reason="rejected", detail=error.detail)
        self._targets(queue.type).admitted(queue)
        self._room.discard(waiting)
        return True

    def _give_up(self, lookup: Queue, digest: str, *, only: Queue | None = None, most: int | None = None) -> int:
        done = 0
        for waiting in self._room.read(lookup.queue_id, digest):
            if done == most:
                break
            if only is not None and waiting.queue_id != only.queue_id:
                continue
            queue = only or self._queue(lookup, waiting)
            if queue is None:
                done += self._orphaned(waiting)
                continue
            reason = self._overdue(queue, waiting)
            if reason is not None:
                done += self._leave(queue, waiting, self._room.open(queue, waiting), reason=reason)
        return done

    def _overdue(self, queue: Queue | None, waiting: Waiting) -> Reason | None:
        """Why a message must not wait any longer, None when it may."""
        if queue is None:
            return "expired"
        now = self._clock()
        cutoff = cutoff_of(queue, now=now)
        if cutoff is not None and waiting.published_at <= cutoff:
            return "expired"
        settings = lookup_settings(queue)
        span = None if settings is None else settings.defer_ttl_seconds
        return "lookup_timeout" if span is not None and waiting.published_at + span * 1000 <= now else None

    def _leave(
        self, queue: Queue, waiting: Waiting, message: Message | None, *, reason: Reason | None, detail: str = ""
    ) -> bool:
        """Take a message from where it waits, into the dead letters if that is where it belongs."""
        kept = reason not in (None, "expired") or _keeps_expired(queue, reason)
        target = self._targets(queue.type)
        operations = [self._room.removal(waiting)]
        release: list[Operation] = []
        if message is not None:
            release = target.release(queue, message)
            if kept and reason is not None:
                at = waiting.published_at
                operations += self._letters.operations(queue, message, reason=reason, detail=detail, at=at)
        try:
            self._room.transact([*operations, *release])
        except TransactionRefused as refusal:
            if any(refusal.failures[: len(operations)]):
                return False
            try:
                self._room.transact(operations)  # its keys are another's by now: it was past its age
            except TransactionRefused:
                return False
        target.dismiss(queue)
        self._room.discard(waiting)
        return True

    def _orphaned(self, waiting: Waiting) -> bool:
        """Remove what waits for a queue that is gone; its keys went with it."""
        try:
            self._room.transact([self._room.removal(waiting)])
        except TransactionRefused:
            return False
        self._room.discard(waiting)
        return True

    def _queue(self, lookup: Queue, waiting: Waiting) -> Queue | None:
        try:
            return self._known(lookup.tenant_id, waiting.queue_id)
        except NotFound:
            return None


def unlimited(queue: Queue) -> Queue:
    """A queue as it is for messages whose room was made when they began to wait."""
    return replace(queue, settings=queue.settings.model_copy(update={"max_queue_depth": None, "overflow_policy": None}))


def _gives_up(queue: Queue) -> bool:
    settings = lookup_settings(queue)
    return queue.settings.max_message_age_seconds is not None or bool(settings and settings.defer_ttl_seconds)


def _keeps_expired(queue: Queue, reason: Reason | None) -> bool:
    return reason == "expired" and isinstance(queue.settings, Delivery) and queue.settings.expired_to_dead_letters
