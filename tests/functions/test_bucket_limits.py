"""max_buckets and max_message_age_seconds: what a series keeps, also when they change."""

from typing import Any

import pytest

from tests.functions.series import SeriesClient, at
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World
from tools.ledger import Ledger


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


@pytest.fixture
def series(timed: Process, owner: Tenant) -> SeriesClient:
    """A queue not yet defined, in a process whose clock stands at 10:00."""
    return SeriesClient(timed, owner.key)


def publish(series: SeriesClient, *moments: str, key: str = "a") -> list[int]:
    """Publish one point of each moment; returns the statuses."""
    return [series.try_publish({"id": key, "p": 1, "at": at(f"{moment}:00")}).status for moment in moments]


def change(series: SeriesClient, **settings: Any) -> None:
    reply = series.call("queue_update", body={"settings": settings})
    assert reply.status == 200, reply


def stored(world: World) -> int:
    return sum(row["pk"]["S"].startswith("buckets#") for row in world.rows(world.state_table))


def test_beyond_the_limit_the_oldest_go(series: SeriesClient, world: World) -> None:
    series.define(timestamp_field="at", max_buckets=3)
    assert publish(series, "09:00", "09:20", "09:10", "09:30") == [201] * 4
    assert series.starts() == ["09:10", "09:20", "09:30"]
    assert publish(series, "09:15", "09:16") == [201] * 2
    assert series.starts() == ["09:15", "09:20", "09:30"]
    assert stored(world) == 3


def test_a_point_before_the_oldest_bucket_of_a_full_series_is_refused(series: SeriesClient) -> None:
    series.define(timestamp_field="at", max_buckets=2)
    assert publish(series, "09:20", "09:10", "09:11") == [201] * 3
    reply = series.try_publish({"p": 1, "at": at("09:05:00")})
    assert reply.problem == (422, "bucket_evicted")
    assert publish(series, "09:10", "09:30", "09:10") == [201, 201, 422]
    assert [bucket["fields"]["p"]["count"] for bucket in series.buckets()] == [1, 1]
    assert series.starts() == ["09:20", "09:30"]


def test_each_series_has_its_own_limit(series: SeriesClient) -> None:
    series.define(timestamp_field="at", max_buckets=1, primary_key=["id"])
    for key in ("a", "b"):
        assert publish(series, "09:00", "09:10", key=key) == [201, 201]
    assert {(entry["first"], entry["last"]) for entry in series.listed()} == {(at("09:10:00.000"),) * 2}


def test_a_batch_evicts_as_its_points_stand(series: SeriesClient) -> None:
    series.define(timestamp_field="at", max_buckets=2)
    moments = ("09:10", "09:20", "09:05", "09:30", "09:10", "09:20")
    answer = series.publish_many(*({"p": 1, "at": at(f"{moment}:00")} for moment in moments))
    assert [result["status"] for result in answer["results"]] == [201, 201, 422, 201, 201, 201]
    assert answer["results"][2]["code"] == "bucket_evicted"
    assert series.starts() == ["09:20", "09:30"]


def test_a_lower_limit_counts_at_once_and_a_higher_one_brings_nothing_back(
    series: SeriesClient, clock: ManualClock, world: World
) -> None:
    series.define(timestamp_field="at", max_buckets=5)
    publish(series, "09:00", "09:10", "09:20", "09:30", "09:40")
    change(series, max_buckets=2)
    clock.advance(seconds=6)
    assert series.starts() == ["09:30", "09:40"]
    assert stored(world) == 2
    assert publish(series, "09:20") == [422]
    change(series, max_buckets=3)
    clock.advance(seconds=6)
    assert series.starts() == ["09:30", "09:40"]
    assert publish(series, "09:20", "09:10", "09:50") == [201, 422, 201]
    assert series.starts() == ["09:30", "09:40", "09:50"]


@pytest.mark.parametrize("seconds", [6, 60])
def test_a_limit_set_later_holds_for_what_is_there(series: SeriesClient, clock: ManualClock, seconds: int) -> None:
    series.define(timestamp_field="at", primary_key=["id"])
    publish(series, *(f"08:{minute:02d}" for minute in range(0, 60, 5)))
    publish(series, *(f"08:{minute:02d}" for minute in range(0, 60, 5)), key="b")
    change(series, max_buckets=2)
    clock.advance(seconds=seconds)
    assert [entry["first"] for entry in series.listed()] == [at("08:50:00.000")] * 2
    assert publish(series, "09:00", "08:50", "08:55", key="b") == [201, 422, 201]
    assert len(series.buckets(primary_key="a")) == len(series.latest(primary_key="b", n=9)) == 2
    assert series.stats()["depth"] == 4


