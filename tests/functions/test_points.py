"""message_publish, message_publish_batch on a time series: what a point may be, and what becomes of it."""

import json
from fractions import Fraction
from typing import Any

import pytest

from broker.jsontext import Number
from tests.functions.series import SeriesClient, at
from tests.processes import Process
from tests.worlds import START, ManualClock


@pytest.fixture
def series(timed: Process, platform_key: str) -> SeriesClient:
    """A queue not yet defined, in a process whose clock stands at 10:00."""
    return SeriesClient(timed, timed.tenant(platform_key=platform_key).key)


def exact(value: Any) -> str:
    """A number of an answer as its text."""
    return value.text if isinstance(value, Number) else json.dumps(value)


def test_a_point_is_aggregated(series: SeriesClient) -> None:
    series.define(interval=60)
    reply = series.try_publish({"p": 1.5, "other": "free"})
    assert reply.status == 201
    assert {name: value for name, value in reply.json.items() if name != "message_id"} == {
        "status": "aggregated",
        "published_at": "2026-11-30T10:00:00.000Z",
    }
    assert len(reply.json["message_id"]) == 26
    (bucket,) = series.buckets()
    assert (bucket["start"], bucket["end"], bucket["partial"]) == (
        "2026-11-30T10:00:00.000Z",
        "2026-11-30T10:01:00.000Z",
        True,
    )
    assert bucket["fields"] == {
        "p": dict.fromkeys(("open", "high", "low", "close", "sum", "avg"), Number("1.5")) | {"count": 1}
    }


@pytest.mark.parametrize("value", [None, "12", True, False, [], {}, [1], {"p": 1}])
def test_a_value_that_is_no_number_is_refused(series: SeriesClient, value: Any) -> None:
    series.define(fields=("p", "v"))
    reply = series.try_publish({"p": value, "v": 1})
    assert reply.problem == (422, "point_invalid")
    assert reply.json["field"] == "p"
    assert series.buckets() == []


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "01", "1.", "+1", "0x1"])
def test_what_is_no_json_is_refused(series: SeriesClient, text: str) -> None:
    series.define()
    assert series.try_publish(f'{{"p": {text}}}').problem == (400, "malformed_json")


@pytest.mark.parametrize(
    "text",
    ["1e400", "-1e400", "1e126", "1e-126", "1" * 39, "0." + "1" * 39, "1e999999999999999999999", "9" * 5000, "1e-400"],
)
def test_numbers_beyond_the_range_are_refused(series: SeriesClient, text: str) -> None:
    series.define()
    assert series.try_publish(f'{{"p": {text}}}').problem == (422, "point_invalid")
    assert series.buckets() == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("9" * 38, "9" * 38),
        ("-" + "9" * 38, "-" + "9" * 38),
        ("0." + "1" * 38, "0." + "1" * 38),
        ("9.9999999999999999999999999999999999999e125", "9.9999999999999999999999999999999999999E+125"),
        ("1e-125", "1E-125"),
        ("1.0000000000000000000000000000000000001e-125", "1.0000000000000000000000000000000000001E-125"),
        ("1.10", "1.1"),
        ("1" + "0" * 60, "1E+60"),
        ("1." + "0" * 60, "1"),
        ("-0", "0"),
        ("0e999999", "0"),
        ("0.0", "0"),
        ("-5", "-5"),
        ("1e2", "100"),
    ],
)
def test_numbers_within_it_come_back_exactly(series: SeriesClient, text: str, shown: str) -> None:
    series.define()
    series.publish(f'{{"p": {text}}}')
    candle = series.candle()
    assert {exact(candle[name]) for name in ("open", "high", "low", "close", "sum", "avg")} == {shown}
    series.publish(f'{{"p": {text}}}')
    again = series.candle()
    assert (exact(again["high"]), exact(again["low"]), exact(again["avg"]), again["count"]) == (shown, shown, shown, 2)


def test_ten_tenths_are_one(series: SeriesClient) -> None:
    series.define()
    for _ in range(10):
        series.publish('{"p": 0.1}')
    candle = series.candle()
    assert (candle["sum"], candle["avg"], candle["count"]) == (1, Number("0.1"), 10)


def test_a_sum_keeps_more_digits_than_one_number_of_the_database(series: SeriesClient) -> None:
    series.define()
    for text in ("9.9999999999999999999999999999999999999e125", "1e-125", "1", "-1"):
        series.publish(f'{{"p": {text}}}')
    assert Fraction(series.candle()["sum"].text) == Fraction(10**38 - 1) * 10**88 + Fraction(1, 10**125)


def test_an_average_that_does_not_end_has_38_digits(series: SeriesClient) -> None:
    series.define()
    for value in (1, 0, 1):
        series.publish({"p": value})
    assert series.candle()["avg"] == Number("0.66666666666666666666666666666666666667")


