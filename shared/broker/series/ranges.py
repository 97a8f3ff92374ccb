"""Buckets read back: ranges with or without their gaps, and the newest ones."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker import jsontext, keys, times
from broker.ids import Clock
from broker.jsontext import Raw
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import TimeSeriesSettings
from broker.series import decimals, rows
from broker.series.buckets import visible_from
from broker.series.candle import Candle
from broker.series.grid import Grid
from broker.series.register import Register, Series
from broker.series.retention import Retention
from edge import Row, StateTable

PAGE_BYTES = 4 * 1024 * 1024
"""The JSON of the buckets of one page; Lambda answers at most 6 MB."""


@dataclass(frozen=True, slots=True)
class Page:
    """Buckets in the order of time.

    Attributes:
        buckets: The JSON of each.
        next: The start of the first bucket that is not on the page; None when there is none.
    """

    buckets: list[Raw]
    next: int | None


class Ranges:
    """Reads the buckets of series."""

    def __init__(self, *, state: StateTable, register: Register, retention: Retention, clock: Clock) -> None:
        self._state = state
        self._register = register
        self._retention = retention
        self._clock = clock

    def page(
        self, queue: Queue, series: Series, *, since: int | None, until: int | None, fill_gaps: bool, limit: int
    ) -> Page:
        """The first buckets of a range.

        Args:
            queue: The queue.
            series: The series.
            since: The start of the first bucket; None for the first there is.
            until: The end of the last bucket; None for the last there is.
            fill_gaps: Whether buckets without points are in it too, between the bounds and at them.
            limit: The most buckets on the page; it ends earlier where `PAGE_BYTES` are reached.
        """
        settings = settings_of(queue, TimeSeriesSettings)
        grid = Grid(settings.interval_seconds)
        self.settle(queue, series)
        low, high = self._visible_from(settings), None if until is None else until - grid.interval
        low = since if low is None else max(low, since) if since is not None else low
        if fill_gaps:
            first = self.end(queue, series, newest=False) if since is None else since
            last = self.end(queue, series, newest=True) if high is None else high
            if first is None or last is None:
                return Page([], None)
            # No more cells than one page shows, and one to know that there is more.
            high = min(last, first + limit * grid.interval)
            cells = _filled(self._rows(series, low=low, high=high, most=None), grid, first=first, last=high)
        else:
            read = self._rows(series, low=low, high=high, most=limit + 1)
            cells = ((rows.start_of(row), row) for row in read)
        return self._cut(cells, settings, limit=limit)

    def latest(self, queue: Queue, series: Series, *, count: int) -> list[Raw]:
        """The newest buckets with points, at most `count`, in the order of time."""
        settings = settings_of(queue, TimeSeriesSettings)
        self.settle(queue, series)
        found = list(self._rows(series, low=self._visible_from(settings), high=None, most=count, forward=False))
        write = self._writer(settings)
        return [write(rows.start_of(row), row) for row in reversed(found)]

    def end(self, queue: Queue, series: Series, *, newest: bool) -> int | None:
        """The start of the newest bucket of a series, or of the oldest; None when there is none to be seen."""
        low = self._visible_from(settings_of(queue, TimeSeriesSettings))
        found = self._rows(series, low=low, high=None, most=1, forward=not newest)
        return next((rows.start_of(row) for row in found), None)

    def settle(self, queue: Queue, series: Series, row: Row | None = None) -> None:
        """Let a series that may hold too many buckets hold as many as it should."""
        most = settings_of(queue, TimeSeriesSettings).max_buckets
        if most is not None and (row := row or self._register.row(series)) is not None:
            self._retention.settle(queue, series, row, most=most)

    def count(self, queue: Queue, series: Series, *, most: int) -> int:
        """How many buckets there are to be seen, counted up to `most`."""
        low = self._visible_from(settings_of(queue, TimeSeriesSettings))
        return sum(1 for _ in self._rows(series, low=low, high=None, most=most))

    def _visible_from(self, settings: TimeSeriesSettings) -> int | None:
        return visible_from(settings, now=self._clock())

    def _rows(
        self, series: Series, *, low: int | None, high: int | None, most: int | None, forward: bool = True
    ) -> Iterator[Row]:
        if low is not None and high is not None and low > high:
            return
        left, start = most, None
        while left is None or left > 0:
            page = self._state.query(
                series.buckets,
                low=None if low is None else keys.bucket(low),
                high=None if high is None else keys.bucket(high),
                limit=left,
                forward=forward,
                start=start,
            )
            yield from page.rows
            start = page.next
            if start is None:
                return
            left = None if left is None else left - len(page.rows)

    def _cut(self, cells: Iterator[tuple[int, Row]], settings: TimeSeriesSettings, *, limit: int) -> Page:
        write = self._writer(settings)
        shown: list[Raw] = []
        size = 0
        for start, row in cells:
            if len(shown) == limit:
                return Page(shown, start)
            text = write(start, row)
            size += len(text.text.encode()) + 1
            if shown and size > PAGE_BYTES:
                return Page(shown, start)
            shown.append(text)
        return Page(shown, None)

    def _writer(self, settings: TimeSeriesSettings) -> "functools.partial[Raw]":
        names = [jsontext.dumps(path).decode() for path in settings.aggregation_fields]
        return functools.partial(
            _bucket, names=names, interval=Grid(settings.interval_seconds).interval, now=self._clock()
        )


def _filled(read: Iterator[Row], grid: Grid, *, first: int, last: int) -> Iterator[tuple[int, Row]]:
    row = next(read, None)
    for start in range(first, last + 1, grid.interval):
        if row is not None and rows.start_of(row) == start:
            yield start, row
            row = next(read, None)
        else:
            yield start, {}


def _bucket(start: int, row: Row, *, names: Sequence[str], interval: int, now: int) -> Raw:
    candles = rows.candles(row, fields=len(names))
    fields = ",".join(f"{name}:{_candle(candles.get(index))}" for index, name in enumerate(names))
    end = start + interval
    partial = "true" if end > now else "false"
    return Raw(f'{{"start":"{times.text(start)}","end":"{times.text(end)}","partial":{partial},"fields":{{{fields}}}}}')


def _candle(candle: Candle | None) -> str:
    if candle is None:
        return '{"open":null,"high":null,"low":null,"close":null,"sum":0,"count":0,"avg":null}'
    text = decimals.text
    return (
        f'{{"open":{text(candle.open)},"high":{text(candle.high)},"low":{text(candle.low)},'
        f'"close":{text(candle.close)},"sum":{text(candle.total)},"count":{candle.count},'
        f'"avg":{text(decimals.average(candle.total, candle.count))}}}'
    )
