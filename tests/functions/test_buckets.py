"""bucket_range, bucket_latest, bucket_keys, bucket_clear: what buckets are shown, and how they go."""

from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.functions.series import SeriesClient, at
from tests.processes import Process, Tenant, sample_event
from tests.worlds import ManualClock, World

EMPTY = {"open": None, "high": None, "low": None, "close": None, "sum": 0, "count": 0, "avg": None}


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


@pytest.fixture
def series(timed: Process, owner: Tenant) -> SeriesClient:
    """A queue not yet defined, in a process whose clock stands at 10:00."""
    return SeriesClient(timed, owner.key)


@pytest.fixture
def filled(series: SeriesClient) -> SeriesClient:
    """Points at 09:00, 09:10 and 09:15, in buckets of five minutes."""
    series.define(timestamp_field="at")
    for moment in ("09:00:00", "09:10:00", "09:19:59"):
        series.publish({"p": 1, "at": at(moment)})
    return series


def span(since: str, until: str) -> dict[str, str]:
    return {"since": at(f"{since}:00"), "until": at(f"{until}:00")}


def test_the_whole_series_is_the_default(filled: SeriesClient) -> None:
    assert filled.starts() == ["09:00", "09:10", "09:15"]
    assert filled.starts(fill_gaps="true") == ["09:00", "09:05", "09:10", "09:15"]
    assert filled.starts(fill_gaps="true", since=at("09:10:00")) == ["09:10", "09:15"]
    assert filled.starts(fill_gaps="true", until=at("09:10:00")) == ["09:00", "09:05"]
    assert filled.range()["interval_seconds"] == 300


@pytest.mark.parametrize(
    ("since", "until", "plain", "full"),
    [
        ("09:00", "09:15", ["09:00", "09:10"], ["09:00", "09:05", "09:10"]),
        ("09:02", "09:13", ["09:00", "09:10"], ["09:00", "09:05", "09:10"]),
        ("09:04", "09:06", ["09:00"], ["09:00", "09:05"]),
        ("09:10", "09:11", ["09:10"], ["09:10"]),
        ("09:02", "09:02", [], []),
        ("09:05", "09:10", [], ["09:05"]),
        ("08:50", "09:01", ["09:00"], ["08:50", "08:55", "09:00"]),
        ("09:19", "09:29", ["09:15"], ["09:15", "09:20", "09:25"]),
        ("09:30", "09:40", [], ["09:30", "09:35"]),
        ("08:00", "08:10", [], ["08:00", "08:05"]),
    ],
)
def test_bounds_snap_outwards_and_filling_adds_empty_buckets_only(
    filled: SeriesClient, since: str, until: str, plain: list[str], full: list[str]
) -> None:
    """Case G3."""
    assert filled.starts(**span(since, until)) == plain
    shown = filled.buckets(**span(since, until), fill_gaps="true")
    assert [bucket["start"] for bucket in shown] == [at(f"{start}:00.000") for start in full]
    with_points = [bucket for bucket in shown if bucket["fields"]["p"]["count"]]
    assert with_points == filled.buckets(**span(since, until), fill_gaps="false")
    assert all(bucket["fields"]["p"] == EMPTY for bucket in shown if bucket not in with_points)


def test_a_reversed_range_is_refused_even_within_a_bucket(filled: SeriesClient) -> None:
    for since, until in (("09:15", "09:00"), ("09:02", "09:01")):
        reply = filled.try_range(**span(since, until))
        assert (reply.problem, reply.fields) == ((400, "validation_failed"), ["from"])


def test_a_series_without_data_is_filled_between_bounds(series: SeriesClient) -> None:
    series.define(fill_gaps=True)
    assert series.starts(**span("09:02", "09:13")) == ["09:00", "09:05", "09:10"]
    assert series.starts(**span("09:02", "09:13"), fill_gaps="false") == []
    assert series.starts() == series.starts(since=at("09:00:00")) == series.starts(until=at("09:00:00")) == []