def test_absent_fields_are_left_alone(series: SeriesClient) -> None:
    series.define(fields=("p", "v", "a.b"))
    series.publish({"v": 3})
    series.publish({"p": -5})
    series.publish({"v": 1, "a": {"b": 2}})
    (bucket,) = series.buckets()
    assert bucket["fields"]["p"] == {
        "open": -5,
        "high": -5,
        "low": -5,
        "close": -5,
        "sum": -5,
        "count": 1,
        "avg": -5,
    }
    assert bucket["fields"]["v"] == {"open": 3, "high": 3, "low": 1, "close": 1, "sum": 4, "count": 2, "avg": 2}
    assert bucket["fields"]["a.b"]["count"] == 1
    assert series.try_publish({"other": 1}).problem == (422, "point_invalid")
    assert series.try_publish({}).problem == (422, "point_invalid")


def test_a_field_never_seen_is_shown_empty(series: SeriesClient) -> None:
    series.define(fields=("p", "v"))
    series.publish({"v": 3})
    empty = {"open": None, "high": None, "low": None, "close": None, "sum": 0, "count": 0, "avg": None}
    assert series.candle("p") == empty


@pytest.mark.parametrize(
    "moment",
    [
        "2026-11-30T10:00:00",
        "2026-02-30T10:00:00Z",
        "yesterday",
        "",
        None,
        1.5,
        True,
        [],
        "2026-11-30T11:00:00.001Z",
        START + 3_600_001,
        10**18,
        -(10**18),
        "0001-01-01T00:00:00+01:00",
    ],
)
def test_a_time_that_cannot_be_used_is_refused(series: SeriesClient, moment: Any) -> None:
    series.define(timestamp_field="at")
    assert series.try_publish({"p": 1, "at": moment}).problem == (422, "point_invalid")
    assert series.buckets() == []


def test_a_time_is_needed_where_the_queue_has_a_field_for_it(series: SeriesClient) -> None:
    series.define(timestamp_field="at")
    reply = series.try_publish({"p": 1})
    assert (reply.problem, reply.json["field"]) == ((422, "point_invalid"), "at")


@pytest.mark.parametrize(
    "moment",
    ["2026-11-30T09:59:00Z", "2026-11-30T10:59:00+01:00", 1796032740000, Number("1796032740000.0")],
    ids=str,
)
def test_a_time_is_rfc_3339_or_milliseconds(series: SeriesClient, moment: Any) -> None:
    series.define(interval=60, timestamp_field="at")
    text = moment.text if isinstance(moment, Number) else json.dumps(moment)
    series.publish(f'{{"p": 1, "at": {text}}}')
    assert series.starts() == ["09:59"]


def test_an_hour_ahead_is_not_too_far(series: SeriesClient) -> None:
    series.define(timestamp_field="at")
    series.publish({"p": 1, "at": at("11:00:00")})
    assert series.starts() == ["11:00"]


def test_buckets_at_their_edges_and_before_1970(series: SeriesClient) -> None:
    """Case G1."""
    series.define(timestamp_field="at")
    for moment in (-1000, -300_000, -301_000, at("09:04:59.999"), at("09:05:00.000")):
        series.publish({"p": 1, "at": moment})
    found = series.buckets()
    assert [bucket["start"] for bucket in found] == [
        "1969-12-31T23:50:00.000Z",
        "1969-12-31T23:55:00.000Z",
        "2026-11-30T09:00:00.000Z",
        "2026-11-30T09:05:00.000Z",
    ]
    assert [bucket["fields"]["p"]["count"] for bucket in found] == [1, 2, 1, 1]


@pytest.mark.parametrize(
    ("interval", "moment", "start", "end"),
    [
        (86_400, "2024-02-29T23:59:59.999Z", "2024-02-29", "2024-03-01"),
        (86_400, "1968-02-29T00:00:00Z", "1968-02-29", "1968-03-01"),
        (7 * 86_400, "2026-11-29T23:59:59.999Z", "2026-11-23", "2026-11-30"),
        (7 * 86_400, "2026-11-30T00:00:00Z", "2026-11-30", "2026-12-07"),
        (7 * 86_400, "1970-01-01T00:00:00Z", "1969-12-29", "1970-01-05"),
        (7 * 86_400, "1969-12-28T00:00:00Z", "1969-12-22", "1969-12-29"),
        (14 * 86_400, "1970-01-01T00:00:00Z", "1969-12-29", "1970-01-12"),
        (2 * 86_400, "1970-01-02T00:00:00Z", "1970-01-01", "1970-01-03"),
    ],
)
def test_days_begin_at_midnight_and_weeks_on_mondays(
    series: SeriesClient, interval: int, moment: str, start: str, end: str
) -> None:
    series.define(interval=interval, timestamp_field="at")
    series.publish({"p": 1, "at": moment})
    (bucket,) = series.buckets()
    assert (bucket["start"], bucket["end"]) == (f"{start}T00:00:00.000Z", f"{end}T00:00:00.000Z")


