"""Reads and single writes of items. Each write is one conditional call on the one row of its key."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from broker import keys
from broker.ids import Clock
from broker.items.fresh import Fresh, Written
from broker.items.order import FIRST, LAST
from broker.items.rows import ItemRows, Place, Stored, body_blob, outside, rank_moment, rank_text, read_row
from edge import (
    BlobMissing,
    BlobStore,
    ConditionFailed,
    EdgeUnavailable,
    Row,
    StateTable,
    Value,
    remaining_seconds,
    time_limit,
)
from edge.threads import side_by_side

WRITE_SECONDS = 4.0
"""A write that has carried its stamp around for so long is not tried again: readers of changes rely on it."""

OVERLAP_SECONDS = 20
"""By how much what readers have seen is read again: more than a write may take from its stamp to its effect (its
retries, and 8 s that its last attempt may hang) and two clocks may differ."""

_COUNT_STEP = 1000


class ItemStore:
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

    def put_body(self, place: Place, fresh: Fresh) -> None:
        """Store the payload's object, where it needs one; before its row."""
        blob = self.rows.seal_body(place, version=fresh.version, payload=fresh.payload)
        if blob is not None:
            self._blobs.put(*blob)

    def write(self, place: Place, fresh: Fresh, *, condition: str | None, values: Row, cutoff: int | None) -> Written:
        """Write an item over whatever stands in its row, if the condition holds, and remove the object of that.

        Raises:
            ConditionFailed: It does not hold. `old` is the row; one of this very version counts as written.
        """
        sets = self._attributes(place, fresh)
        now = int(str(sets["item_at"]))
        was = {"item_was": "item_id", "item_was_at": "item_at", "item_was_size": "item_size"}
        copies = [f"#{new} = if_not_exists(#{old}, :zero)" for new, old in was.items()]
        removes = ["item_gone", "item_gone_at", "ttl", *([] if "item_size" in sets else ["item_size"])]
        other = "NOT #item_id = :item_id"
        expression = (
            f"SET {', '.join([*copies, *(f'#{name} = :{name}' for name in sets)])} "
            f"REMOVE {', '.join(f'#{name}' for name in removes)}"
        )
        try:
            with time_limit(min(WRITE_SECONDS, remaining_seconds())):
                row = self._state.update(
                    place.pk(fresh.digest),
                    fresh.digest,
                    expression,
                    values={**sets, "zero": 0, **values},
                    condition=f"({condition}) AND {other}" if condition else other,
                )
        except ConditionFailed as failure:
            if failure.old is None or failure.old.get("item_id") != fresh.version:
                raise
            row, now = dict(failure.old), int(str(failure.old["item_at"]))
        if row["item_was_size"]:
            self.drop_bodies(place, [str(row["item_was"])])
        lived = bool(row["item_was"]) and (cutoff is None or int(str(row["item_was_at"])) > cutoff)
        return Written(now, created=not lived, took_over=bool(row["item_was"]))

    def swap(self, place: Place, fresh: Fresh, *, evicted: Stored, key: bytes) -> Written:
        """Write a new item and put a tombstone in the place of another one, both or neither.

        Raises:
            TransactionRefused: There is an item under the key by now (first operation), or the other one has changed.
        """
        row: Row = {
            "pk": place.pk(fresh.digest),
            "sk": fresh.digest,
            **self._attributes(place, fresh),
            "item_was": 0,
            "item_was_at": 0,
            "item_was_size": 0,
        }
        now = int(str(row["item_at"]))
        tombstone = self._tombstone(place, evicted, key=key, gone_at=now, now=now)
        with time_limit(min(WRITE_SECONDS, remaining_seconds())):
            self._state.transact(
                [
                    self._state.put_operation(row, condition="attribute_not_exists(#item_id)"),
                    self._state.put_operation(
                        tombstone, condition="#item_id = :gone", values={"gone": str(evicted.version)}
                    ),
                ]
            )
        if evicted.size:
            self.drop_bodies(place, [str(evicted.version)])
        return Written(now, created=True, took_over=False)

    def bury(self, place: Place, stored: Stored, *, key: bytes, gone_at: int | None = None) -> bool:
        """Put a tombstone in the place of an item; False when it is not there any more as it was read.

        Args:
            place: The queue.
            stored: The item.
            key: The JSON array of its key's values.
            gone_at: When it went; None for now.
        """
        now = self.clock()
        tombstone = self._tombstone(place, stored, key=key, gone_at=now if gone_at is None else gone_at, now=now)
        try:
            with time_limit(min(WRITE_SECONDS, remaining_seconds())):
                self._state.put(tombstone, condition="#item_id = :gone", values={"gone": str(stored.version)})
        except ConditionFailed:
            return False
        if stored.size:
            self.drop_bodies(place, [str(stored.version)])
        return True

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

    def remove(self, place: Place) -> bool:
        """Remove all rows and objects of a deleted queue, as far as time allows; True when nothing is left."""
        for shard in range(place.partitions):
            page = self._state.query(place.shard(shard), limit=_COUNT_STEP)
            while page.rows:
                if remaining_seconds() < WRITE_SECONDS:
                    return False
                big = [str(row["item_id"]) for row in page.rows if "item_size" in row]
                self._state.delete_many([(str(row["pk"]), str(row["sk"])) for row in page.rows])
                self.drop_bodies(place, big)
                page = self._state.query(place.shard(shard), limit=_COUNT_STEP)
            self._state.delete(keys.queue(place.queue_id), keys.oldest(shard))
        return True

    def drop_bodies(self, place: Place, versions: Sequence[str]) -> None:
        """Remove objects of payloads whose rows are gone; one that storage trouble leaves behind is read by nobody."""
        if versions:
            with suppress(EdgeUnavailable):
                self._blobs.delete([body_blob(place, version=version) for version in versions])

    def _attributes(self, place: Place, fresh: Fresh) -> dict[str, Value]:
        sealed = self.rows.seal(place, digest=fresh.digest, version=fresh.version, key=fresh.key, payload=fresh.payload)
        now = self.clock()
        big = outside(fresh.payload)
        return {
            "rank": rank_text(now, fresh.version),
            "sort": fresh.sort,
            "item": sealed,
            "item_id": fresh.version,
            "item_at": now,
            **({"item_size": big} if big else {}),
        }

    def _tombstone(self, place: Place, stored: Stored, *, key: bytes, gone_at: int, now: int) -> Row:
        return self.rows.tombstone(
            place, digest=stored.digest, key=key, gone=str(stored.version), gone_at=gone_at, now=now
        )

    def _pages(self, pk: str, *, index: str, low: str, high: str, limit: int | None) -> Iterator[tuple[Stored, ...]]:
        start: Row | None = None
        while low <= high:
            page = self._state.query(pk, index=index, low=low, high=high, limit=limit, start=start)
            yield tuple(read_row(row) for row in page.rows)
            if page.next is None:
                return
            start = page.next
