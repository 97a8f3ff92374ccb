"""Depth, overflow and age (cases D and J4)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World

VISIBLE: list[dict[str, Any]] = [{}, {"visibility_key": "v"}]
shapes = pytest.mark.parametrize("settings", VISIBLE, ids=["alone", "shared"])


@pytest.fixture
def queue(timed: Process, platform_key: str) -> QueueClient:
    owner: Tenant = timed.tenant(platform_key=platform_key)
    return QueueClient(timed, owner.key)


def drain(queue: QueueClient) -> list[int]:
    """The ids of all that is due, in order of delivery; all is acked."""
    found = []
    while taken := queue.consume(max_messages=10):
        for one in taken:
            found.append(one["payload"]["id"])
            queue.ack(one)
    return found


@shapes
def test_a_full_queue_refuses(queue: QueueClient, settings: dict[str, Any]) -> None:
    queue.create(max_queue_depth=2, primary_key="id", **settings)
    for number in (1, 2):
        queue.publish({"id": number, "v": number})
    assert queue.try_publish({"id": 3, "v": 3}).problem == (409, "queue_full")
    assert queue.try_publish({"id": 2, "v": 2}).problem == (409, "duplicate_key")
    taken = queue.one()
    assert queue.try_publish({"id": 3, "v": 3}).problem == (409, "queue_full")
    queue.nack(taken, delay_seconds=100)
    assert queue.try_publish({"id": 3, "v": 3}).problem == (409, "queue_full")
    queue.ack(queue.one())
    queue.publish({"id": 3, "v": 3})
    assert queue.try_publish({"id": 4, "v": 4}).problem == (409, "queue_full")


@shapes
def test_parallel_publishers_at_the_limit(queue: QueueClient, settings: dict[str, Any]) -> None:
    """D3: as many as there is room for, every round, and those are the ones that are found."""
    queue.create(max_queue_depth=10, primary_key="id", **settings)
    queue.stats()
    with ThreadPoolExecutor(10) as threads:
        for round_number in range(3):
            numbers = [round_number * 100 + number for number in range(30)]
            replies = list(threads.map(lambda n: queue.try_publish({"id": n, "v": n % 7}), numbers))
            stored = [number for number, reply in zip(numbers, replies, strict=True) if reply.status == 201]
            assert len(stored) == 10
            assert {reply.code for reply in replies if reply.status != 201} == {"queue_full"}
            assert sorted(drain(queue)) == sorted(stored)


@shapes
def test_a_batch_gets_the_room_there_is_in_its_order(queue: QueueClient, settings: dict[str, Any]) -> None:
    queue.create(max_queue_depth=4, primary_key="id", **settings)
    queue.publish({"id": 0, "v": 0})
    answer = queue.publish_many(*({"id": number, "v": number} for number in (0, 1, 2, 3, 4, 5)))
    assert [one.get("code", one["status"]) for one in answer["results"]] == [
        "duplicate_key",
        201,
        201,
        201,
        "queue_full",
        "queue_full",
    ]
    assert sorted(drain(queue)) == [0, 1, 2, 3]
    assert queue.publish_many(*({"id": number, "v": number} for number in range(4)))["accepted"] == 4


@shapes
def test_the_oldest_idle_message_makes_room(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock, world: World
) -> None:
    queue.create(max_queue_depth=3, overflow_policy="drop_oldest_append", primary_key="id", **settings)
    for number in range(3):
        queue.publish({"id": number, "v": number, "x": "x" * 70_000})
        clock.advance(milliseconds=1)
    held = queue.one()
    for number in (3, 4):
        queue.publish({"id": number, "v": number})
        clock.advance(milliseconds=1)
    assert queue.stats()["depth"] == 3
    queue.ack(held)
    assert drain(queue) == [3, 4]
    assert world.objects() == []


@shapes
def test_a_delayed_message_is_idle_too(queue: QueueClient, settings: dict[str, Any], clock: ManualClock) -> None:
    queue.create(max_queue_depth=2, overflow_policy="drop_oldest_append", **settings)
    for number in range(2):
        queue.publish({"id": number, "v": number})
        clock.advance(milliseconds=1)
    queue.nack(queue.one(), delay_seconds=1)
    queue.publish({"id": 2, "v": 2})
    clock.advance(seconds=2)
    assert drain(queue) == [1, 2]


@shapes
def test_what_is_in_flight_is_never_dropped(queue: QueueClient, settings: dict[str, Any]) -> None:
    queue.create(max_queue_depth=2, overflow_policy="drop_oldest_append", **settings)
    for number in range(2):
        queue.publish({"id": number, "v": number})
    held = queue.consume(max_messages=2)
    assert queue.try_publish({"id": 2, "v": 2}).problem == (409, "queue_full")
    for one in held:
        queue.ack(one)
    queue.publish({"id": 2, "v": 2})


def test_when_every_key_is_in_flight_the_oldest_behind_one_goes(queue: QueueClient, clock: ManualClock) -> None:
    queue.create(max_queue_depth=5, overflow_policy="drop_oldest_append", visibility_key="v", primary_key="id")
    for number, key in enumerate("aabba"):
        queue.publish({"id": number, "v": key})
        clock.advance(milliseconds=1)
    held = queue.consume(max_messages=2)
    assert [one["payload"]["id"] for one in held] == [0, 2]
    queue.publish({"id": 5, "v": "a"})
    queue.publish({"id": 6, "v": "b"})
    for one in held:
        queue.ack(one)
    assert sorted(drain(queue)) == [4, 5, 6]
    queue.publish({"id": 1, "v": "a"})
    assert drain(queue) == [1]


@shapes
def test_a_refused_publish_evicts_nothing(queue: QueueClient, settings: dict[str, Any]) -> None:
    """D4."""
    queue.create(max_queue_depth=2, overflow_policy="drop_oldest_append", primary_key="id", **settings)
    for number in (1, 2):
        queue.publish({"id": number, "v": number})
    assert queue.try_publish({"id": 2, "v": 9}).problem == (409, "duplicate_key")
    assert queue.try_publish({"v": 9}).problem == (422, "key_field_invalid")
    assert queue.try_publish("[]").problem == (400, "malformed_json")
    assert sorted(drain(queue)) == [1, 2]


@shapes
def test_parallel_publishers_that_drop_keep_the_limit(queue: QueueClient, settings: dict[str, Any]) -> None:
    queue.create(max_queue_depth=5, overflow_policy="drop_oldest_append", **settings)
    with ThreadPoolExecutor(6) as threads:
        replies = list(threads.map(lambda n: queue.try_publish({"id": n, "v": n % 3}), range(30)))
    assert {reply.status for reply in replies} <= {201, 409}
    found = drain(queue)
    assert len(found) == len(set(found)) == 5


def test_a_limit_set_later_counts_what_is_there(queue: QueueClient) -> None:
    queue.create()
    queue.publish_many(*({"id": number} for number in range(3)))
    queue.call("queue_update", body={"settings": {"max_queue_depth": 4}})
    queue.publish({"id": 3})
    assert queue.try_publish({"id": 4}).problem == (409, "queue_full")
    queue.call("queue_update", body={"settings": {"max_queue_depth": None}})
    queue.publish({"id": 4})
    queue.ack(queue.one())
    queue.call("queue_update", body={"settings": {"max_queue_depth": 5}})
    queue.publish({"id": 5})
    assert queue.try_publish({"id": 6}).problem == (409, "queue_full")
    assert sorted(drain(queue)) == [1, 2, 3, 4, 5]


@shapes
def test_a_lowered_limit_drops_the_oldest_that_are_idle(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock
) -> None:
    queue.create(**settings, max_queue_depth=40, overflow_policy="drop_oldest_append")
    for number in range(38):
        queue.publish({"id": number, "v": number % 30})
        clock.advance(milliseconds=1)
    held = queue.one()
    queue.call("queue_update", body={"settings": {"max_queue_depth": 5}})
    clock.advance(seconds=6)
    queue.process.run("message_expire")
    assert (queue.stats()["depth"], queue.stats()["in_flight"]) == (5, 1)
    queue.process.run("message_expire")
    queue.publish({"id": 38, "v": 38})
    assert queue.stats()["depth"] == 5
    queue.ack(held)
    assert sorted(drain(queue)) == [35, 36, 37, 38]


@shapes
def test_a_lowered_limit_of_a_queue_that_refuses_drops_nothing(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock
) -> None:
    queue.create(**settings, max_queue_depth=9)
    queue.publish_many(*({"id": number, "v": number} for number in range(9)))
    queue.call("queue_update", body={"settings": {"max_queue_depth": 3}})
    clock.advance(seconds=6)
    queue.process.run("message_expire")
    assert sorted(drain(queue)) == list(range(9))


# J4: expired is absent, whatever a sweeper has done


@shapes
@pytest.mark.parametrize("dead", [False, True])
def test_expired_messages_are_absent_everywhere_at_once(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock, *, dead: bool
) -> None:
    queue.create(
        max_message_age_seconds=2, max_queue_depth=2, primary_key="id", expired_to_dead_letters=dead, **settings
    )
    queue.publish({"id": 1, "v": "a", "x": "x" * 5000})
    queue.publish({"id": 2, "v": "a"})
    clock.advance(milliseconds=1_999)
    assert queue.try_publish({"id": 1, "v": "a"}).problem == (409, "duplicate_key")
    clock.advance(milliseconds=1)
    assert queue.stats()["depth"] == 0
    assert queue.stats()["oldest_message_age_seconds"] is None
    queue.publish({"id": 1, "v": "a"})
    queue.publish({"id": 3, "v": "a"})
    assert drain(queue) == [1, 3]
    queue.process.run("message_expire")
    letters = [(letter["payload"]["id"], letter["reason"]) for letter in queue.dead_letters()]
    assert sorted(letters) == ([(1, "expired"), (2, "expired")] if dead else [])
    for number in (1, 2):
        queue.publish({"id": number, "v": "a"})
    assert queue.try_publish({"id": 3, "v": "a"}).problem == (409, "queue_full")


@shapes
def test_an_expired_head_does_not_block_its_group(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock
) -> None:
    queue.create(max_message_age_seconds=10, **settings)
    for number in range(30):
        queue.publish({"id": number, "v": "a"})
    clock.advance(seconds=9)
    queue.publish({"id": 30, "v": "a"})
    clock.advance(seconds=1)
    assert drain(queue) == [30]
    assert queue.stats()["depth"] == 0


@shapes
def test_a_message_in_flight_expires_when_its_lease_ends(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock
) -> None:
    queue.create(max_message_age_seconds=2, expired_to_dead_letters=True, **settings)
    queue.publish({"id": 1, "v": "a"})
    queue.publish({"id": 2, "v": "b"})
    first, second = queue.consume(max_messages=2)
    clock.advance(seconds=3)
    queue.ack(first)
    queue.nack(second)
    assert queue.consume() == []
    assert [letter["reason"] for letter in queue.dead_letters()] == ["expired"]


@shapes
def test_a_delay_does_not_outlast_the_age(queue: QueueClient, settings: dict[str, Any], clock: ManualClock) -> None:
    queue.create(max_message_age_seconds=60, expired_to_dead_letters=True, **settings)
    queue.publish({"id": 1, "v": "a"})
    queue.nack(queue.one(), delay_seconds=3600)
    clock.advance(seconds=61)
    assert queue.process.run("lease_reap") == {"done": 1}
    assert [letter["reason"] for letter in queue.dead_letters()] == ["expired"]
    assert queue.stats()["depth"] == 0


@shapes
def test_in_a_batch_for_which_there_is_no_room_what_is_there_already_is_told_so(
    queue: QueueClient, settings: dict[str, Any]
) -> None:
    queue.create(max_queue_depth=2, primary_key="id", **settings)
    queue.publish_many({"id": 1, "v": 1}, {"id": 2, "v": 2})
    answer = queue.publish_many(*({"id": number, "v": number} for number in (3, 1, 2, 4)))
    codes = [result["code"] for result in answer["results"]]
    assert codes == ["queue_full", "duplicate_key", "duplicate_key", "queue_full"]
