"""Single writes of items: each is one conditional call on the one row of its key."""

from collections.abc import Sequence
from contextlib import suppress

from broker import keys
from broker.ids import Clock
from broker.items.fresh import Fresh, Written
from broker.items.repeats import STORED, Change, StoredBefore, write_once
from broker.items.rows import ItemRows, Place, Stored, body_blob, outside, rank_text
from broker.items.stored import StoredItems
from broker.queues.receipts import Receipts
from edge import (
    BlobStore,
    ConditionFailed,
    EdgeUnavailable,
    Row,
    StateTable,
    Value,
    remaining_seconds,
    time_limit,
)

WRITE_SECONDS = 4.0
"""A write that has carried its stamp around for so long is not tried again: readers of changes rely on it."""

_PAGE = 1000
_WAS = {"item_was": "item_id", "item_was_at": "item_at", "item_was_size": "item_size"}


class ItemStore(StoredItems):
    """The rows of all key_value queues, to be written too."""

    def __init__(
        self, *, state: StateTable, blobs: BlobStore, rows: ItemRows, receipts: Receipts, clock: Clock
    ) -> None:
        super().__init__(state=state, blobs=blobs, rows=rows, clock=clock)
        self._receipts = receipts

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
        copies = [f"#{new} = if_not_exists(#{old}, :zero)" for new, old in _WAS.items()]
        removes = ["item_gone", "item_gone_at", "ttl", *([] if "item_size" in sets else ["item_size"])]
        other = "NOT #item_id = :item_id"
        expression = (
            f"SET {', '.join([*copies, *(f'#{name} = :{name}' for name in sets)])} "
            f"REMOVE {', '.join(f'#{name}' for name in removes)}"
        )
        condition = f"({condition}) AND {other}" if condition else other
        change = Change(expression, {**sets, "zero": 0, **values}, condition, now)
        try:
            with time_limit(min(WRITE_SECONDS, remaining_seconds())):
                row = self._change(place, fresh, change, cutoff=cutoff)
        except StoredBefore as before:
            return Written(before.at, created=True, took_over=True)
        except ConditionFailed as failure:
            if failure.old is None or failure.old.get("item_id") != fresh.version:
                raise
            row, now = dict(failure.old), int(str(failure.old["item_at"]))
        if row["item_was_size"]:
            self.drop_bodies(place, [str(row["item_was"])])
        lived = bool(row["item_was"]) and (cutoff is None or int(str(row["item_was_at"])) > cutoff)
        return Written(now, created=not lived, took_over=bool(row["item_was"]))

    def _change(self, place: Place, fresh: Fresh, change: Change, *, cutoff: int | None) -> Row:
        """The row as it is after a change, as far as it tells what was there before."""
        pk = place.pk(fresh.digest)
        if fresh.repeat == "never":
            return self._state.update(
                pk, fresh.digest, change.expression, values=change.values, condition=change.condition
            )
        row = write_once(
            fresh,
            change,
            pk=pk,
            queue_id=place.queue_id,
            cutoff=cutoff,
            state=self._state,
            receipts=self._receipts,
        )
        return {new: row.get(old, 0) for new, old in _WAS.items()}

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
        receipt = self._receipts.operations(place.queue_id, fresh.version, repeat=fresh.repeat, at=now, status=STORED)
        with time_limit(min(WRITE_SECONDS, remaining_seconds())):
            self._state.transact(
                [
                    self._state.put_operation(row, condition="attribute_not_exists(#item_id)"),
                    self._state.put_operation(
                        tombstone, condition="#item_id = :gone", values={"gone": str(evicted.version)}
                    ),
                    *receipt,
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

    def remove(self, place: Place) -> bool:
        """Remove all rows and objects of a deleted queue, as far as time allows; True when nothing is left."""
        for shard in range(place.partitions):
            page = self._state.query(place.shard(shard), limit=_PAGE)
            while page.rows:
                if remaining_seconds() < WRITE_SECONDS:
                    return False
                big = [str(row["item_id"]) for row in page.rows if "item_size" in row]
                self._state.delete_many([(str(row["pk"]), str(row["sk"])) for row in page.rows])
                self.drop_bodies(place, big)
                page = self._state.query(place.shard(shard), limit=_PAGE)
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
