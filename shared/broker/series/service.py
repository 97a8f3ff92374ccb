"""What callers ask of buckets: ranges, the list of series, the newest buckets, and their removal."""

from broker import metrics, times
from broker.caller import Caller
from broker.crypto import Scope
from broker.errors import Unavailable, ValidationFailed, WrongQueueType
from broker.ids import Clock
from broker.jsontext import Raw
from broker.listing import Listing
from broker.queues.queue import Queue, settings_of
from broker.queues.registry import Registry
from broker.queues.settings import TimeSeriesSettings
from broker.series.grid import Grid
from broker.series.key import readings
from broker.series.kind import TimeSeries
from broker.series.models import BucketsAnswer, KeyQuery, KeysQuery, LatestQuery, RangeQuery, SeriesAnswer
from broker.series.ranges import Ranges
from broker.series.register import Register, Series, place, series_of
from broker.series.retention import Retention
from broker.tokens import Tokens
from edge import Row
from edge.threads import side_by_side

_CLOCKS_DIFFER_SECONDS = 10


class SeriesService:
    """The `/queues/{queue}/buckets` API."""

    def __init__(
        self,
        *,
        registry: Registry,
        register: Register,
        ranges: Ranges,
        retention: Retention,
        kind: TimeSeries,
        tokens: Tokens,
        clock: Clock,
    ) -> None:
        self._registry = registry
        self._register = register
        self._ranges = ranges
        self._retention = retention
        self._kind = kind
        self._tokens = tokens
        self._clock = clock

    def range(self, caller: Caller, reference: str, query: RangeQuery) -> BucketsAnswer:
        """The buckets of a series that touch `[from, to)`; without bounds all of them.

        Raises:
            ValidationFailed: `from` is after `to`, or the key is not one of the queue.
            InvalidToken: The token is of another range.
        """
        queue = self._find(caller, reference)
        settings = settings_of(queue, TimeSeriesSettings)
        if query.since is not None and query.until is not None and query.since > query.until:
            raise ValidationFailed.of("from", "is after to")
        series = self._series(queue, query.primary_key)
        fill_gaps = settings.fill_gaps if query.fill_gaps is None else query.fill_gaps == "true"
        scope = Scope(
            queue.tenant_id, queue.queue_id, "buckets", f"{series.id}/{query.since}/{query.until}/{fill_gaps}"
        )
        since, until = _bounds(Grid(settings.interval_seconds), query)
        if query.next_token is not None:
            since = int(self._tokens.open(query.next_token, scope=scope))
        answer: BucketsAnswer = {"interval_seconds": settings.interval_seconds, "buckets": []}
        if query.since is not None and query.since == query.until:
            return answer
        page = self._ranges.page(queue, series, since=since, until=until, fill_gaps=fill_gaps, limit=query.limit)
        answer["buckets"] = page.buckets
        if page.next is not None:
            answer["next_token"] = self._tokens.seal(str(page.next).encode(), scope=scope)
        return answer

    def latest(self, caller: Caller, reference: str, query: LatestQuery) -> BucketsAnswer:
        """The newest buckets of a series that have points, in the order of time."""
        queue = self._find(caller, reference)
        buckets = self._ranges.latest(queue, self._series(queue, query.primary_key), count=query.n)
        return {"interval_seconds": settings_of(queue, TimeSeriesSettings).interval_seconds, "buckets": buckets}

    def keys(self, caller: Caller, reference: str, query: KeysQuery) -> Listing[SeriesAnswer]:
        """The series that have a bucket to show; a page may be short.

        Raises:
            InvalidToken: The token is of another list.
        """
        queue = self._find(caller, reference)
        scope = Scope(queue.tenant_id, queue.queue_id, "series", "keys")
        after: tuple[int, str] | None = None
        if query.next_token is not None:
            partition, _, last = self._tokens.open(query.next_token, scope=scope).decode().partition("/")
            after = int(partition), last
        found = self._register.page(queue, after=after, limit=query.limit + 1)
        page, more = found[: query.limit], len(found) > query.limit
        shown = side_by_side(lambda entry: self._shown(queue, entry[1]), page)
        token = None
        if more:
            partition_reached, last = page[-1][0]
            token = self._tokens.seal(f"{partition_reached}/{last}".encode(), scope=scope)
        return Listing([series for series in shown if series is not None], token)

    def clear(self, caller: Caller, reference: str, query: KeyQuery) -> None:
        """Remove the buckets of one series, or of all.

        Raises:
            Unavailable: There were more than there was time for; a repetition goes on.
        """
        queue = self._registry.load(caller.tenant_id, reference)
        _require_series(queue)
        # Whatever is found was there before: also what a machine made whose clock is ahead.
        until = self._clock() + _CLOCKS_DIFFER_SECONDS * 1000
        if query.primary_key is None:
            done = self._kind.purge(queue, until=until)
        else:
            done = self._retention.clear(self._series(queue, query.primary_key), until=until)
        if not done:
            raise Unavailable("There are more buckets than one request can remove; repeat it to go on.")

    def _find(self, caller: Caller, reference: str) -> Queue:
        queue = self._registry.find(caller, reference, action="consume")
        _require_series(queue)
        return queue

    def _series(self, queue: Queue, primary_key: str | None) -> Series:
        """The series that a parameter names: of several readings the first that exists."""
        settings = settings_of(queue, TimeSeriesSettings)
        found = [series_of(queue, key) for key in readings(primary_key, paths=settings.primary_key or ())]
        return next((series for series in found[:-1] if self._register.row(series) is not None), found[-1])

    def _shown(self, queue: Queue, row: Row) -> SeriesAnswer | None:
        partitions = settings_of(queue, TimeSeriesSettings).partitions
        series = place(queue.queue_id, str(row["sk"]), partitions=partitions)
        self._ranges.settle(queue, series, row)
        first = self._ranges.end(queue, series, newest=False)
        last = self._ranges.end(queue, series, newest=True) if first is not None else None
        if first is None or last is None:
            return None
        text = self._register.key_text(queue, row)
        if text is None:
            metrics.count("Unreadable", kind=queue.type, tenant_id=queue.tenant_id, queue_id=queue.queue_id)
        return {"key": None if text is None else Raw(text), "first": times.text(first), "last": times.text(last)}


def _require_series(queue: Queue) -> None:
    if queue.type != "time_series":
        raise WrongQueueType(f"A {queue.type} queue has no buckets.")


def _bounds(grid: Grid, query: RangeQuery) -> tuple[int | None, int | None]:
    """The bounds of a query, snapped outwards to whole buckets that can be written."""
    since = None if query.since is None else max(grid.floor(query.since), grid.first)
    until = None if query.until is None else min(grid.ceil(query.until), grid.end)
    return since, until
