"""The outbox: documents that must still reach subscribers.

An upload leaves one row, whatever the number of subscribers. The schedule spreads it: for every subscription that was
there before the upload, a copy to be made. The row stays until the last copy is made, and says by that that the
document's bytes are still needed, also after the document was deleted.

Which subscriptions were there is no question of clocks: each one raises the queue's `epoch`, and an upload carries the
epoch it has read. Documents end where they have been before: a copy carries the queues it came through.
"""

from collections.abc import Iterator, Sequence

from broker.documents import keys
from broker.documents.store import Store
from broker.queues.queue import Queue
from edge import ConditionFailed, Operation, Row, StateTable, TransactionRefused, remaining_seconds

STOP_SECONDS = 5.0
HOPS_MOST = 16
"""Queues that a document comes through at most."""
CHUNK = 40
"""Subscriptions that one transaction reaches: two writes each, of the hundred it may have."""
_LIVING = "attribute_exists(#pk) AND #state <> :ended"


def outgoing_row(document_id: str, *, queue: Queue, entry: bytes, epoch: int, path: Sequence[str]) -> Row:
    """The row that an upload leaves."""
    return {
        "pk": keys.outbox(queue.queue_id),
        "sk": keys.outgoing(queue.queue_id, document_id=document_id),
        "rank": document_id,
        "tenant_id": queue.tenant_id,
        "queue_id": queue.queue_id,
        "document_id": document_id,
        "entry": entry,
        "epoch": epoch,
        "path": [*path, queue.queue_id],
        "left": 0,
    }


class Outbox:
    """Spreads documents over the subscriptions of their queue."""

    def __init__(self, *, state: StateTable, store: Store) -> None:
        self._state = state
        self._store = store

    def waiting(self, shard: int) -> Iterator[Row]:
        """The documents of a shard that were not spread yet, the oldest first, while there is time."""
        while remaining_seconds() > STOP_SECONDS:
            page = self._state.query(keys.outbox_shard(shard), index="by_rank", limit=100)
            places = [(str(row["pk"]), str(row["sk"])) for row in page.rows]
            rows = [row for row in self._state.get_many(places) if row is not None and "rank" in row]
            if not rows:
                return
            yield from rows

    def rows_of(self, queue_id: str) -> list[Row]:
        """All rows of one queue's documents."""
        rows: list[Row] = []
        start = None
        while True:
            page = self._state.query(keys.outbox(queue_id), prefix=keys.outgoing(queue_id), start=start)
            rows += page.rows
            start = page.next
            if start is None:
                return rows

    def spread(self, row: Row) -> None:
        """Note a copy to be made for every subscription; each once, however often this is begun."""
        while "rank" in row:
            subscribers = self._subscribers(row)
            chunk = subscribers[:CHUNK]
            done = len(subscribers) <= CHUNK
            try:
                if done and not chunk and not int(str(row["left"])):
                    self._state.delete(str(row["pk"]), str(row["sk"]), condition="attribute_exists(#rank)")
                    self.discard_unless_kept(row)
                    return
                self._state.transact(self._spread_operations(row, chunk, done=done))
            except (ConditionFailed, TransactionRefused):
                pass  # somebody else did it, or a subscription has just ended: look again
            fresh = self._state.get(str(row["pk"]), str(row["sk"]))
            if fresh is None:
                return
            row = fresh

    def _subscribers(self, row: Row) -> list[Row]:
        """The subscriptions that this document was not noted for yet, of those that get it, in order."""
        visited = row["path"] if isinstance(row["path"], list) else []
        if len(visited) > HOPS_MOST:
            return []
        found: list[Row] = []
        start: Row | None = None
        low = f"{row['cursor']!s}\0" if "cursor" in row else None
        while True:
            page = self._state.query(keys.subscribers(str(row["queue_id"])), low=low, start=start)
            found += [
                subscriber
                for subscriber in page.rows
                if int(str(subscriber["epoch"])) <= int(str(row["epoch"])) and subscriber["queue_id"] not in visited
            ]
            start = page.next
            if start is None or len(found) > CHUNK:
                return found

    def _spread_operations(self, row: Row, chunk: Sequence[Row], *, done: bool) -> list[Operation]:
        seen = "#cursor = :seen" if "cursor" in row else "attribute_not_exists(#cursor)"
        values: Row = {"moved": len(chunk), "left": row["left"]}
        if "cursor" in row:
            values["seen"] = row["cursor"]
        step = "REMOVE #rank, #cursor" if done else "SET #cursor = :cursor"
        if not done:
            values["cursor"] = chunk[-1]["sk"]
        operations = [
            self._state.update_operation(
                str(row["pk"]),
                str(row["sk"]),
                f"{step} ADD #left :moved",
                values=values,
                condition=f"attribute_exists(#rank) AND #left = :left AND {seen}",
            )
        ]
        for subscriber in chunk:
            subscription_id = str(subscriber["sk"])
            copy: Row = {
                "pk": keys.copies(subscription_id),
                "sk": str(row["document_id"]),
                "queue_id": str(row["queue_id"]),
            }
            operations += [
                self._state.put_operation(copy),
                self._state.update_operation(
                    keys.deliveries(subscription_id),
                    subscription_id,
                    "SET #rank = if_not_exists(#rank, :rank) ADD #pending :one",
                    values={"rank": str(row["document_id"]), "one": 1, "ended": "ended"},
                    condition=_LIVING,
                ),
            ]
        return operations

    def copied_operation(self, row: Row) -> Operation:
        """One copy less to make, as part of the transaction that makes it; the last one takes the row away."""
        left = int(str(row["left"]))
        if left > 1 or "rank" in row:
            return self._state.update_operation(
                str(row["pk"]),
                str(row["sk"]),
                "ADD #left :less",
                values={"less": -1, "seen": left},
                condition="#left = :seen",
            )
        return self._state.delete_operation(
            str(row["pk"]),
            str(row["sk"]),
            condition="#left = :seen AND attribute_not_exists(#rank)",
            values={"seen": left},
        )

    def discard_unless_kept(self, row: Row) -> None:
        """Remove the bytes of a document whose last copy is made, if it was deleted in the meantime."""
        queue_id, document_id = str(row["queue_id"]), str(row["document_id"])
        if self._state.get(keys.documents(queue_id), document_id) is None:
            self._store.discard(queue_id, [{"sk": document_id}])