def test_open_and_close_go_by_time_and_ties_by_arrival(series: SeriesClient) -> None:
    series.define(timestamp_field="at")
    for value, second in ((1, 30), (2, 30), (3, 20), (4, 40), (5, 20), (6, 40), (7, 25)):
        series.publish({"p": value, "at": at(f"09:00:{second}")})
    assert series.candle() == {"open": 3, "high": 7, "low": 1, "close": 6, "sum": 28, "count": 7, "avg": 4}


def test_without_a_timestamp_field_the_time_is_that_of_arrival(series: SeriesClient, clock: ManualClock) -> None:
    series.define(interval=60)
    for value in (1, 2, 3):
        series.publish({"p": value})
        clock.advance(seconds=30)
    first, second = series.buckets()
    assert (first["fields"]["p"]["open"], first["fields"]["p"]["close"]) == (1, 2)
    assert (second["start"], second["fields"]["p"]["sum"]) == ("2026-11-30T10:01:00.000Z", 3)


def test_each_key_has_its_series(series: SeriesClient) -> None:
    series.define(primary_key=["id"])
    for key in (1, "1", True, "true", 1.0, "a/b%2F", ""):
        series.publish({"id": key, "p": 1})
    assert series.try_publish({"p": 1}).problem == (422, "key_field_invalid")
    assert series.try_publish({"id": None, "p": 1}).problem == (422, "key_field_invalid")
    listed = {json.dumps(entry["key"]) for entry in series.listed()}
    assert listed == {"[1]", '["1"]', "[true]", '["true"]', '["a/b%2F"]', '[""]'}
    counts = {text: series.candle(primary_key=text)["count"] for text in ("1", "true", "a/b%2F", "")}
    assert counts == {"1": 1, "true": 1, "a/b%2F": 1, "": 1}
    assert series.candle(primary_key="[1]")["count"] == 2


def test_a_batch_answers_each_point(series: SeriesClient) -> None:
    series.define(fields=("p",), timestamp_field="at", primary_key=["id"])
    answer = series.publish_many(
        {"id": "a", "p": 1, "at": at("09:00:30")},
        {"id": "a", "p": "x", "at": at("09:00:00")},
        {"id": "a", "p": 3, "at": at("09:00:10")},
        {"p": 3, "at": at("09:00:10")},
        {"id": "b", "p": 4, "at": "never"},
        {"id": "a", "p": 5, "at": at("09:06:00")},
    )
    assert answer["accepted"] == 3
    assert [result["status"] for result in answer["results"]] == [201, 422, 201, 422, 422, 201]
    assert [result.get("code") for result in answer["results"]] == [
        None,
        "point_invalid",
        None,
        "key_field_invalid",
        "point_invalid",
        None,
    ]
    assert len({result["message_id"] for result in answer["results"] if "message_id" in result}) == 3
    first, second = series.buckets(primary_key="a")
    assert first["fields"]["p"] == {"open": 3, "high": 3, "low": 1, "close": 1, "sum": 4, "count": 2, "avg": 2}
    assert second["fields"]["p"]["sum"] == 5
    assert series.buckets(primary_key="b") == []


def test_a_batch_of_numbers_of_all_sizes_fits(series: SeriesClient) -> None:
    """One write cannot name all parts of such sums: it is made in several."""
    fields = tuple(f"f{index}" for index in range(20))
    series.define(fields=fields)
    sizes = [f"1e{exponent}" for exponent in range(-125, 126, 5)]
    points = [{name: Number(size) for name in fields} for size in sizes]
    body = '{"messages":[' + ",".join(_text(point) for point in points) + "]}"
    reply = series.call("message_publish_batch", body=body)
    assert reply.json["accepted"] == len(sizes)
    assert {series.candle(name)["count"] for name in fields} == {len(sizes)}
    (bucket,) = series.buckets()
    sums = {Fraction(bucket["fields"][name]["sum"].text) for name in fields}
    assert sums == {sum((Fraction(size) for size in sizes), Fraction())}


def _text(point: dict[str, Number]) -> str:
    return "{" + ",".join(f'"{name}":{value.text}' for name, value in point.items()) + "}"


def test_a_disabled_queue_refuses_points_and_shows_its_buckets(series: SeriesClient) -> None:
    series.define()
    series.publish({"p": 1})
    assert series.call("queue_disable").status == 200
    assert series.try_publish({"p": 1}).problem == (409, "queue_disabled")
    assert series.candle()["count"] == 1


@pytest.mark.parametrize("function", ["message_publish", "message_publish_batch"])
def test_the_same_idempotency_key_counts_once(series: SeriesClient, function: str) -> None:
    series.define()
    point = {"p": 2}
    body: Any = point if function == "message_publish" else {"messages": [point, point]}
    replies = [series.call(function, body=body, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert replies[0].json == replies[1].json
    assert series.candle()["count"] == (1 if function == "message_publish" else 2)
    series.call(function, body=body, headers={"Idempotency-Key": "another"})
    assert series.candle()["count"] == (2 if function == "message_publish" else 4)