@pytest.mark.parametrize(
    "query",
    [
        "from=yesterday",
        "from=2026-11-30T09:00:00",
        "to=2026-02-30T00:00:00Z",
        "from=2026-11-30T09:00:00Z&from=2026-11-30T09:00:00Z",
        "limit=0",
        "limit=10001",
        "limit=x",
        "fill_gaps=yes",
        "primary_key=a",
        "since=2026-11-30T09:00:00Z",
        "next_token=x",
        "next_token=",
    ],
)
def test_a_query_that_makes_no_sense_is_refused(filled: SeriesClient, query: str) -> None:
    assert filled.call("bucket_range", query=query).status == 400


def test_bounds_may_be_any_moment_there_is(series: SeriesClient) -> None:
    series.define(interval=86_400 * 36_500, timestamp_field="at", fill_gaps=True)
    series.publish({"p": 1, "at": "2000-01-01T00:00:00Z"})
    shown = series.buckets(since="0001-01-01T00:00:00Z", until="9999-12-31T23:59:59.999Z")
    assert sum(bucket["fields"]["p"]["count"] for bucket in shown) == 1
    assert shown[0]["start"] > "0001-01-01"
    assert series.try_publish({"p": 1, "at": "0001-01-01T00:00:00Z"}).problem == (422, "point_invalid")


def test_a_bucket_is_partial_until_its_end(series: SeriesClient, clock: ManualClock) -> None:
    series.define(interval=60)
    series.publish({"p": 1})
    assert [bucket["partial"] for bucket in series.buckets()] == [True]
    clock.advance(milliseconds=59_999)
    assert [bucket["partial"] for bucket in series.latest()] == [True]
    clock.advance(milliseconds=1)
    assert [bucket["partial"] for bucket in series.buckets()] == [False]


def test_pages_follow_one_another(filled: SeriesClient) -> None:
    def starts(**query: Any) -> list[list[str]]:
        return [[bucket["start"][11:16] for bucket in page] for page in filled.pages(**query)]

    assert starts(limit=2) == [["09:00", "09:10"], ["09:15"]]
    assert starts(limit=3) == [["09:00", "09:10", "09:15"]]
    assert starts(limit=3, fill_gaps="true") == [["09:00", "09:05", "09:10"], ["09:15"]]
    assert starts(limit=2, fill_gaps="true", **span("09:04", "09:26")) == [
        ["09:00", "09:05"],
        ["09:10", "09:15"],
        ["09:20", "09:25"],
    ]


def test_more_than_ten_thousand_buckets_are_paged_never_cut(series: SeriesClient) -> None:
    series.define(interval=1, timestamp_field="at", fill_gaps=True)
    for moment in ("01:00:00", "03:30:00", "06:59:59"):
        series.publish({"p": 1, "at": at(moment)})
    pages = series.pages(since=at("01:00:00"), until=at("07:00:00"))
    assert [len(page) for page in pages] == [10_000, 10_000, 1_600]
    starts = [bucket["start"] for page in pages for bucket in page]
    assert len(set(starts)) == 21_600
    assert starts == sorted(starts)
    assert (starts[0], starts[-1]) == (at("01:00:00.000"), at("06:59:59.000"))
    counted = [bucket["start"] for page in pages for bucket in page if bucket["fields"]["p"]["count"]]
    assert counted == [at("01:00:00.000"), at("03:30:00.000"), at("06:59:59.000")]


def test_a_page_ends_before_it_is_too_big_to_be_answered(series: SeriesClient) -> None:
    fields = tuple(f"{index:02d}" + "x" * 190 for index in range(20))
    series.define(interval=1, fields=fields, fill_gaps=True)
    reply = series.try_range(since=at("09:00:00"), until=at("09:30:00"))
    assert 3 * 1024 * 1024 < len(reply.body) < 4.1 * 1024 * 1024
    assert "next_token" in reply.json
    pages = series.pages(since=at("09:00:00"), until=at("09:30:00"))
    assert sum(map(len, pages)) == 1_800


