"""Storing an item: what its queue allows to be replaced, whom it makes room for, and what it counts."""

from collections.abc import Callable
from typing import TypeAlias

from broker import jsontext
from broker.errors import DuplicateKey, KeyFieldInvalid, PreconditionFailed, QueueFull
from broker.identity import digest, field, key_values
from broker.ids import Repeat
from broker.items.addresses import named_versions
from broker.items.fresh import Fresh, Written
from broker.items.order import sort_text
from broker.items.rows import Place, Stored, outside, rank_text
from broker.items.store import ItemStore
from broker.queues.depth import Depth
from broker.queues.kinds import Payload
from broker.queues.patience import Patience
from broker.queues.queue import Queue, cutoff_of, limit_of, settings_of
from broker.queues.receipts import stored_before
from broker.queues.settings import KeyValueSettings
from edge import ConditionFailed, EdgeUnavailable, Row, TransactionRefused

KEY_MOST = 2048
"""Bytes of the JSON array of an item's key."""

_ATTEMPTS = 8
_SWEPT_BY_PUBLISH = 25
_FREE = "attribute_not_exists(#item_id)"
_EXPIRED = "#item_at <= :cutoff"


Continues: TypeAlias = Callable[[], bool]
"""Asked before each of many steps whether to take it."""


class ItemWriter:
    """Publishes, deletes and expires the items of all key_value queues."""

    def __init__(self, *, store: ItemStore, depth: Depth, sleep: Callable[[float], None]) -> None:
        self._store = store
        self._sleep = sleep
        self._depth = depth

    def publish(self, queue: Queue, fresh: Fresh, *, if_match: str | None) -> Written:
        """Store an item, durable when this returns.

        Raises:
            DuplicateKey: There is one under its key, and the queue does not replace.
            PreconditionFailed: There is none of a version in `if_match`.
            QueueFull: There is no room.
        """
        place = place_of(queue)
        self._store.put_body(place, fresh)
        try:
            return self._publish(queue, fresh, place=place, if_match=if_match)
        except (DuplicateKey, PreconditionFailed, QueueFull):
            self._store.drop_bodies(place, [fresh.version] if outside(fresh.payload) else [])
            raise

    def delete(self, queue: Queue, stored: Stored) -> bool:
        """Remove a live item that was read; False when it has changed since."""
        place = place_of(queue)
        if not self._store.bury(place, stored, key=self._key(place, stored)):
            return False
        self._release(queue, 1)
        return True

    def purge(self, queue: Queue, *, until: int, goes_on: Continues) -> bool:
        """Remove what was written up to a moment; False when `goes_on` said stop before all was."""
        return self._bury_all(queue, through=until, expired=False, goes_on=goes_on)[1]

    def expire(self, queue: Queue, *, goes_on: Continues) -> int:
        """Put tombstones in the place of expired items; returns of how many."""
        cutoff = cutoff_of(queue, now=self._store.clock())
        return 0 if cutoff is None else self._bury_all(queue, through=cutoff, expired=True, goes_on=goes_on)[0]

    def trim(self, queue: Queue, *, goes_on: Continues) -> int:
        """Where a queue drops its oldest, remove what is above a limit that was lowered; returns of how many."""
        limit, place = limit_of(queue), place_of(queue)
        if limit is None or settings_of(queue, KeyValueSettings).overflow_policy != "drop_oldest_append":
            return 0
        surplus = (self._depth.read(queue.queue_id) or 0) - limit
        if surplus > 0:  # the counter may be above the truth
            surplus = min(surplus, self._store.count(place) - limit)
        done = 0
        for _ in range(surplus):
            if not goes_on() or (oldest := self._oldest(place)) is None:
                break
            done += self.delete(queue, oldest)
        return done

    def _publish(self, queue: Queue, fresh: Fresh, *, place: Place, if_match: str | None) -> Written:
        cutoff = cutoff_of(queue, now=self._store.clock())
        if if_match is not None:
            return self._matching(place, fresh, if_match=if_match, cutoff=cutoff)
        limit = limit_of(queue)
        if limit is None:
            return self._put(queue, fresh, place=place, cutoff=cutoff)
        patience = Patience(self._sleep)
        drops = settings_of(queue, KeyValueSettings).overflow_policy == "drop_oldest_append"

        def wait() -> bool:
            (old,) = self._store.find(place, [fresh.digest]) if drops else (None,)
            return drops and (old is None or old.version is None) and patience.wait()

        for _ in range(_ATTEMPTS):
            if self._depth.reserve(queue.queue_id, limit=limit, count=lambda: self._store.count(place), wait=wait):
                return self._reserved(queue, fresh, place=place, cutoff=cutoff)
            (old,) = self._store.find(place, [fresh.digest])
            if old is not None and old.version is not None:
                written = self._over(queue, fresh, old, place=place, cutoff=cutoff)
            else:
                written = self._making_room(queue, fresh, place=place)
            if written is not None:
                return written
        raise QueueFull

    def _put(self, queue: Queue, fresh: Fresh, *, place: Place, cutoff: int | None) -> Written:
        replace = settings_of(queue, KeyValueSettings).on_duplicate == "replace"
        condition, values = (None, {}) if replace else _free(cutoff)
        try:
            return self._store.write(place, fresh, condition=condition, values=values, cutoff=cutoff)
        except ConditionFailed as failure:
            raise _duplicate(failure) from failure

    def _reserved(self, queue: Queue, fresh: Fresh, *, place: Place, cutoff: int | None) -> Written:
        """Write with room reserved, and give it back when it was not needed."""
        try:
            written = self._put(queue, fresh, place=place, cutoff=cutoff)
        except EdgeUnavailable as error:
            if not error.maybe_done:
                self._depth.release(queue.queue_id)
            raise
        except DuplicateKey:
            self._depth.release(queue.queue_id)
            raise
        if written.took_over:
            self._depth.release(queue.queue_id)
        return written

    def _over(self, queue: Queue, fresh: Fresh, old: Stored, *, place: Place, cutoff: int | None) -> Written | None:
        """Write over a row that is counted already; None when it has changed."""
        if old.lives(cutoff) and settings_of(queue, KeyValueSettings).on_duplicate == "reject":
            if old.version == fresh.version:
                return Written(old.at, created=True, took_over=True)
            raise DuplicateKey(message_id=old.version, message_status="stored")
        try:
            seen: Row = {"seen": str(old.version)}
            return self._store.write(place, fresh, condition="#item_id = :seen", values=seen, cutoff=cutoff)
        except ConditionFailed:
            return None

    def _making_room(self, queue: Queue, fresh: Fresh, *, place: Place) -> Written | None:
        """Remove what has expired, or swap the oldest item for the new one; None when it is worth another attempt."""
        turns = iter(range(_SWEPT_BY_PUBLISH))
        if self.expire(queue, goes_on=lambda: next(turns, None) is not None):
            return None
        if settings_of(queue, KeyValueSettings).overflow_policy != "drop_oldest_append":
            raise QueueFull
        oldest = self._oldest(place)
        if oldest is None:
            raise QueueFull
        try:
            return self._store.swap(place, fresh, evicted=oldest, key=self._key(place, oldest))
        except TransactionRefused as refusal:
            before = stored_before(refusal, index=2, repeat=fresh.repeat)
            if before is not None:
                return Written(before, created=True, took_over=False)
            old = refusal.failures[0].old if refusal.failures[0] else None
            if old is not None and old.get("item_id") == fresh.version:
                return Written(int(str(old["item_at"])), created=True, took_over=False)
            return None

    def _matching(self, place: Place, fresh: Fresh, *, if_match: str, cutoff: int | None) -> Written:
        versions = named_versions(if_match)
        names = {f"match{index}": version for index, version in enumerate(versions)}
        condition = "attribute_exists(#item_id)"
        values: Row = {}
        if "*" not in versions:
            condition = f"#item_id IN ({', '.join(f':{name}' for name in names)})"
            values = dict(names)
        if cutoff is not None:
            condition, values = f"({condition}) AND #item_at > :cutoff", {**values, "cutoff": cutoff}
        try:
            return self._store.write(place, fresh, condition=condition, values=values, cutoff=cutoff)
        except ConditionFailed as failure:
            raise PreconditionFailed from failure

    def _oldest(self, place: Place) -> Stored | None:
        through = rank_text(self._store.clock() * 2)
        heads = [next(self._store.oldest(place, shard, through=through), None) for shard in range(place.partitions)]
        return min((head for head in heads if head is not None), key=lambda head: head.rank, default=None)

    def _bury_all(self, queue: Queue, *, through: int, expired: bool, goes_on: Continues) -> tuple[int, bool]:
        place = place_of(queue)
        age = (queue.settings.max_message_age_seconds or 0) * 1000
        count = 0
        try:
            for shard in range(place.partitions):
                for stored in self._store.oldest(place, shard, through=rank_text(through, "~")):
                    if not goes_on():
                        return count, False
                    gone_at = stored.at + age if expired else None
                    count += self._store.bury(place, stored, key=self._key(place, stored), gone_at=gone_at)
        finally:
            self._release(queue, count)
        return count, True

    def _release(self, queue: Queue, amount: int) -> None:
        if limit_of(queue) is not None:
            self._depth.release(queue.queue_id, amount=amount)

    def _key(self, place: Place, stored: Stored) -> bytes:
        opened = self._store.rows.open(place, stored)
        return b"" if opened is None else opened.key


