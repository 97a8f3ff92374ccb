"""Points into buckets: one conditional write each where what is known of the bucket still holds.

A bucket that this process has written is remembered; one it has not is taken for new. Where that turns out wrong, the
failed write shows the row, and the next one goes by it. What a write leaves alone stays right, so each failure rules
out one more cause: the first write of a process to a bucket may fail once, later ones only when others overtake them.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping

from broker import keys
from broker.errors import BucketEvicted
from broker.ids import Clock, Repeat
from broker.queues.queue import Queue, settings_of
from broker.queues.receipts import Receipts
from broker.queues.settings import TimeSeriesSettings
from broker.series import rows
from broker.series.candle import Candle
from broker.series.grid import Grid
from broker.series.key import SeriesKey
from broker.series.marks import Mark, Marks
from broker.series.register import Register, Series, series_of
from broker.series.retention import Retention, Standing
from edge import ConditionFailed, EdgeError, EdgeUnavailable, Operation, Row, StateTable, TransactionRefused

_ATTEMPTS = 300
_REMEMBERED = 4096
_FORGOTTEN_MOST = 5
_ONCE_SECONDS = 25 * 3600
_ABSENT = "attribute_not_exists(#pk)"


class _Counted(Exception):
    """These points were counted by an earlier attempt at the same request."""


class Buckets:
    """Takes points into buckets."""

    def __init__(
        self, *, state: StateTable, register: Register, retention: Retention, receipts: Receipts, clock: Clock
    ) -> None:
        self._state = state
        self._receipts = receipts
        self._register = register
        self._retention = retention
        self._clock = clock
        self._marks = Marks(clock)
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], Row] = OrderedDict()

    def take(
        self, queue: Queue, key: SeriesKey, *, start: int, folded: Mapping[int, Candle], once: str | None = None
    ) -> None:
        """Count points, once and for good when this returns.

        Args:
            queue: The queue.
            key: The key of the series.
            start: The start of the bucket.
            folded: What the points amount to, by the index of the field.
            once: A message id that is the same in every attempt at a request with an Idempotency-Key: the points are
                counted once for all of them, at the price of a transaction. None where each call is another request.

        Raises:
            BucketEvicted: The bucket is older than what the series keeps.
            EdgeUnavailable: Storage did not answer. With `maybe_done` the points may have been counted.
        """
        try:
            self._take(queue, key, start, folded, once)
        except BucketEvicted:
            # What an earlier attempt counted may have had to make room since.
            if once is None or self._receipts.find(queue.queue_id, once, repeat="again") is None:
                raise

    def _take(self, queue: Queue, key: SeriesKey, start: int, folded: Mapping[int, Candle], once: str | None) -> None:
        settings = settings_of(queue, TimeSeriesSettings)
        visible_from = self._visible_from(settings)
        if visible_from is not None and start < visible_from:
            raise BucketEvicted("The point is older than max_message_age_seconds keeps.")
        series = series_of(queue, key)
        bucket = (series.buckets, keys.bucket(start))
        repeat: Repeat = "never" if once is None else "first"
        marker = self._receipts.operations(
            queue.queue_id, once or "", repeat=repeat, at=self._clock(), status="aggregated"
        )
        seen = self._remembered(bucket)
        if seen is None and settings.max_buckets is not None:
            seen = self._state.get(*bucket)
        with self._marks.lend() as mark:
            for _ in range(_ATTEMPTS):
                try:
                    if seen is not None:
                        self._remember(bucket, self._add(bucket, seen, folded, mark=mark, marker=marker))
                        return
                    self._register.enter(queue, key)
                    made = self._make(queue, series, start, folded, mark=mark, marker=marker)
                    if isinstance(made, Standing):
                        seen = made.row
                        continue
                    self._remember(bucket, made)
                except ConditionFailed as failure:
                    seen = dict(failure.old) if failure.old else self._state.get(*bucket)
                except _Counted:
                    return
                else:
                    break
            else:
                raise EdgeUnavailable("others are changing the bucket all the time", throttled=True)
        if visible_from is not None:
            self._drop_older(queue, series, than=visible_from)

    def _add(
        self,
        bucket: tuple[str, str],
        seen: Row,
        folded: Mapping[int, Candle],
        *,
        mark: Mark,
        marker: list[Operation],
    ) -> Row:
        old = {name: number for name, number in rows.marks(seen).items() if name != mark.name}
        forgotten = self._marks.forgettable(old, most=_FORGOTTEN_MOST)
        change = rows.addition(folded, seen=seen, mark=mark, forgotten=forgotten)
        if not marker:
            return self._state.update(
                *bucket,
                change.expression,
                values=change.values,
                condition=change.condition,
                done_if={mark.name: mark.number},
            )
        update = self._state.update_operation(
            *bucket, change.expression, values=change.values, condition=change.condition
        )
        self._together(update, *marker, marked=True)
        return {**seen, **change.assigned}

    def _make(
        self,
        queue: Queue,
        series: Series,
        start: int,
        folded: Mapping[int, Candle],
        *,
        mark: Mark,
        marker: list[Operation],
    ) -> Row | Standing:
        most = settings_of(queue, TimeSeriesSettings).max_buckets
        bucket = (series.buckets, keys.bucket(start))
        row = rows.creation(folded, bucket=bucket, made_at=self._clock(), mark=mark)
        if most is None and not marker:
            self._put(row, mark)
            return row
        room = [] if most is None else self._retention.make_room(queue, series, start=start, most=most)
        if isinstance(room, Standing):
            return room
        self._together(self._state.put_operation(row, condition=_ABSENT), *room, *marker, marked=bool(marker))
        return row

    def _put(self, row: Row, mark: Mark) -> None:
        try:
            self._state.put(row, condition=_ABSENT)
        except ConditionFailed as failure:
            if not (failure.maybe_done and failure.old and failure.old.get(mark.name) == mark.number):
                raise

    def _together(self, bucket: Operation, *others: Operation, marked: bool) -> None:
        """Write a bucket and what goes with it; with `marked` the last operation is the marker."""
        try:
            self._state.transact([bucket, *others])
        except TransactionRefused as refused:
            if marked and refused.failures[-1] is not None:
                raise _Counted from refused
            raise (refused.failures[0] or ConditionFailed()) from refused

    def _visible_from(self, settings: TimeSeriesSettings) -> int | None:
        return visible_from(settings, now=self._clock())

    def _drop_older(self, queue: Queue, series: Series, *, than: int) -> None:
        try:
            self._retention.drop_older(queue, series, than=than)
        except EdgeError:
            return  # they are out of sight all the same, and the next new bucket will try again

    def _remembered(self, bucket: tuple[str, str]) -> Row | None:
        with self._lock:
            row = self._seen.get(bucket)
            if row is not None:
                self._seen.move_to_end(bucket)
            return row

    def _remember(self, bucket: tuple[str, str], row: Row) -> None:
        with self._lock:
            self._seen[bucket] = row
            self._seen.move_to_end(bucket)
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)


def visible_from(settings: TimeSeriesSettings, *, now: int) -> int | None:
    """The start of the first bucket that is not too old to be seen; None where there is no limit."""
    if settings.max_message_age_seconds is None:
        return None
    grid = Grid(settings.interval_seconds)
    return max(grid.floor(now - settings.max_message_age_seconds * 1000), grid.first)
