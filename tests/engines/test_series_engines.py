"""Time series on every engine: the same digits, the same comparisons, and points that truly arrive at once."""

import random
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

from broker.jsontext import Number
from edge.clients import make_client
from tests.series_rig import Model, Process, queue_of, same
from tests.worlds import START, Engine, Engines, ManualClock
from tools.ledger import Ledger

MINUTE = 60_000


@pytest.fixture(params=["moto", "ministack", "dynalite"])
def any_engine(request: pytest.FixtureRequest, engines: Engines) -> Engine:
    return engines(request.param)


def process(engine: Engine) -> Process:
    with pytest.MonkeyPatch.context() as patch:
        if engine.endpoint_url is not None:
            patch.setenv("AWS_ENDPOINT_URL", engine.endpoint_url)
        client = make_client("dynamodb")
    return Process(client, engine.state_table, ManualClock())


NINES = 10**38 - 1
EXTREMES = [
    *[Number("9.9999999999999999999999999999999999999e125"), Number("-9.9999999999999999999999999999999999999e125")],
    *[Number("1e-125"), Number("-1.0000000000000000000000000000000000001e-125"), NINES, -NINES, NINES - 1, 0],
    *[Number("0.1"), Number("0.10000000000000000000000000000000000001"), Number("1e30"), 10**30 + 1],
]


def test_digits_and_comparisons_are_exact(any_engine: Engine) -> None:
    rng = random.Random(7)
    fields = [f"f{index}" for index in range(20)]
    queue = queue_of(aggregation_fields=fields)
    model = Model(60, fields)
    writers = [process(any_engine) for _ in range(2)]
    for _ in range(40):
        point = {"at": START + rng.randrange(-2, 2) * 1000, **{name: rng.choice(EXTREMES) for name in fields}}
        rng.choice(writers).publish(queue, point)
        model.points.append(point)
    for _ in range(4):
        batch = [
            {"at": START + rng.randrange(-90, 90) * 1000, rng.choice(fields): rng.choice(EXTREMES)} for _ in range(50)
        ]
        assert not [one for one in rng.choice(writers).publish_batch(queue, batch) if isinstance(one, Exception)]
        model.points += batch
    assert same(writers[0].buckets(queue), model.buckets())


def test_ten_thousand_times_the_greatest_number_is_exact(engine: Engine) -> None:
    """An engine that rounded at 28 digits, or at 38, would show it here."""
    queue = queue_of()
    actor = process(engine)
    for _ in range(100):
        actor.publish_batch(queue, [{"at": START, "p": NINES}] * 100)
    (fields,) = actor.buckets(queue).values()
    assert (fields["p"]["sum"], fields["p"]["count"], fields["p"]["avg"]) == (NINES * 10_000, 10_000, NINES)


@pytest.mark.parametrize("order", ["shuffled", "rising", "falling"])
def test_a_hundred_points_at_once_are_all_counted(engine: Engine, ledger: Ledger, order: str) -> None:
    """Case G7: at less than three writes for each."""
    queue = queue_of(aggregation_fields=["p", "v"])
    writers = [process(engine) for _ in range(4)]
    values = list(range(1, 101))
    if order == "shuffled":
        random.Random(1).shuffle(values)
    elif order == "falling":
        values.reverse()

    def publish(number: int) -> None:
        writers[number % 4].publish(queue, {"at": START + number, "p": values[number]})

    with ledger.operation("points") as cost, ThreadPoolExecutor(16) as pool:
        list(pool.map(publish, range(100)))
    (fields,) = writers[0].buckets(queue).values()
    assert fields["p"] == {
        "open": values[0],
        "high": 100,
        "low": 1,
        "close": values[-1],
        "sum": 5050,
        "count": 100,
        "avg": Fraction(101, 2),
    }
    assert fields["v"]["count"] == 0
    writes = sum(cost.calls.get(f"dynamodb.{name}", 0) for name in ("PutItem", "UpdateItem"))
    assert 100 <= writes < 300


@pytest.mark.parametrize("limit", [None, 4])
def test_new_buckets_made_at_once_are_all_there_and_no_more_than_allowed(engine: Engine, limit: int | None) -> None:
    queue = queue_of(max_buckets=limit)
    writers = [process(engine) for _ in range(4)]

    def publish(number: int) -> Any:
        (outcome,) = writers[number % 4].publish_batch(queue, [{"at": START - number % 12 * MINUTE, "p": 1}])
        return outcome

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(publish, range(48)))
    refused = [outcome.code for outcome in outcomes if isinstance(outcome, Exception)]  # type: ignore[attr-defined] # a BrokerError
    assert set(refused) <= {"bucket_evicted"}
    shown = writers[0].buckets(queue)
    newest = [START - number * MINUTE for number in reversed(range(limit or 12))]
    assert list(shown) == newest
    if limit is None:
        assert {int(fields["p"]["count"]) for fields in shown.values()} == {4}


def test_keyed_points_at_once_are_counted_once(engine: Engine) -> None:
    queue = queue_of()
    writers = [process(engine) for _ in range(4)]

    def publish(number: int) -> None:
        writers[number % 4].publish(queue, {"at": START, "p": number % 6}, once=f"key {number % 6}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(publish, range(24)))
    (fields,) = writers[0].buckets(queue).values()
    assert (fields["p"]["count"], fields["p"]["sum"]) == (6, 15)
