"""Time series against a plain model of them: whatever the points, their order, their processes and lost answers."""

import functools
import json
import random
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.jsontext import Number
from edge.clients import make_client
from tests.series_rig import Model, Process, candle, milliseconds, queue_of, same
from tests.worlds import START, ManualClock, World
from tools.calls import Call

FIELDS = ["p", "v", "a.b"]
INTERVALS = [1, 60, 300, 86_400, 2 * 86_400, 7 * 86_400, 28 * 86_400]
ANCHORS = [
    milliseconds(text)
    for text in ("1970-01-01", "1969-12-29", "1968-02-29", "2000-02-29", "2024-02-29", "2024-12-31", "1700-03-01")
] + [START]

digits = st.integers(-(10**38) + 1, 10**38 - 1)
values = st.one_of(
    st.integers(-5, 5),
    st.builds(lambda whole, places: Number(f"{whole}e-{places}"), st.integers(-(10**6), 10**6), st.integers(0, 4)),
    digits,
    st.builds(lambda whole, power: Number(f"{whole}e{power}"), digits, st.integers(-125, 87)),
).filter(lambda value: not isinstance(value, Number) or _fits(value))
_client = functools.cache(make_client)
examples = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def _fits(value: Number) -> bool:
    found = value.decimal()
    return found is not None and (not found or -125 <= found.adjusted() <= 125)


@st.composite
def times(draw: st.DrawFn, interval: int) -> int:
    """Moments that meet: at the edges of few buckets, and in between."""
    anchor = draw(st.sampled_from(ANCHORS))
    edge = draw(st.integers(-2, 2)) * interval * 1000
    return min(anchor + edge + draw(st.sampled_from([-1, 0, 1, 500])), START)


@st.composite
def points(draw: st.DrawFn, interval: int) -> dict[str, Any]:
    present = draw(st.sets(st.sampled_from(FIELDS), min_size=1))
    return {"at": draw(times(interval)), **{name: draw(values) for name in sorted(present)}}


def processes(world: World, clock: ManualClock, count: int) -> list[Process]:
    return [Process(_client("dynamodb"), world.state_table, clock) for _ in range(count)]


@examples
@given(data=st.data())
def test_buckets_are_those_of_the_model(world: World, data: st.DataObject) -> None:
    world.wipe()
    interval = data.draw(st.sampled_from(INTERVALS))
    queue = queue_of(interval_seconds=interval, aggregation_fields=FIELDS)
    model = Model(interval, FIELDS)
    writers = processes(world, ManualClock(), 3)
    for _ in range(data.draw(st.integers(1, 8))):
        batch = data.draw(st.lists(points(interval), min_size=1, max_size=5))
        repeats = data.draw(st.integers(1, 2))
        writer = data.draw(st.sampled_from(writers))
        for _ in range(repeats):
            if len(batch) == 1:
                writer.publish(queue, batch[0])
            else:
                assert not [one for one in writer.publish_batch(queue, batch) if isinstance(one, Exception)]
            model.points += batch
    assert same(writers[0].buckets(queue), model.buckets())


@examples
@given(data=st.data())
def test_filled_ranges_contain_exactly_the_grid(world: World, data: st.DataObject) -> None:
    world.wipe()
    interval = data.draw(st.sampled_from(INTERVALS))
    queue = queue_of(interval_seconds=interval)
    model = Model(interval, ["p"])
    (process,) = processes(world, ManualClock(), 1)
    anchor = data.draw(st.sampled_from(ANCHORS[:-1]))
    for step in data.draw(st.lists(st.integers(-6, 6), max_size=5)):
        point = {"at": anchor + step * interval * 1000, "p": step}
        process.publish(queue, point)
        model.points.append(point)
    first = model.start(anchor + data.draw(st.integers(-8, 8)) * interval * 1000)
    length = data.draw(st.integers(0, 12))
    grid = [first + number * interval * 1000 for number in range(length)]
    stored = model.buckets()
    expected = {start: stored.get(start, {"p": candle(())}) for start in grid}
    bounds = (first, first + length * interval * 1000)
    assert same(process.buckets(queue, fill_gaps=True, bounds=bounds), expected)
    plain = {start: stored[start] for start in grid if start in stored}
    assert same(process.buckets(queue, bounds=bounds), plain)


