"""What points and ranges cost, by the ledger: one write for a point, one Query for each megabyte of a range."""

import functools
import math
from typing import Any

import pytest

from broker.queues.queue import Queue
from edge.clients import make_client
from tests.series_rig import Process, queue_of
from tests.worlds import START, ManualClock, World
from tools.capacity import item_size
from tools.ledger import Ledger

MINUTE = 60_000
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")
_client = functools.cache(make_client)


def process(world: World) -> Process:
    return Process(_client("dynamodb"), world.state_table, ManualClock())


def point(minute: float, value: int = 1, **members: Any) -> dict[str, Any]:
    return {"at": START - int(minute * MINUTE), "p": value, **members}


def calls(*names: str) -> dict[str, int]:
    return {f"dynamodb.{name}": names.count(name) for name in names}


def test_a_point_is_one_write(world: World, ledger: Ledger) -> None:
    queue = queue_of()
    actor = process(world)
    actor.publish(queue, point(0))
    # In order, late, a new high, a new low, the same again.
    for minute, value in ((0, 1), (0.5, 2), (0.2, 99), (0.9, -99), (0.9, -99)):
        with ledger.operation("point") as cost:
            actor.publish(queue, point(minute - 1, value))
        assert (cost.calls, cost.read_units) in [(calls("UpdateItem"), 0), (calls("PutItem"), 0)]
        assert cost.write_units == 1


def test_a_point_for_a_new_bucket_of_a_known_series_is_one_write(world: World, ledger: Ledger) -> None:
    queue = queue_of()
    actor = process(world)
    actor.publish(queue, point(1))
    with ledger.operation("point") as cost:
        actor.publish(queue, point(0))
    assert (cost.calls, cost.write_units) == (calls("PutItem"), 1)


@pytest.mark.parametrize("buckets", [1, 300])
def test_a_cold_process_writes_at_most_twice(world: World, ledger: Ledger, buckets: int) -> None:
    queue = queue_of()
    with ledger.operation("first") as first:
        process(world).publish(queue, point(0))
    assert (first.calls, first.write_units) == (calls("GetItem", "PutItem", "PutItem"), 2)
    for start in range(1, buckets, 100):
        process(world).publish_batch(queue, [point(minute) for minute in range(start, start + 100)])
    with ledger.operation("another bucket") as another:
        process(world).publish(queue, point(-1))
    assert (another.calls, another.write_units) == (calls("GetItem", "PutItem"), 1)
    with ledger.operation("a bucket of others") as known:
        process(world).publish(queue, point(-0.5, 5))
    assert known.calls == calls("GetItem", "PutItem", "UpdateItem")
    assert known.write_units == 2


def test_a_hundred_points_in_three_buckets_are_three_writes(world: World, ledger: Ledger) -> None:
    queue = queue_of()
    actor = process(world)
    points = [point(number % 3, number) for number in range(100)]
    actor.publish(queue, point(9))
    for expected in ("PutItem", "UpdateItem"):
        with ledger.operation("batch") as cost:
            actor.publish_batch(queue, points)
        assert (cost.calls, cost.write_units, cost.read_units) == (calls(*[expected] * 3), 3, 0)


def test_under_a_limit_a_known_bucket_is_one_write_and_a_new_one_one_transaction(world: World, ledger: Ledger) -> None:
    queue = queue_of(max_buckets=50)
    actor = process(world)
    for minute in range(59, 0, -1):
        actor.publish(queue, point(minute))
    with ledger.operation("known") as known:
        actor.publish(queue, point(1))
    assert (known.calls, known.write_units) == (calls("UpdateItem"), 1)
    with ledger.operation("new") as new:
        actor.publish(queue, point(0))
    assert new.calls == calls("GetItem", "GetItem", "Query", "TransactWriteItems")
    assert new.write_units == 6, "three items, each twice what it would be alone"
    assert new.read_units == 3


def test_a_point_under_an_idempotency_key_is_one_transaction(world: World, ledger: Ledger) -> None:
    queue = queue_of()
    actor = process(world)
    actor.publish(queue, point(0))
    with ledger.operation("keyed") as cost:
        actor.publish(queue, point(0), once="key")
    assert (cost.calls, cost.write_units) == (calls("TransactWriteItems"), 4)


def stored(world: World, queue: Queue, count: int) -> int:
    """Give a queue this many buckets, each a copy of one grown to 30 KB; returns their bytes."""
    process(world).publish(queue, point(0))
    (row,) = [row for row in world.rows(world.state_table) if row["pk"]["S"].startswith("buckets#")]
    last = int(row["sk"]["S"])
    weight = {"weight": {"S": "x" * 30_000}}
    copies = [{**row, **weight, "sk": {"S": f"{last - 60 * number:012d}"}} for number in range(count)]
    for start in range(0, count, 25):
        requests = [{"PutRequest": {"Item": copy}} for copy in copies[start : start + 25]]
        _client("dynamodb").batch_write_item(RequestItems={world.state_table: requests})
    return sum(item_size(copy) for copy in copies)


@pytest.mark.parametrize("fill_gaps", [False, True])
def test_a_range_is_one_query_for_each_megabyte(world: World, ledger: Ledger, fill_gaps: bool) -> None:
    queue = queue_of()
    count = 80
    size = stored(world, queue, count)
    assert 2_000_000 < size < 3_000_000
    bounds = (START - (count - 1) * MINUTE, START + MINUTE)
    actor = process(world)
    with ledger.operation("range") as cost:
        assert len(actor.buckets(queue, bounds=bounds, fill_gaps=fill_gaps)) == count
    assert cost.calls == {"dynamodb.Query": math.ceil(size / 1_000_000)}
    assert cost.read_units <= size / 4096 + 3
    with ledger.operation("part") as part:
        assert len(actor.buckets(queue, bounds=(START - 9 * MINUTE, START + MINUTE), fill_gaps=fill_gaps)) == 10
    assert part.calls == calls("Query")
    assert part.read_units <= 10 * size / count / 4096 + 1
