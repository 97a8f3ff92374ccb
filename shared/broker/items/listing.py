"""Lists of items by page, the shards of a queue merged into one order."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from broker import jsontext
from broker.items.order import FIRST, LAST, NO_CHARACTER, prefix_text
from broker.items.reading import PAGE_WEIGHT, ItemReader
from broker.items.rows import Place, Stored
from broker.items.store import ItemStore
from broker.items.writing import place_of
from broker.queues.queue import Queue, cutoff_of, settings_of
from broker.queues.settings import KeyValueSettings

_SKIPPED_MOST = 2000
"""Rows that a page passes over, expired or without the prefix, before it ends early."""


@dataclass(slots=True)
class ItemPage:
    """Rows of live items in order; `after` is the sort text to go on behind, None at the end."""

    rows: list[Stored] = field(default_factory=list)
    after: str | None = None


class ItemLists:
    """Lists items."""

    def __init__(self, *, store: ItemStore, reader: ItemReader) -> None:
        self._store = store
        self._reader = reader

    def page(self, queue: Queue, *, after: str | None, limit: int, prefix: str) -> ItemPage:
        """One page, which may be short.

        Args:
            queue: The queue.
            after: The last page's `after`.
            limit: The most items.
            prefix: What the first value of a key must begin with, for strings; all keys when empty.
        """
        cutoff = cutoff_of(queue, now=self._store.clock())
        low, high = FIRST, LAST
        if prefix and settings_of(queue, KeyValueSettings).sort_key is None:
            low, high = prefix_text(prefix), prefix_text(prefix) + NO_CHARACTER * 4
        if after is not None:
            low = max(low, after + "\x00")
        page = ItemPage()
        skipped = weight = 0
        place, passed = place_of(queue), after
        for stored, sort in self._rows(place, low=low, high=high, size=limit + 1):
            wanted = stored.lives(cutoff) and (not prefix or self._begins(place, stored, prefix=prefix))
            full = len(page.rows) == limit or (page.rows and weight + stored.weight > PAGE_WEIGHT)
            if (wanted and full) or skipped == _SKIPPED_MOST:
                page.after = passed
                return page
            passed = sort
            if wanted:
                page.rows.append(stored)
                weight += stored.weight
            else:
                skipped += 1
        return page

    def _begins(self, place: Place, stored: Stored, *, prefix: str) -> bool:
        opened = self._store.rows.open(place, stored)
        first = jsontext.loads(opened.key)[0] if opened is not None else None
        return isinstance(first, str) and first.startswith(prefix)

    def _rows(self, place: Place, *, low: str, high: str, size: int) -> Iterator[tuple[Stored, str]]:
        if low > high:
            return iter(())
        shards = [self._store.sorted(place, n, low=low, high=high, limit=size) for n in range(place.partitions)]
        return heapq.merge(*shards, key=lambda row: row[1])