def test_a_token_is_of_one_range_of_one_series(series: SeriesClient, platform_key: str) -> None:
    series.define(primary_key=["id"], timestamp_field="at")
    for key in ("a", "b"):
        for moment in ("09:00:00", "09:10:00"):
            series.publish({"id": key, "p": 1, "at": at(moment)})
    other = SeriesClient(series.process, series.key, "other").define(primary_key=["id"])
    stranger = series.process.tenant("stranger", platform_key=platform_key)
    foreign = SeriesClient(series.process, stranger.key).define(primary_key=["id"])
    token = series.range(primary_key="a", limit=1)["next_token"]
    assert len(series.buckets(primary_key="a", limit=1, next_token=token)) == 1
    refused = [
        series.try_range(primary_key="b", next_token=token),
        series.try_range(primary_key="a", next_token=token, fill_gaps="true"),
        series.try_range(primary_key="a", next_token=token, since=at("09:00:00")),
        series.try_range(primary_key="a", next_token=token[:-2] + "xx"),
        other.try_range(primary_key="a", next_token=token),
        foreign.try_range(primary_key="a", next_token=token),
        series.try_keys(next_token=token),
    ]
    assert [reply.problem for reply in refused] == [(400, "invalid_token")] * len(refused)


def test_the_newest_come_in_the_order_of_time(filled: SeriesClient) -> None:
    assert [bucket["start"][11:16] for bucket in filled.latest()] == ["09:15"]
    assert [bucket["start"][11:16] for bucket in filled.latest(n=2)] == ["09:10", "09:15"]
    assert filled.latest(n=1000) == filled.buckets()
    for n in ("0", "1001", "x", "1.5"):
        assert filled.try_latest(n=n).problem == (400, "validation_failed")


def test_series_are_listed_with_their_first_and_last_bucket(series: SeriesClient) -> None:
    series.define(primary_key=["id", "k"], timestamp_field="at", partitions=3)
    for number in range(7):
        for moment in ("09:00:00", "09:12:00", "09:07:00"):
            series.publish(f'{{"id": {number}.50, "k": "é", "p": 1, "at": "{at(moment)}"}}')
    listed: list[Any] = []
    token: dict[str, Any] = {}
    while True:
        page = series.try_keys(limit=2, **token).json
        assert len(page["keys"]) <= 2
        listed += page["keys"]
        if "next_token" not in page:
            break
        token = {"next_token": page["next_token"]}
    assert sorted(entry["key"][0].text for entry in listed) == [f"{number}.50" for number in range(7)]
    assert {(entry["first"], entry["last"]) for entry in listed} == {(at("09:00:00.000"), at("09:10:00.000"))}
    assert series.listed() == listed
    assert series.candle(primary_key='[0.5,"é"]', until=at("09:05:00"))["count"] == 1


@pytest.mark.parametrize("key", [None, "", "a", "1", "[1]", '["a"]', '["a","b","c"]', '["a",null]', '["a",{}]', "{}"])
def test_a_composite_key_is_a_json_array(series: SeriesClient, key: str | None) -> None:
    series.define(primary_key=["id", "k"])
    query = {} if key is None else {"primary_key": key}
    for function in ("bucket_range", "bucket_latest"):
        reply = series.call(function, query=query)
        assert (reply.problem, reply.fields) == ((400, "validation_failed"), ["primary_key"])


def test_one_series_is_cleared_or_all(series: SeriesClient, world: World) -> None:
    series.define(primary_key=["id"], timestamp_field="at")
    for key in ("a", "b", "c"):
        for moment in ("09:00:00", "09:10:00"):
            series.publish({"id": key, "p": 1, "at": at(moment)})
    series.clear(primary_key="a")
    series.clear(primary_key="unknown")
    assert [entry["key"] for entry in sorted(series.listed(), key=repr)] == [["b"], ["c"]]
    assert series.buckets(primary_key="a") == []
    series.publish({"id": "a", "p": 2, "at": at("09:00:00")})
    assert series.candle(primary_key="a")["sum"] == 2
    series.clear()
    assert series.listed() == []
    assert [row for row in world.rows(world.state_table) if row["pk"]["S"].startswith("buckets#")] == []
    series.publish({"id": "b", "p": 3, "at": at("09:00:00")})
    assert series.candle(primary_key="b")["sum"] == 3


