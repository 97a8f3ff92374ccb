"""lease_reap and message_expire: order, room and dead letters are restored; harmless whenever and however often."""

from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World

shapes = pytest.mark.parametrize("settings", [{}, {"visibility_key": "v"}], ids=["alone", "shared"])


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


@pytest.fixture
def queue(timed: Process, owner: Tenant) -> QueueClient:
    return QueueClient(timed, owner.key)


@shapes
def test_the_reaper_restores_the_old_place(queue: QueueClient, settings: dict[str, Any], clock: ManualClock) -> None:
    queue.create(**settings)
    queue.publish({"id": 1, "v": 1})
    queue.one()
    clock.advance(seconds=10)
    queue.publish({"id": 2, "v": 2})
    clock.advance(seconds=30)
    assert queue.process.run("lease_reap") == {"done": 1}
    assert queue.process.run("lease_reap") == {"done": 0}
    first, second = queue.one(), queue.one()
    assert [(one["payload"]["id"], one["delivery"]) for one in (first, second)] == [(1, 2), (2, 1)]
    assert queue.process.run("lease_reap") == {"done": 0}
    queue.ack(first)


@shapes
def test_a_reaped_lease_is_told_that_it_expired(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock
) -> None:
    queue.create(**settings)
    queue.publish({"id": 1, "v": 1})
    taken = queue.one()
    clock.advance(seconds=30)
    queue.process.run("lease_reap")
    for reply in (queue.try_ack(taken), queue.try_nack(taken), queue.try_extend(taken, seconds=5)):
        assert reply.problem == (410, "lease_expired")
    queue.ack(queue.one())
    assert queue.try_ack(taken).problem == (409, "lease_lost")


@shapes
@pytest.mark.parametrize("meanwhile", ["ack", "lease", "extend", "nack"])
def test_a_reaper_with_an_old_view_changes_nothing(
    queue: QueueClient, settings: dict[str, Any], meanwhile: str, clock: ManualClock, faults: ModuleType
) -> None:
    """B3: the reaper has read that the lease is over, by a clock ahead of the consumers'."""
    queue.create(primary_key="id", max_deliveries=2, **settings)
    queue.publish({"id": 1, "v": 1})
    taken = queue.one()
    if meanwhile == "lease":
        clock.advance(seconds=30)
    ahead = Process(clock=lambda: clock.now + 31_000)
    ahead.handler("lease_reap")
    results: list[Any] = []

    def interfere(call: Any, proceed: Any) -> Any:
        queue.process.activate()
        match meanwhile:
            case "ack":
                results.append(queue.try_ack(taken).status)
            case "lease":
                results.append(queue.one()["delivery"])
            case "extend":
                results.append(queue.try_extend(taken, seconds=3600).status)
            case "nack":
                results.append(queue.try_nack(taken, delay_seconds=600).status)
        ahead.activate()
        return proceed(call)

    writes = {"where": lambda call: call.operation in ("UpdateItem", "TransactWriteItems")}
    with faults.failing(faults.Fault("interfere", interfere), **writes):
        assert ahead.run("lease_reap") == {"done": 0}
    assert results == [2 if meanwhile == "lease" else 200]
    assert queue.consume() == []
    assert queue.try_publish({"id": 1, "v": 1}).status == (201 if meanwhile == "ack" else 409)
    assert queue.dead_letters() == []


def test_a_round_is_resumed_where_time_ran_out(queue: QueueClient, clock: ManualClock, owner: Tenant) -> None:
    queues = [QueueClient(queue.process, owner.key, f"q{number}").create() for number in range(5)]
    for one in queues:
        one.publish({"id": 1})
        one.one()
    clock.advance(seconds=30)
    looks = iter([100.0] * 2 + [0.0] * 3)
    with patch("broker.queues.rounds.remaining_seconds", lambda: next(looks)):
        assert queue.process.run("lease_reap") == {"done": 2}
    assert queue.process.run("lease_reap") == {"done": 3}
    assert queue.process.run("lease_reap") == {"done": 0}


def test_trouble_at_one_queue_does_not_hold_up_the_others_and_is_told(
    queue: QueueClient, clock: ManualClock, owner: Tenant, faults: ModuleType
) -> None:
    queues = [QueueClient(queue.process, owner.key, f"q{number}").create() for number in range(3)]
    for one in queues:
        one.publish({"id": 1})
        one.one()
    clock.advance(seconds=30)
    broken = queues[1].call("queue_read").json["queue_id"]
    where = {"where": lambda call: f"lanes#{broken}#0" in repr(call.document), "times": None}
    with faults.failing(faults.TIMEOUT, **where), pytest.raises(ExceptionGroup):
        queue.process.run("lease_reap")
    assert [one.one()["delivery"] for one in (queues[0], queues[2])] == [2, 2]
    assert queue.process.run("lease_reap") == {"done": 1}


@shapes
def test_expiry_removes_and_frees(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock, world: World
) -> None:
    queue.create(max_message_age_seconds=10, max_queue_depth=100, primary_key="id", **settings)
    for number in range(30):
        queue.publish({"id": number, "v": number % 3, "x": "x" * 5_000 * (number % 2)})
    clock.advance(seconds=9)
    queue.publish({"id": 100, "v": 0})
    clock.advance(seconds=1)
    assert queue.process.run("message_expire") == {"done": 30}
    assert queue.process.run("message_expire") == {"done": 0}
    assert world.objects() == []
    (depth,) = [row["count"]["N"] for row in world.rows(world.state_table) if row["sk"] == {"S": "depth"}]
    assert depth == "1"
    assert queue.one()["payload"]["id"] == 100


@shapes
def test_depth_returns_to_the_truth_wherever_publish_and_ack_die(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock, faults: ModuleType, world: World
) -> None:
    queue.create(max_queue_depth=50, primary_key="id", **settings)
    queue.publish({"id": -1, "v": -1})
    number = 0

    def work() -> None:
        queue.try_publish({"id": number, "v": number})
        for one in queue.consume(max_messages=10):
            queue.try_ack(one)

    def prepare() -> None:
        nonlocal number
        number += 1

    for _ in faults.crash_points(work, prepare=prepare):
        clock.advance(seconds=1)
    for _ in range(4):
        queue.process.run("message_expire")
        clock.advance(seconds=61)
    clock.advance(seconds=200)
    left = 0
    while queue.consume(max_messages=10):
        left = queue.stats()["depth"]
    (counted,) = [row["count"]["N"] for row in world.rows(world.state_table) if row["sk"] == {"S": "depth"}]
    assert int(counted) == left