@examples
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_lost_answers_count_nothing_twice(world: World, data: st.DataObject, seed: int, faults: ModuleType) -> None:
    world.wipe()
    queue = queue_of(aggregation_fields=FIELDS, max_buckets=data.draw(st.sampled_from([None, 1000])))
    model = Model(60, FIELDS)
    writers = processes(world, ManualClock(), 2)
    rng = random.Random(seed)
    struck = 0

    def lose(_: Call) -> Any:
        # Never so often in a row that a call is given up.
        nonlocal struck
        struck = struck + 1 if struck < 4 and rng.random() < 0.5 else 0
        return (faults.LOST if rng.random() < 0.7 else faults.SERVER_ERROR_AFTER) if struck else None

    batches = data.draw(st.lists(st.lists(points(60), min_size=1, max_size=4), min_size=1, max_size=6))
    with faults.choosing(lose):
        for batch in batches:
            outcomes = rng.choice(writers).publish_batch(queue, batch)
            assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
            model.points += batch
    assert same(writers[0].buckets(queue), model.buckets())


@settings(examples, max_examples=8)
@given(data=st.data(), limited=st.booleans(), keyed=st.booleans())
def test_parallel_points_are_all_counted(world: World, data: st.DataObject, limited: bool, keyed: bool) -> None:
    world.wipe()
    queue = queue_of(aggregation_fields=FIELDS, max_buckets=1000 if limited else None)
    model = Model(60, FIELDS)
    model.points = data.draw(st.lists(points(60), min_size=8, max_size=24))
    writers = processes(world, ManualClock(), 2)

    def publish(number: int) -> None:
        once = f"{number}" if keyed and number % 2 else None
        writers[number % 2].publish(queue, model.points[number], once=once)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(publish, range(len(model.points))))
    shown = writers[0].buckets(queue)
    for start, fields in model.buckets().items():
        for name, expected in fields.items():
            found = shown[start][name]
            for member in ("high", "low", "sum", "count"):
                assert found[member] == expected[member]
            # Points of one moment arrive in an order that nobody knows.
            ordered = sorted(model.values(start, name))
            opens = [value for at, _, value in ordered if at == ordered[0][0]]
            closes = [value for at, _, value in ordered if at == ordered[-1][0]]
            assert found["open"] in opens if opens else found["open"] is None
            assert found["close"] in closes if closes else found["close"] is None
    assert list(shown) == list(model.buckets())


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_under_a_limit_a_series_is_what_the_newest_buckets_of_the_model_are(world: World, limit: int) -> None:
    """Every point is either counted or told that it is too old, as a plain list of buckets would tell it."""
    rng = random.Random(limit)
    queue = queue_of(max_buckets=limit)
    writers = processes(world, ManualClock(), 2)
    kept: dict[int, list[int]] = {}
    for number in range(120):
        start = START - 60_000 * rng.randrange(0, 20)
        full = len(kept) >= limit
        refused = start not in kept and full and start < min(kept)
        (outcome,) = rng.choice(writers).publish_batch(queue, [{"at": start, "p": number}])
        assert (getattr(outcome, "code", None) == "bucket_evicted") is refused
        if not refused:
            kept.setdefault(start, []).append(number)
            if len(kept) > limit:
                del kept[min(kept)]
    shown = writers[0].buckets(queue)
    assert {start: fields["p"]["sum"] for start, fields in shown.items()} == {
        start: sum(kept[start]) for start in sorted(kept)
    }


def test_the_model_itself() -> None:
    model = Model(300, ["p"], [{"at": -1, "p": 2}, {"at": -300_000, "p": Number("0.5")}, {"at": -300_001, "p": 1}])
    assert list(model.buckets()) == [-600_000, -300_000]
    assert model.buckets()[-300_000]["p"] == {
        "open": Fraction(1, 2),
        "high": 2,
        "low": Fraction(1, 2),
        "close": 2,
        "sum": Fraction(5, 2),
        "count": 2,
        "avg": Fraction(5, 4),
    }
    shown = model.buckets()
    assert same(shown, model.buckets())
    wrong = json.loads(json.dumps(list(shown))) == list(shown) and {**shown, -300_000: {"p": candle(())}}
    assert not same(wrong or {}, model.buckets())
