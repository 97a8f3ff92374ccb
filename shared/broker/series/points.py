"""From a published message to a point, and from points to what each bucket is to take."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from broker import identity, times
from broker.errors import PointInvalid
from broker.jsontext import Number
from broker.queues.settings import TimeSeriesSettings
from broker.series import decimals
from broker.series.candle import Candle
from broker.series.grid import Grid
from broker.series.key import SeriesKey

AHEAD_MOST = 3_600_000
"""Milliseconds that a point's time may lie ahead of its arrival."""


@dataclass(frozen=True, slots=True)
class Point:
    """Numbers of one moment.

    Attributes:
        series: The series it belongs to.
        start: The start of its bucket.
        at: Its moment.
        values: By the index of the aggregation field; at least one.
    """

    series: SeriesKey
    start: int
    at: int
    values: Mapping[int, Decimal]


def read_point(payload: Mapping[str, Any], *, settings: TimeSeriesSettings, arrived_at: int) -> Point:
    """The point of a message.

    Args:
        payload: The message as it was published.
        settings: Those of its queue.
        arrived_at: When it arrived; its moment where the queue has no timestamp field.

    Raises:
        KeyFieldInvalid: A field of the primary key is absent, or no string, number or boolean.
        PointInvalid: Its time or one of its numbers cannot be used, or it has no number at all.
    """
    series = SeriesKey.of(identity.key_values(payload, paths=settings.primary_key or ()))
    at = arrived_at if settings.timestamp_field is None else _moment(payload, path=settings.timestamp_field)
    if at > arrived_at + AHEAD_MOST:
        raise PointInvalid("The time of the point is more than an hour ahead.", field=settings.timestamp_field)
    grid = Grid(settings.interval_seconds)
    start = grid.floor(at)
    if not grid.first <= start < grid.end:
        raise PointInvalid("The bucket of the point does not lie within the years 1 to 9999.")
    values = {
        index: _number(payload, path=path)
        for index, path in enumerate(settings.aggregation_fields)
        if identity.present(payload, path=path)
    }
    if not values:
        raise PointInvalid(f"The point has none of the fields {', '.join(settings.aggregation_fields)}.")
    return Point(series, start, at, values)


def fold(points: Iterable[Point]) -> dict[int, Candle]:
    """What points of one bucket amount to, in the order of their arrival, by the index of the field."""
    folded: dict[int, Candle] = {}
    for point in points:
        for index, value in point.values.items():
            one = Candle.of(value, at=point.at)
            folded[index] = folded[index].then(one) if index in folded else one
    return folded


def by_bucket(points: Sequence[Point | None]) -> dict[tuple[SeriesKey, int], list[int]]:
    """The positions of the points of each (series, start of bucket), in the order in which the first one stands."""
    found: dict[tuple[SeriesKey, int], list[int]] = {}
    for position, point in enumerate(points):
        if point is not None:
            found.setdefault((point.series, point.start), []).append(position)
    return found


def _moment(payload: Mapping[str, Any], *, path: str) -> int:
    value = identity.field(payload, path=path)
    try:
        return times.parse(value.integer() if isinstance(value, Number) else value)
    except ValueError as error:
        raise PointInvalid(f"The time of the point, {path}: {error}.", field=path) from error


def _number(payload: Mapping[str, Any], *, path: str) -> Decimal:
    value = decimals.read(identity.field(payload, path=path))
    if value is None:
        detail = f"{path} must be 0, or a number of at most 38 digits from 1e-125 to below 1e126 in size."
        raise PointInvalid(detail, field=path)
    return value
