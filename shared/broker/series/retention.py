"""How many buckets a series keeps, and how buckets go.

Where `max_buckets` is set, the series' row counts the buckets. Making a bucket, counting it and removing the oldest is
one transaction, so the count is exact and the limit is never exceeded. A count is believed only when it was made after
the last change of the queue's settings had come into effect everywhere; before that, and after a clear, the rows are
counted anew. All removals change the `revision` of the series' row, on which every count depends.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from broker import keys
from broker.errors import BucketEvicted
from broker.ids import Clock
from broker.queues.queue import Queue
from broker.series.register import Series
from edge import EdgeUnavailable, Operation, Row, StateTable, TransactionRefused, remaining_seconds

CHUNK = 90
"""Buckets removed in one transaction, which holds 100 operations."""

_SETTLING_SECONDS = 15
"""After a change of settings, how long another process may act on the old ones: 5 seconds, and clocks differ."""

_ATTEMPTS = 20
_STOP_SECONDS = 2.0
_UNCHANGED = "#revision = :revision"
_NEVER_CHANGED = "attribute_exists(#pk) AND attribute_not_exists(#revision)"


@dataclass(frozen=True, slots=True)
class Standing:
    """That the bucket to be made is there already.

    Attributes:
        row: Its row.
    """

    row: Row


class Retention:
    """Limits what series keep."""

    def __init__(self, *, state: StateTable, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def make_room(self, queue: Queue, series: Series, *, start: int, most: int) -> list[Operation] | Standing:
        """What must be done in one transaction with making a bucket.

        Args:
            queue: The queue.
            series: A series that has its row.
            start: The start of the bucket.
            most: The number of buckets to keep.

        Raises:
            BucketEvicted: The series is full, and its oldest bucket is newer.
        """
        while remaining_seconds() > _STOP_SECONDS:
            row = self._state.get(series.pk, series.id) or {"pk": series.pk, "sk": series.id}
            count = self._count(queue, series, row)
            excess = count + 1 - most
            if excess > CHUNK:
                self._trim(row, count=count, oldest=self._oldest(series, CHUNK))
                continue
            oldest = self._oldest(series, excess)
            if oldest and (bound := str(oldest[-1]["sk"])) >= keys.bucket(start):
                if bound > keys.bucket(start):
                    raise BucketEvicted
                return Standing(oldest[-1])
            return [self._counted(row, count + 1 - len(oldest)), *(self._removal(gone) for gone in oldest)]
        raise EdgeUnavailable("more buckets are to be removed than there is time for", throttled=True)

    def settle(self, queue: Queue, series: Series, row: Row, *, most: int) -> None:
        """Bring a series down to the limit where a change of settings has left it above; mostly nothing to do."""
        believed = self._believed(queue, row)
        if believed is not None and believed <= most:
            return
        count = self._count(queue, series, row)
        while remaining_seconds() > _STOP_SECONDS:
            excess = min(CHUNK, max(0, count - most))
            done = self._trim(row, count=count, oldest=self._oldest(series, excess))
            if done and count - excess <= most:
                return
            row = self._state.get(series.pk, series.id) or row
            count = count - excess if done else self._count(queue, series, row)
        raise EdgeUnavailable("more buckets are to be removed than there is time for", throttled=True)

    def clear(self, series: Series, *, until: int) -> bool:
        """Remove the buckets of a series that were made up to a moment.

        Returns:
            True when none is left; False when the time was up first.
        """
        doomed: list[Row] = []
        for row in self._all(series):
            if int(str(row["made_at"])) <= until:
                doomed.append(row)
            if len(doomed) == CHUNK:
                self._remove(series, doomed, until=until)
                doomed = []
                if remaining_seconds() < _STOP_SECONDS:
                    return False
        if doomed:
            self._remove(series, doomed, until=until)
        return True

    def drop_older(self, queue: Queue, series: Series, *, than: int) -> None:
        """Remove a handful of the oldest buckets, of those that start before a moment."""
        old = self._state.query(series.buckets, high=keys.bucket(than - 1000), limit=CHUNK).rows
        if not old:
            return
        row = self._state.get(series.pk, series.id) or {"pk": series.pk, "sk": series.id}
        believed = self._believed(queue, row)
        if believed is None:
            self._remove(series, list(old), until=self._clock())
        else:
            self._trim(row, count=believed, oldest=old)

    def _believed(self, queue: Queue, row: Row) -> int | None:
        """The count in a series' row, None when it may be wrong."""
        certain_from = queue.updated_at + _SETTLING_SECONDS * 1000 if queue.updated_at > queue.created_at else 0
        return int(str(row["count"])) if "count" in row and int(str(row["counted_at"])) >= certain_from else None

    def _count(self, queue: Queue, series: Series, row: Row) -> int:
        believed = self._believed(queue, row)
        return sum(1 for _ in self._all(series)) if believed is None else believed

    def _all(self, series: Series) -> Iterator[Row]:
        start: Row | None = None
        while True:
            page = self._state.query(series.buckets, start=start)
            yield from page.rows
            start = page.next
            if start is None:
                return

    def _oldest(self, series: Series, count: int) -> tuple[Row, ...]:
        return self._state.query(series.buckets, limit=count).rows if count > 0 else ()

    def _trim(self, row: Row, *, count: int, oldest: tuple[Row, ...]) -> bool:
        """Remove the oldest buckets and note the count; False when others changed the series meanwhile."""
        try:
            self._state.transact([self._counted(row, count - len(oldest)), *(self._removal(gone) for gone in oldest)])
        except TransactionRefused:
            return False
        return True

    def _remove(self, series: Series, rows: list[Row], *, until: int) -> None:
        for attempt in range(_ATTEMPTS):
            uncounted = self._state.update_operation(
                series.pk, series.id, "REMOVE #count, #counted_at ADD #revision :one", values={"one": 1}
            )
            removals = [
                self._state.delete_operation(
                    str(row["pk"]),
                    str(row["sk"]),
                    condition="attribute_not_exists(#pk) OR #made_at <= :until",
                    values={"until": until},
                )
                for row in rows
            ]
            try:
                self._state.transact([uncounted, *removals])
            except TransactionRefused as refused:
                # Removed by another, and made again since: such a bucket is not ours to remove.
                rows = [row for row, failure in zip(rows, refused.failures[1:], strict=True) if failure is None]
                if not rows or attempt + 1 == _ATTEMPTS:
                    return
            else:
                return

    def _counted(self, row: Row, count: int) -> Operation:
        values: Row = {"count": count, "now": self._clock(), "one": 1}
        condition = _NEVER_CHANGED
        if "revision" in row:
            condition, values = _UNCHANGED, {**values, "revision": row["revision"]}
        expression = "SET #count = :count, #counted_at = :now ADD #revision :one"
        return self._state.update_operation(
            str(row["pk"]), str(row["sk"]), expression, values=values, condition=condition
        )

    def _removal(self, row: Row) -> Operation:
        return self._state.delete_operation(str(row["pk"]), str(row["sk"]), condition="attribute_exists(#pk)")
