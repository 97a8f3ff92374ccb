"""What a time series does as one of the types of queues."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from broker import ids as id_makers
from broker import metrics
from broker.errors import BrokerError
from broker.failures import FAILURES, told
from broker.ids import Clock, Ids, SeededIds
from broker.queues.kinds import Payload, Published
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import TimeSeriesSettings
from broker.series import decimals
from broker.series.buckets import Buckets
from broker.series.candle import Candle
from broker.series.points import Point, by_bucket, fold, read_point
from broker.series.ranges import Ranges
from broker.series.register import Register, place
from broker.series.retention import Retention
from edge import Row, StateTable, remaining_seconds
from edge.threads import side_by_side

COUNTED_MOST = 10_000
"""Buckets, and series, up to which stats count."""

_STOP_SECONDS = 3.0
_LIMBS_MOST = 80
"""Parts of sums in one write: an expression of DynamoDB's has at most 4 KB."""


class TimeSeries:
    """Publishes points to time series, and keeps them."""

    def __init__(
        self,
        *,
        state: StateTable,
        register: Register,
        buckets: Buckets,
        ranges: Ranges,
        retention: Retention,
        clock: Clock,
    ) -> None:
        self._state = state
        self._register = register
        self._buckets = buckets
        self._ranges = ranges
        self._retention = retention
        self._clock = clock

    def publish(self, queue: Queue, payload: Payload, *, ids: Ids, if_match: str | None) -> Published:  # noqa: ARG002  # items'
        """Count one point.

        Raises:
            KeyFieldInvalid, PointInvalid, BucketEvicted: It cannot be counted.
        """
        message_id = ids()
        point = _point(queue, payload, message_id)
        once = message_id if isinstance(ids, SeededIds) else None
        self._buckets.take(queue, point.series, start=point.start, folded=fold([point]), once=once)
        _count(queue, "Published", 1)
        return Published(message_id, "aggregated", id_makers.moment(message_id))

    def publish_batch(self, queue: Queue, payloads: Sequence[Payload], *, ids: Ids) -> list[Published | BrokerError]:
        """Count many points: those of one bucket in one write, and all or none of them."""
        message_ids = [ids() for _ in payloads]
        outcomes: list[Published | BrokerError] = [
            Published(message_id, "aggregated", id_makers.moment(message_id)) for message_id in message_ids
        ]
        points: list[Point | None] = []
        for position, payload in enumerate(payloads):
            try:
                points.append(_point(queue, payload, message_ids[position]))
            except BrokerError as error:
                points.append(None)
                outcomes[position] = error
        repeatable = isinstance(ids, SeededIds)

        def take(positions: list[int]) -> None:
            chosen = [point for position in positions if (point := points[position]) is not None]
            folded = fold(chosen)
            if len(positions) > 1 and _parts(folded) > _LIMBS_MOST:
                half = len(positions) // 2
                take(positions[:half])
                take(positions[half:])
                return
            once = message_ids[positions[0]] if repeatable else None
            try:
                self._buckets.take(queue, chosen[0].series, start=chosen[0].start, folded=folded, once=once)
            except FAILURES as error:
                for position in positions:
                    outcomes[position] = told(error)

        def take_all(groups: list[list[int]]) -> None:
            for positions in groups:
                take(positions)

        side_by_side(take_all, _sequences(queue, points))
        _count(queue, "Published", sum(isinstance(outcome, Published) for outcome in outcomes))
        return outcomes

    def stats(self, queue: Queue) -> dict[str, Any]:
        """Series and buckets, counted up to 10,000 of each, and the age of the oldest bucket's start."""
        settings = settings_of(queue, TimeSeriesSettings)
        series = buckets = 0
        oldest: int | None = None
        rows = self._register.rows(queue.queue_id, partitions=settings.partitions)
        for row in itertools.islice(rows, COUNTED_MOST):
            if buckets >= COUNTED_MOST:
                break
            where = place(queue.queue_id, str(row["sk"]), partitions=settings.partitions)
            self._ranges.settle(queue, where, row)
            count = self._ranges.count(queue, where, most=COUNTED_MOST - buckets)
            first = self._ranges.end(queue, where, newest=False) if count else None
            if first is not None:
                series, buckets = series + 1, buckets + count
                oldest = first if oldest is None else min(oldest, first)
        return {
            "series": series,
            "depth": buckets,
            "approximate": buckets >= COUNTED_MOST,
            "oldest_message_age_seconds": None if oldest is None else max(0, self._clock() - oldest) // 1000,
        }

    def purge(self, queue: Queue, *, until: int) -> bool:
        """Remove the buckets that were made up to a moment, as far as time allows; True when none is left."""
        partitions = settings_of(queue, TimeSeriesSettings).partitions
        return self._clear_all(queue.queue_id, partitions, until=until, after=lambda _: None)

    def remove(self, queue_id: str, *, tenant_id: str, settings: dict[str, Any]) -> bool:
        """Remove what a deleted queue held, as far as time allows; True when nothing is left. Repeatable."""
        del tenant_id
        found = TimeSeriesSettings.model_validate(settings)

        def forget(row: Row) -> None:
            self._state.delete(str(row["pk"]), str(row["sk"]))

        return self._clear_all(queue_id, found.partitions, until=self._clock(), after=forget)

    def _clear_all(self, queue_id: str, partitions: int, *, until: int, after: Callable[[Row], None]) -> bool:
        def clear(row: Row) -> bool:
            if remaining_seconds() < _STOP_SECONDS:
                return False
            done = self._retention.clear(place(queue_id, str(row["sk"]), partitions=partitions), until=until)
            if done:
                after(row)
            return done

        batch: list[Row] = []
        for row in self._register.rows(queue_id, partitions=partitions):
            batch.append(row)
            if len(batch) == _BATCH:
                if not all(side_by_side(clear, batch)):
                    return False
                batch = []
        return all(side_by_side(clear, batch))


_BATCH = 64


def _count(queue: Queue, name: str, value: int) -> None:
    metrics.count(name, value, kind=queue.type, tenant_id=queue.tenant_id, queue_id=queue.queue_id)


def _point(queue: Queue, payload: Payload, message_id: str) -> Point:
    """The point of a payload, which arrived when its id was made: so a repeated request is read as the first was."""
    settings = settings_of(queue, TimeSeriesSettings)
    return read_point(payload.value, settings=settings, arrived_at=id_makers.moment(message_id))


def _sequences(queue: Queue, points: Sequence[Point | None]) -> list[list[list[int]]]:
    """The groups of points by bucket, in lists that may run side by side.

    Where old buckets make room for new ones, those of one series go one after the other, as the points stand.
    """
    groups = by_bucket(points)
    if settings_of(queue, TimeSeriesSettings).max_buckets is None:
        return [[positions] for positions in groups.values()]
    by_series: dict[str, list[list[int]]] = {}
    for (series, _), positions in groups.items():
        by_series.setdefault(series.id, []).append(positions)
    return list(by_series.values())


def _parts(folded: Mapping[int, Candle]) -> int:
    return sum(len(decimals.limbs(candle.total)) for candle in folded.values())