def test_a_purged_queue_takes_points_again_and_the_sweep_leaves_them(
    series: SeriesClient, timed: Process, clock: ManualClock
) -> None:
    series.define(primary_key=["id"])
    for key in ("a", "b"):
        series.publish({"id": key, "p": 1})
    assert series.call("queue_purge").status == 202
    assert series.listed() == []
    clock.advance(milliseconds=1)
    series.publish({"id": "a", "p": 5})
    timed.run("queue_sweep")
    clock.advance(seconds=70)
    timed.run("queue_sweep")
    assert series.candle(primary_key="a")["sum"] == 5


def test_a_deleted_queue_leaves_nothing(series: SeriesClient, timed: Process, world: World) -> None:
    series.define(primary_key=["id"], partitions=2, max_buckets=5)
    for key in range(5):
        series.publish({"id": key, "p": 1})
    assert series.call("queue_delete").status == 204
    timed.run("queue_sweep")
    left = {row["pk"]["S"].partition("#")[0] for row in world.rows(world.state_table)}
    assert not left & {"series", "buckets"}


def test_stats_count_series_and_buckets(series: SeriesClient) -> None:
    series.define(primary_key=["id"], timestamp_field="at")
    assert series.stats() == {"series": 0, "depth": 0, "approximate": False, "oldest_message_age_seconds": None}
    for key, moment in (("a", "09:00:00"), ("a", "09:30:00"), ("b", "09:40:00")):
        series.publish({"id": key, "p": 1, "at": at(moment)})
    assert series.stats() == {
        "series": 2,
        "depth": 3,
        "approximate": False,
        "oldest_message_age_seconds": 3600,
    }


FUNCTIONS = ("bucket_range", "bucket_keys", "bucket_latest", "bucket_clear")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_only_time_series_have_buckets(process: Process, tenant: Tenant, function: str) -> None:
    queue = QueueClient(process, tenant.key).create()
    assert queue.call(function).problem == (409, "wrong_queue_type")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_whom_a_function_refuses(
    process: Process, tenant: Tenant, stranger: Tenant, platform_key: str, function: str
) -> None:
    series = SeriesClient(process, tenant.key, "orders").define(primary_key=["id"])
    series.publish({"id": "sensor-7", "p": 1})
    refused = {
        None: 401,
        platform_key: 403,
        process.client_key(tenant): 403,
        process.client_key(tenant, ("order", "publish consume")): 403,
        process.client_key(tenant, ("orders", "publish")): 403,
        stranger.key: 404,
    }
    consumer = process.client_key(tenant, ("orders", "consume"))
    if function == "bucket_clear":
        refused[consumer] = 403
    query = sample_event(function)["rawQueryString"]
    for key, status in refused.items():
        assert process.call(function, key=key, query=query).status == status
    assert series.candle(primary_key="sensor-7")["count"] == 1
    allowed = tenant.key if function == "bucket_clear" else consumer
    assert process.call(function, key=allowed, query=query).status == (204 if function == "bucket_clear" else 200)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_foreign_queue_is_like_none(process: Process, tenant: Tenant, stranger: Tenant, function: str) -> None:
    made = process.call(
        "queue_create",
        key=stranger.key,
        body={"name": "s", "type": "time_series", "settings": {"interval_seconds": 60, "aggregation_fields": ["p"]}},
    )
    foreign = process.call(function, key=tenant.key, path={"queue": made.json["queue_id"]})
    none = process.call(function, key=tenant.key, path={"queue": "01KB9Z5N6V4T8R2QWXYZ0ABCDE"})
    assert foreign.problem == none.problem == (404, "not_found")
    assert set(foreign.json) == set(none.json)


def test_the_key_of_another_series_is_not_shown_as_this_one_s(series: SeriesClient, world: World) -> None:
    """Case L1: what was swapped in storage does not open, and hides nothing else."""
    series.define(primary_key=["id"])
    for key in ("a", "b", "c"):
        series.publish({"id": key, "p": 1})
    rows = [row for row in world.rows(world.state_table) if row["pk"]["S"].startswith("series#")]
    first, second = rows[0]["key"], rows[1]["key"]
    for row, key in ((rows[0], second), (rows[1], first)):
        world.client("dynamodb").put_item(TableName=world.state_table, Item={**row, "key": key})
    listed = [entry["key"] for entry in series.listed()]
    assert listed.count(None) == 2
    assert [key for key in listed if key is not None] in ([["a"]], [["b"]], [["c"]])
