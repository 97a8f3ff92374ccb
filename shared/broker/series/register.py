"""The series of a queue: one row each, made before its first bucket and kept as long as the queue.

A series without a bucket to show is not listed, but its row stays: then nobody who knows of the row, however long
since, can write a bucket that no list leads to.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from broker import keys
from broker.cache import Cache
from broker.crypto import Scope, Unreadable, Vault
from broker.ids import Clock
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import TimeSeriesSettings
from broker.series.key import SeriesKey
from edge import ConditionFailed, Row, StateTable

_KNOWN_SECONDS = 3600
_PURPOSE = "series"


@dataclass(frozen=True, slots=True)
class Series:
    """Where a series is stored.

    Attributes:
        pk: The hash key of its row.
        id: The range key of its row.
        buckets: The hash key of its buckets.
    """

    pk: str
    id: str
    buckets: str


def place(queue_id: str, series_id: str, *, partitions: int) -> Series:
    """Where the series of an id is stored."""
    pk = keys.series(queue_id, partition=keys.spread(series_id, over=partitions))
    return Series(pk, series_id, keys.buckets(queue_id, series_id=series_id))


def series_of(queue: Queue, key: SeriesKey) -> Series:
    """Where the series of a key is stored."""
    return place(queue.queue_id, key.id, partitions=settings_of(queue, TimeSeriesSettings).partitions)


class Register:
    """The series of all queues."""

    def __init__(self, *, state: StateTable, vault: Vault, clock: Clock) -> None:
        self._state = state
        self._vault = vault
        self._clock = clock
        self._known: Cache[tuple[str, str], bool] = Cache(seconds=_KNOWN_SECONDS, clock=clock, size=16_384)

    def enter(self, queue: Queue, key: SeriesKey) -> None:
        """See to it that a series has its row; one read, and one write for a new series, per process."""
        self._known.get((queue.queue_id, key.id), lambda: self._enter(queue, key))

    def row(self, series: Series) -> Row | None:
        """The row of a series as it is now."""
        return self._state.get(series.pk, series.id)

    def rows(self, queue_id: str, *, partitions: int) -> Iterator[Row]:
        """The rows of all series of a queue."""
        for partition in range(partitions):
            start: Row | None = None
            while True:
                page = self._state.query(keys.series(queue_id, partition=partition), start=start)
                yield from page.rows
                start = page.next
                if start is None:
                    break

    def page(self, queue: Queue, *, after: tuple[int, str] | None, limit: int) -> list[tuple[tuple[int, str], Row]]:
        """Up to `limit` rows after a position, each with its own: partition and range key."""
        partitions = settings_of(queue, TimeSeriesSettings).partitions
        found: list[tuple[tuple[int, str], Row]] = []
        first, last = after if after is not None else (0, "")
        for partition in range(first, partitions):
            pk = keys.series(queue.queue_id, partition=partition)
            start: Row | None = {"pk": pk, "sk": last} if last else None
            while len(found) < limit:
                page = self._state.query(pk, limit=limit - len(found), start=start)
                found += [((partition, str(row["sk"])), row) for row in page.rows]
                start = page.next
                if start is None:
                    break
            last = ""
        return found

    def key_text(self, queue: Queue, row: Row) -> str | None:
        """The JSON array of a series' key values; None when it does not open."""
        sealed = row.get("key")
        try:
            return self._vault.open(sealed if isinstance(sealed, bytes) else b"", scope=_scope(queue, row)).decode()
        except Unreadable:
            return None

    def _enter(self, queue: Queue, key: SeriesKey) -> bool:
        series = series_of(queue, key)
        if self.row(series) is None:
            row: Row = {"pk": series.pk, "sk": series.id}
            sealed = self._vault.seal(key.text, scope=_scope(queue, row))
            with contextlib.suppress(ConditionFailed):  # another process was first
                self._state.put({**row, "key": sealed, "made_at": self._clock()}, condition="attribute_not_exists(#pk)")
        return True


def _scope(queue: Queue, row: Row) -> Scope:
    return Scope(queue.tenant_id, queue.queue_id, _PURPOSE, str(row["sk"]))
