"""Time series without HTTP: processes on one table, and a plain model of what they must show."""

import datetime
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from broker import jsontext
from broker.crypto import Vault
from broker.ids import Clock, MonotonicIds, SeededIds
from broker.jsontext import Number
from broker.queues.kinds import Payload, Published
from broker.queues.queue import Queue
from broker.queues.receipts import Receipts
from broker.queues.settings import TimeSeriesSettings
from broker.series.buckets import Buckets
from broker.series.key import SeriesKey
from broker.series.kind import TimeSeries
from broker.series.ranges import Ranges
from broker.series.register import Register, series_of
from broker.series.retention import Retention
from edge import Retry, StateTable
from tests.worlds import START

_EPOCH = datetime.datetime(1970, 1, 1)
_MONDAY = datetime.datetime(1969, 12, 29)
_queues = itertools.count()


class OneKey:
    """A tenant with one data key."""

    def current(self, tenant_id: str) -> tuple[int, bytes]:
        del tenant_id
        return 1, bytes(32)

    def version(self, tenant_id: str, version: int) -> bytes | None:
        del tenant_id
        return bytes(32) if version == 1 else None


def queue_of(*, created_at: int = START - 10**6, **settings: Any) -> Queue:
    """A queue of its own: minutes and the field `p` unless told otherwise."""
    model = TimeSeriesSettings.model_validate(
        {"interval_seconds": 60, "aggregation_fields": ["p"], "timestamp_field": "at", **settings}
    )
    name = f"q{next(_queues)}"
    return Queue("tenant", f"id-{name}", name, "time_series", None, model, True, created_at, created_at)


@dataclass
class Process:
    """One process with its own caches.

    Attributes:
        client: The DynamoDB client.
        table: The name of the State table.
        clock: Its clock.
        between: Called between the attempts at a call whose answer did not come.
    """

    client: Any
    table: str
    clock: Clock
    between: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        retry = Retry(sleep=lambda _: self.between(), draw=lambda: 0.0)
        state = StateTable(self.table, client=self.client, retry=retry)
        register = Register(state=state, vault=Vault(OneKey()), clock=self.clock)
        retention = Retention(state=state, clock=self.clock)
        self.state, self.register, self.retention = state, register, retention
        self.ranges = Ranges(state=state, register=register, retention=retention, clock=self.clock)
        receipts = Receipts(state=state, clock=self.clock)
        buckets = Buckets(state=state, register=register, retention=retention, receipts=receipts, clock=self.clock)
        self.kind = TimeSeries(
            state=state,
            register=register,
            buckets=buckets,
            ranges=self.ranges,
            retention=retention,
            clock=self.clock,
        )
        self.ids = MonotonicIds(self.clock)

    def publish(self, queue: Queue, point: Mapping[str, Any], *, once: str | None = None) -> Published:
        """Publish a point; with `once` as the request of an Idempotency-Key."""
        ids = self.ids if once is None else SeededIds(START, seed=once.encode())
        return self.kind.publish(queue, payload(point), ids=ids, if_match=None)

    def publish_batch(self, queue: Queue, points: Sequence[Mapping[str, Any]], *, once: str | None = None) -> list[Any]:
        """Publish points together."""
        ids = self.ids if once is None else SeededIds(START, seed=once.encode())
        return list(self.kind.publish_batch(queue, [payload(point) for point in points], ids=ids))

    def buckets(
        self, queue: Queue, key: Sequence[Any] = (), *, fill_gaps: bool = False, bounds: tuple[int, int] | None = None
    ) -> dict[int, dict[str, Any]]:
        """The fields of each bucket of a series by its start, in the order they were shown."""
        series = series_of(queue, SeriesKey.of(list(key)))
        since, until = bounds or (None, None)
        page = self.ranges.page(queue, series, since=since, until=until, fill_gaps=fill_gaps, limit=10_000)
        assert page.next is None
        shown = [json.loads(bucket.text, parse_float=Fraction, parse_int=Fraction) for bucket in page.buckets]
        return {milliseconds(bucket["start"]): bucket["fields"] for bucket in shown}

    def listed(self, queue: Queue) -> int:
        """How many series have a row."""
        partitions = TimeSeriesSettings.model_validate(queue.settings).partitions
        return sum(1 for _ in self.register.rows(queue.queue_id, partitions=partitions))


def payload(point: Mapping[str, Any]) -> Payload:
    """A point as it is published."""
    return Payload(dict(point), jsontext.dumps(dict(point)))


def milliseconds(text: str) -> int:
    moment = datetime.datetime.fromisoformat(text.removesuffix("Z"))
    return (moment - _EPOCH) // datetime.timedelta(milliseconds=1)


@dataclass
class Model:
    """What a time series is, said as simply as can be: all points are kept, and everything is worked out of them."""

    interval_seconds: int
    fields: Sequence[str]
    points: list[Mapping[str, Any]] = field(default_factory=list)

    def start(self, at: int) -> int:
        """The start of the bucket of a moment."""
        moment = _EPOCH + datetime.timedelta(milliseconds=at)
        weekly = self.interval_seconds % (7 * 86_400) == 0
        origin = _MONDAY if weekly else _EPOCH
        length = datetime.timedelta(seconds=self.interval_seconds)
        begun = origin + (moment - origin) // length * length
        return (begun - _EPOCH) // datetime.timedelta(milliseconds=1)

    def buckets(self) -> dict[int, dict[str, Any]]:
        """The fields of each bucket by its start."""
        starts = sorted({self.start(point["at"]) for point in self.points})
        return {start: {name: self._candle(start, name) for name in self.fields} for start in starts}

    def values(self, start: int, name: str) -> list[tuple[int, int, Fraction]]:
        """Moment, order of arrival and value of what a bucket has of a field."""
        return [
            (point["at"], arrival, _exact(point[name]))
            for arrival, point in enumerate(self.points)
            if name in point and self.start(point["at"]) == start
        ]

    def _candle(self, start: int, name: str) -> dict[str, Any]:
        return candle(self.values(start, name))


def candle(found: Iterable[tuple[int, int, Fraction]]) -> dict[str, Any]:
    """The candle of moments, arrivals and values."""
    ordered = sorted(found)
    if not ordered:
        return {"open": None, "high": None, "low": None, "close": None, "sum": 0, "count": 0, "avg": None}
    values = [value for _, _, value in ordered]
    # Sorted by moment, then arrival: of equal moments the first to arrive opens and the last closes.
    return {
        "open": values[0],
        "high": max(values),
        "low": min(values),
        "close": values[-1],
        "sum": sum(values, Fraction()),
        "count": len(values),
        "avg": sum(values, Fraction()) / len(values),
    }


def same(shown: Mapping[int, Mapping[str, Any]], expected: Mapping[int, Mapping[str, Any]]) -> bool:
    """Whether buckets are what they must be; an average that does not end may be rounded at its 38th digit."""
    if list(shown) != list(expected):
        return False
    for start, fields in expected.items():
        for name, wanted in fields.items():
            found = dict(shown[start][name])
            exact, rounded = wanted["avg"], found.pop("avg")
            if found != {member: value for member, value in wanted.items() if member != "avg"}:
                return False
            if exact != rounded and abs(rounded - exact) > abs(exact) / 10**37:
                return False
    return True


def _exact(value: Any) -> Fraction:
    return Fraction(value.text) if isinstance(value, Number) else Fraction(value)
