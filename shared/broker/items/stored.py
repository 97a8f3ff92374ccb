"""The rows of key_value queues, read: by key, by what has changed, in the order of lists."""

from collections.abc import Iterator, Sequence

from broker import keys
from broker.ids import Clock
from broker.items.order import FIRST, LAST
from broker.items.rows import ItemRows, Place, Stored, body_blob, rank_moment, rank_text, read_row
from edge import BlobMissing, BlobStore, Row, StateTable
from edge.threads import side_by_side

OVERLAP_SECONDS = 20
"""By how much what readers have seen is read again: more than a write may take from its stamp to its effect (its
retries, and 8 s that its last attempt may hang) and two clocks may differ."""

_COUNT_STEP = 1000


class StoredItems:
    """The rows of all key_value queues."""

    def __init__(self, *, state: StateTable, blobs: BlobStore, rows: ItemRows, clock: Clock) -> None:
        self.rows = rows
        self.clock = clock
        self._state = state
        self._blobs = blobs

    def find(self, place: Place, digests: Sequence[str]) -> list[Stored | None]:
        """The rows of distinct keys, in order; None where there is none. Tombstones and expired items are found too."""
        if len(digests) == 1:
            row = self._state.get(place.pk(digests[0]), digests[0])
            return [read_row(row) if row else None]
        found = self._state.get_many([(place.pk(digest), digest) for digest in digests])
        return [read_row(row) if row else None for row in found]

    def payloads(self, place: Place, stored: Sequence[Stored]) -> list[bytes | None]:
        """The payloads that are objects, in order: None for one that is gone or does not open."""

        def read(one: Stored) -> bytes | None:
            try:
                envelope = self._blobs.get(body_blob(place, version=str(one.version)))
            except BlobMissing:
                return None
            return self.rows.open_body(place, version=str(one.version), envelope=envelope)

        return side_by_side(read, stored)

    def changed(
        self, place: Place, shard: int, *, low: str, high: str, limit: int | None = None
    ) -> Iterator[tuple[Stored, ...]]:
        """The rows of a shard by rank, bounds included, one page of at most 1 MB at a time."""
        return self._pages(place.shard(shard), index="by_rank", low=low, high=high, limit=limit)

    def sorted(
        self, place: Place, shard: int, *, low: str, high: str, limit: int | None = None
    ) -> Iterator[tuple[Stored, str]]:
        """The items of a shard, expired ones too, in list order with their sort texts, bounds included."""
        start: Row | None = None
        while True:
            page = self._state.query(place.shard(shard), index="by_sort", low=low, high=high, limit=limit, start=start)
            for row in page.rows:
                yield read_row(row), str(row["sort"])
            if page.next is None:
                return
            start = page.next

    def count(self, place: Place, *, cutoff: int | None = None) -> int:
        """How many items are stored; with a cutoff only those that have not expired."""
        shards = range(place.partitions)

        def one(shard: int) -> int:
            rows = self.sorted(place, shard, low=FIRST, high=LAST, limit=_COUNT_STEP)
            return sum(1 for stored, _ in rows if stored.lives(cutoff))

        return sum(side_by_side(one, list(shards)))

    def oldest(self, place: Place, shard: int, *, through: str, note: bool = True) -> Iterator[Stored]:
        """The items of a shard from the longest unchanged on, up to a rank.

        What lies before them is tombstones, which nobody wants to read again and again: `note` how far they reach.
        """
        pk = keys.queue(place.queue_id)
        noted = self._state.get(pk, keys.oldest(shard))
        low = rank_text(rank_moment(str(noted["from"])) - OVERLAP_SECONDS * 1000) if noted else rank_text(0)
        skipped = 0
        for page in self.changed(place, shard, low=low, high=through):
            for stored in page:
                if stored.version is None:
                    skipped += 1
                    continue
                if note and skipped > _COUNT_STEP:
                    self._state.put({"pk": pk, "sk": keys.oldest(shard), "from": stored.rank})
                    skipped = 0
                yield stored
        if note and skipped > _COUNT_STEP:
            self._state.put({"pk": pk, "sk": keys.oldest(shard), "from": through})

    def _pages(self, pk: str, *, index: str, low: str, high: str, limit: int | None) -> Iterator[tuple[Stored, ...]]:
        start: Row | None = None
        while low <= high:
            page = self._state.query(pk, index=index, low=low, high=high, limit=limit, start=start)
            yield tuple(read_row(row) for row in page.rows)
            if page.next is None:
                return
            start = page.next