def test_a_limit_lowered_by_far_is_reached_in_steps(series: SeriesClient, clock: ManualClock, world: World) -> None:
    series.define(interval=60, timestamp_field="at")
    moments = [f"{hour:02d}:{minute:02d}" for hour in range(4) for minute in range(60)]
    for start in range(0, len(moments), 100):
        series.publish_many(*({"p": 1, "at": at(f"{moment}:00")} for moment in moments[start : start + 100]))
    change(series, max_buckets=7)
    clock.advance(seconds=6)
    assert publish(series, "04:00") == [201]
    assert stored(world) == 7
    assert series.starts() == ["03:54", "03:55", "03:56", "03:57", "03:58", "03:59", "04:00"]


def test_a_cleared_series_starts_counting_again(series: SeriesClient) -> None:
    series.define(timestamp_field="at", max_buckets=2, primary_key=["id"])
    publish(series, "09:20", "09:30")
    series.clear(primary_key="a")
    assert publish(series, "09:10", "09:00", "09:20") == [201] * 3
    assert series.starts(primary_key="a") == ["09:10", "09:20"]


def test_buckets_that_ended_too_long_ago_are_absent_at_once(
    series: SeriesClient, clock: ManualClock, world: World
) -> None:
    series.define(timestamp_field="at", max_message_age_seconds=3600)
    assert publish(series, "09:00", "09:10") == [201, 201]
    clock.advance(seconds=299)
    assert series.starts() == ["09:00", "09:10"]
    clock.advance(seconds=1)
    assert series.starts() == ["09:10"]
    assert series.starts(fill_gaps="true") == ["09:10"]
    filled = series.buckets(fill_gaps="true", since=at("09:00:00"), until=at("09:15:00"))
    assert [bucket["fields"]["p"]["count"] for bucket in filled] == [0, 0, 1]
    assert series.listed()[0]["first"] == at("09:10:00.000")
    assert len(series.latest(n=5)) == series.stats()["depth"] == 1
    assert publish(series, "09:04", "09:05") == [422, 201]
    assert stored(world) == 2, "a new bucket lets go of those that are too old"
    clock.advance(seconds=86_400)
    assert (series.starts(), series.listed(), series.stats()["series"]) == ([], [], 0)


def test_a_longer_age_shows_again_what_is_still_stored(series: SeriesClient, clock: ManualClock) -> None:
    series.define(timestamp_field="at", max_message_age_seconds=3600)
    publish(series, "09:00", "09:10")
    clock.advance(seconds=3600)
    assert series.starts() == []
    change(series, max_message_age_seconds=None)
    clock.advance(seconds=6)
    assert series.starts() == ["09:00", "09:10"]


def test_age_and_number_may_both_be_limited(series: SeriesClient, clock: ManualClock, world: World) -> None:
    series.define(timestamp_field="at", max_message_age_seconds=3600, max_buckets=3)
    publish(series, "09:00", "09:10", "09:20")
    clock.advance(seconds=900)
    assert series.starts() == ["09:20"]
    assert publish(series, "10:00", "10:10", "09:30", "09:15") == [201] * 3 + [422]
    assert series.starts() == ["09:30", "10:00", "10:10"]
    assert stored(world) == 3


def test_a_count_survives_that_old_buckets_go(series: SeriesClient, clock: ManualClock, ledger: Ledger) -> None:
    """Else every new bucket of a series with both limits would have all of them counted."""
    series.define(timestamp_field="at", max_message_age_seconds=3600, max_buckets=50)
    for minute in range(0, 60, 5):
        publish(series, f"09:{minute:02d}")
    clock.advance(seconds=900)
    assert publish(series, "09:55") == [201], "the caches are warm again"
    with ledger.operation("three buckets go") as going:
        assert publish(series, "10:00") == [201]
    assert going.calls == {"dynamodb.GetItem": 3, "dynamodb.Query": 1, "dynamodb.TransactWriteItems": 2}
    with ledger.operation("another bucket") as cost:
        assert publish(series, "10:05") == [201]
    assert cost.calls == {"dynamodb.GetItem": 2, "dynamodb.Query": 1, "dynamodb.TransactWriteItems": 1}
    assert series.stats()["depth"] == 11
