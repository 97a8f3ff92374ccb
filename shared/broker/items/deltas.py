"""What has changed in a queue since a reader last asked; see `broker.items.watermark` for what makes it lossless.

A reading covers two stretches of what has changed, in the order of ranks. The later one holds what was written since;
the earlier one, where the queue has a maximum age, what has expired since (or lives again, the age having been raised).
Often they are one.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from broker import times
from broker.errors import ResyncRequired
from broker.items.models import DeletedAnswer, ItemAnswer
from broker.items.reading import PAGE_WEIGHT, ItemReader
from broker.items.rows import TOMBSTONE_SECONDS, Place, Stored, rank_moment, rank_text
from broker.items.store import ItemStore
from broker.items.stored import OVERLAP_SECONDS
from broker.items.watermark import Cycle, Watermark, fingerprint
from broker.items.writing import place_of
from broker.jsontext import Raw
from broker.queues.queue import Queue, cutoff_of
from edge.threads import side_by_side

_OVERLAP = OVERLAP_SECONDS * 1000
_SWEPT_WITHIN = 120_000
"""Milliseconds within which an expired item gets its tombstone, which need not be given again."""
_READ_MOST = 1000


@dataclass(frozen=True, slots=True)
class Changes:
    """A page: items as they are, what went, where the reader stands after it, and whether more is there now."""

    items: list[ItemAnswer]
    deleted: list[DeletedAnswer]
    watermark: Watermark
    has_more: bool


@dataclass(slots=True)
class _Page:
    """A page while it is being filled."""

    seen: dict[bytes, int]
    after: str
    newest: int
    given: list[tuple[Stored, int | None]] = field(default_factory=list)
    weight: int = 0


class Deltas:
    """Reads what has changed."""

    def __init__(self, *, store: ItemStore, reader: ItemReader) -> None:
        self._store = store
        self._reader = reader

    def since(self, queue: Queue, at: int) -> Watermark:
        """Where a reader stands who knows everything up to a moment.

        Raises:
            ResyncRequired: Deletions after that moment are forgotten already.
        """
        now = self._store.clock()
        at = min(at, now)
        whole = at <= queue.created_at
        if not whole and now - at > TOMBSTONE_SECONDS * 1000:
            raise ResyncRequired
        return Watermark(rank_text(at - _OVERLAP), cutoff_of(queue, now=at), now if whole else at)

    def now(self, queue: Queue) -> Watermark:
        """Where a reader stands who is about to read all items."""
        return self.since(queue, self._store.clock())

    def check(self, watermark: Watermark) -> None:
        """Refuse a reader who was away for so long that deletions are forgotten.

        Raises:
            ResyncRequired: That is so.
        """
        if self._store.clock() - watermark.read_at > TOMBSTONE_SECONDS * 1000:
            raise ResyncRequired

    def read(self, queue: Queue, watermark: Watermark, *, limit: int) -> Changes:
        """The next page of what has changed.

        Args:
            queue: The queue.
            watermark: Where the reader stands.
            limit: The most entries.
        """
        now = self._store.clock()
        cutoff = cutoff_of(queue, now=now)
        cycle = watermark.cycle or Cycle(now, cutoff, 0, "")
        page = _Page(dict(watermark.seen), cycle.after, cycle.newest)
        size = min(_READ_MOST, limit + len(watermark.seen) + 1)
        age = (queue.settings.max_message_age_seconds or 0) * 1000
        more = False
        for stored in self._rows(place_of(queue), _stretches(watermark, cycle, now=now), size=size):
            gone_at = _gone_at(stored, cutoff=cutoff, age=age)
            if self._is_news(stored, gone_at, page, low=watermark.low, now=now):
                if len(page.given) >= limit or (page.given and page.weight + stored.weight > PAGE_WEIGHT):
                    more = True
                    break
                self._give(stored, gone_at, page, now=now)
            page.after = stored.rank
            page.newest = max(page.newest, rank_moment(stored.rank))
        cycle = Cycle(cycle.began_at, cycle.cutoff, page.newest, page.after)
        settle = watermark.further if more else watermark.finished
        items, deleted = self._answers(queue, page.given)
        return Changes(items, deleted, settle(cycle, seen=page.seen), more)

    def _is_news(self, stored: Stored, gone_at: int | None, page: _Page, *, low: str, now: int) -> bool:
        """Whether the reader has to be told; what it was told already is remembered for as long as it is met."""
        if stored.version is None and stored.rank < low:
            return False
        print_ = fingerprint(stored.digest, stored.version or str(stored.gone), gone=gone_at is not None)
        if print_ not in page.seen:
            return True
        page.seen[print_] = max(page.seen[print_], _remember_at(stored, gone_at, now=now))
        return False

    def _give(self, stored: Stored, gone_at: int | None, page: _Page, *, now: int) -> None:
        version, gone = stored.version or str(stored.gone), gone_at is not None
        page.seen.pop(fingerprint(stored.digest, version, gone=not gone), None)
        page.seen[fingerprint(stored.digest, version, gone=gone)] = _remember_at(stored, gone_at, now=now)
        page.given.append((stored, gone_at))
        page.weight += 0 if gone else stored.weight

    def _answers(
        self, queue: Queue, given: list[tuple[Stored, int | None]]
    ) -> tuple[list[ItemAnswer], list[DeletedAnswer]]:
        living = [stored for stored, gone_at in given if gone_at is None]
        # One that was replaced or deleted while it was read comes again, by its new place, in this form or the next.
        items = [self._reader.answer(queue, item) for item in self._reader.open_all(queue, living) if item is not None]
        deleted: list[DeletedAnswer] = []
        for stored, gone_at in given:
            opened = self._store.rows.open(place_of(queue), stored) if gone_at is not None else None
            if gone_at is not None and opened is not None and opened.key:
                deleted.append({"key": Raw(opened.key.decode()), "deleted_at": times.text(gone_at)})
        return items, deleted

    def _rows(self, place: Place, stretches: list[tuple[str, str]], *, size: int) -> Iterator[Stored]:
        """The rows of all shards by rank; of each shard a page is read when it is needed, the first side by side."""

        def pages(shard: int) -> Iterator[tuple[Stored, ...]]:
            for low, high in stretches:
                for page in self._store.changed(place, shard, low=low, high=high, limit=size):
                    if page:
                        yield page

        readers = [pages(shard) for shard in range(place.partitions)]
        firsts = side_by_side(lambda reader: next(reader, ()), readers)

        def rows(first: tuple[Stored, ...], reader: Iterator[tuple[Stored, ...]]) -> Iterator[Stored]:
            yield from first
            for page in reader:
                yield from page

        return heapq.merge(*map(rows, firsts, readers), key=lambda stored: stored.rank)


def _stretches(watermark: Watermark, cycle: Cycle, *, now: int) -> list[tuple[str, str]]:
    """What is to be read, as inclusive bounds on ranks, behind where the cycle has come to."""
    written = (watermark.low, rank_text(now + _OVERLAP, "~"))
    if watermark.cutoff is None and cycle.cutoff is None:
        stretches = [written]
    else:
        known = [cutoff for cutoff in (watermark.cutoff, cycle.cutoff) if cutoff is not None]
        low = rank_text(min(known) - _OVERLAP) if len(known) > 1 else rank_text(0)
        high = rank_text(max(known), "~")
        one = high >= watermark.low
        stretches = [(min(low, watermark.low), written[1])] if one else [(low, high), written]
    if not cycle.after:
        return stretches
    after = cycle.after + "\x00"
    return [(max(low, after), high) for low, high in stretches if high >= after]


def _gone_at(stored: Stored, *, cutoff: int | None, age: int) -> int | None:
    """When an item went, None for one that lives."""
    if stored.version is None:
        return stored.at
    return None if stored.lives(cutoff) else stored.at + age


def _remember_at(stored: Stored, gone_at: int | None, *, now: int) -> int:
    """Until the reading has settled beyond which moment an entry may be met again."""
    expired = gone_at is not None and stored.version is not None
    return now + _SWEPT_WITHIN if expired else rank_moment(stored.rank)