def fresh_item(queue: Queue, payload: Payload, *, version: str, repeat: Repeat = "never") -> Fresh:
    """A message as an item about to be written.

    Raises:
        KeyFieldInvalid: Its key is incomplete, not of plain values, or too long.
    """
    settings = settings_of(queue, KeyValueSettings)
    values = key_values(payload.value, paths=settings.primary_key)
    key, found = jsontext.dumps(values), digest(values)
    if len(key) > KEY_MOST:
        raise KeyFieldInvalid(f"The key is over {KEY_MOST} bytes.", field=settings.primary_key[0])
    if settings.sort_key is None:
        return Fresh(found, version, key, payload.text, sort_text(values, digest=found), repeat)
    by = field(payload.value, path=settings.sort_key)
    return Fresh(found, version, key, payload.text, sort_text(values, digest=found, by=by), repeat)


def place_of(queue: Queue) -> Place:
    """A queue, as its rows need to know it."""
    return Place(queue.tenant_id, queue.queue_id, settings_of(queue, KeyValueSettings).partitions)


def _free(cutoff: int | None) -> tuple[str, Row]:
    return (_FREE, {}) if cutoff is None else (f"{_FREE} OR {_EXPIRED}", {"cutoff": cutoff})


def _duplicate(failure: ConditionFailed) -> DuplicateKey:
    old = failure.old or {}
    return DuplicateKey(message_id=str(old.get("item_id", "")), message_status="stored")
