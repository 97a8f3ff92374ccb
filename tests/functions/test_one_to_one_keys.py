"""Keys of messages: what is the same, what is refused, and when a primary key is free again (cases C)."""

from types import ModuleType
from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock

VISIBLE: list[dict[str, Any]] = [{}, {"visibility_key": "v"}]
shapes = pytest.mark.parametrize("settings", VISIBLE, ids=["alone", "shared"])


@pytest.fixture
def queue(timed: Process, platform_key: str) -> QueueClient:
    owner: Tenant = timed.tenant(platform_key=platform_key)
    return QueueClient(timed, owner.key)


def statuses(queue: QueueClient, *payloads: Any) -> list[int]:
    return [queue.try_publish(payload).status for payload in payloads]


def test_joined_key_fields_do_not_collide(queue: QueueClient) -> None:
    """C1."""
    queue.create(primary_key=["a", "b"])
    pairs = [("1", "11"), ("11", "1"), ("", "x"), ("x", "")]
    for joint in ("|", "\u0000", ":", ",", "#", '"', "["):
        pairs += [(f"x{joint}y", "z"), ("x", f"y{joint}z")]
    assert statuses(queue, *({"a": a, "b": b} for a, b in pairs)) == [201] * len(pairs)
    assert statuses(queue, *({"b": b, "a": a} for a, b in pairs)) == [409] * len(pairs)


def test_key_values_are_the_same_by_type_and_exactly(queue: QueueClient) -> None:
    """C2."""
    queue.create(primary_key="id")
    texts = ["1", '"1"', "true", '"null"', "100", "0", "9007199254740993", "9007199254740992", "0.1"]
    same = ["1.0", "1e0", "1e2", "-0", "0.0", "0.10", "10e-2", "9007199254740993.0"]
    assert statuses(queue, *(f'{{"id":{text}}}' for text in texts)) == [201] * len(texts)
    assert statuses(queue, *(f'{{"id":{text}}}' for text in same)) == [409] * len(same)
    assert queue.try_publish({"id": None}).problem == (422, "key_field_invalid")


def test_a_key_is_the_same_after_a_redrive(queue: QueueClient) -> None:
    queue.create(primary_key="id")
    queue.publish('{"id":1.10}')
    queue.nack(queue.one(), dead_letter=True)
    assert queue.call("dlq_redrive", body={}).json["redriven"] == 1
    assert queue.try_publish('{"id":11e-1}').problem == (409, "duplicate_key")


@pytest.mark.parametrize("setting", ["primary_key", "visibility_key"])
def test_key_fields_that_are_no_values_are_refused(queue: QueueClient, setting: str) -> None:
    """C4."""
    queue.create(**{setting: "user.id"})
    refused = [
        {"user": [{"id": 1}]},
        {"user": "x"},
        {},
        {"user": {"id": None}},
        {"user": {"id": {"a": 1}}},
        {"user": {"id": [1]}},
    ]
    for payload in refused:
        reply = queue.try_publish(payload)
        assert (reply.problem, reply.json["field"]) == ((422, "key_field_invalid"), "user.id")
    assert statuses(queue, {"user": {"id": 1}}) == [201]


def test_a_member_named_like_a_path_wins(queue: QueueClient) -> None:
    """C4."""
    queue.create(primary_key="user.id")
    assert statuses(queue, {"user": {"id": 1}}, {"user.id": 1}, {"user.id": 2, "user": {"id": 1}}) == [201, 409, 201]


@shapes
def test_a_duplicate_says_what_holds_the_key(queue: QueueClient, settings: dict[str, Any], clock: ManualClock) -> None:
    """C5: 409 while it is ready, leased or delayed."""
    queue.create(primary_key="id", **settings)
    first = queue.publish({"id": 1, "v": 1})

    def held(status: str) -> None:
        reply = queue.try_publish({"id": 1, "v": 2})
        assert reply.problem == (409, "duplicate_key")
        assert (reply.json["message_id"], reply.json["message_status"]) == (first, status)

    held("ready")
    taken = queue.one()
    held("leased")
    queue.nack(taken, delay_seconds=10)
    held("delayed")
    clock.advance(seconds=10)
    held("ready")
    stale = queue.one()
    clock.advance(seconds=31)
    living = queue.one()
    assert queue.try_ack(stale).status == 409
    held("leased")
    queue.ack(living)
    queue.publish({"id": 1, "v": 1})


WAYS_OUT = ["ack", "auto_ack", "dead letter", "rejected", "expiry", "drop", "purge", "sweep"]


@shapes
@pytest.mark.parametrize("way", WAYS_OUT)
def test_a_key_is_free_after_every_way_out(
    queue: QueueClient, settings: dict[str, Any], way: str, clock: ManualClock
) -> None:
    """C5."""
    extras: dict[str, dict[str, Any]] = {
        "auto_ack": {"auto_ack": True},
        "dead letter": {"max_deliveries": 1},
        "expiry": {"max_message_age_seconds": 2},
        "sweep": {"max_message_age_seconds": 2, "expired_to_dead_letters": True},
        "drop": {"max_queue_depth": 1, "overflow_policy": "drop_oldest_append"},
    }
    queue.create(primary_key="id", **settings, **extras.get(way, {}))
    queue.publish({"id": 1, "v": 1})
    assert queue.try_publish({"id": 1, "v": 1}).status == 409
    match way:
        case "ack":
            queue.ack(queue.one())
        case "auto_ack":
            queue.one()
        case "dead letter":
            queue.nack(queue.one())
        case "rejected":
            queue.nack(queue.one(), dead_letter=True)
        case "expiry":
            clock.advance(seconds=2)
        case "sweep":
            clock.advance(seconds=3)
            queue.process.run("message_expire")
        case "drop":
            queue.publish({"id": 2, "v": 2})
        case "purge":
            assert queue.call("queue_purge").status == 202
    queue.publish({"id": 1, "v": 1})
    taken = queue.consume(max_messages=10)
    assert [one["payload"]["id"] for one in taken] == [1]


@shapes
def test_a_publish_that_died_half_way_leaves_a_stored_message_or_a_free_key(
    queue: QueueClient, settings: dict[str, Any], faults: ModuleType, clock: ManualClock
) -> None:
    """C5, at every call."""
    queue.create(primary_key="id", max_queue_depth=100, **settings)
    numbers = iter(range(1000))
    current = 0

    def prepare() -> None:
        nonlocal current
        current = next(numbers)

    for _ in faults.crash_points(lambda: queue.try_publish({"id": current, "v": 1}), prepare=prepare):
        clock.advance(seconds=120)
        again = queue.try_publish({"id": current, "v": 1})
        assert again.status in (201, 409)
        found = []
        for _ in range(3):
            if taken := queue.consume():
                found += [one["payload"]["id"] for one in taken]
                queue.ack(taken[0])
            clock.advance(seconds=2)
        assert found == [current]
    queue.publish({"id": 0, "v": 1})


@shapes
def test_the_first_of_equal_messages_in_a_batch_is_stored(queue: QueueClient, settings: dict[str, Any]) -> None:
    queue.create(primary_key="id", **settings)
    answer = queue.publish_many({"id": 1, "v": 1}, {"v": 1}, {"id": 1, "v": 2}, {"id": 2, "v": 2})
    assert answer["accepted"] == 2
    first, invalid, duplicate, second = answer["results"]
    assert (first["status"], second["status"]) == (201, 201)
    assert (invalid["status"], invalid["code"], invalid["field"]) == (422, "key_field_invalid", "id")
    assert (duplicate["status"], duplicate["code"]) == (409, "duplicate_key")
    assert duplicate["message_id"] == first["message_id"]


@shapes
def test_a_key_that_is_no_text_is_told_as_such(queue: QueueClient, settings: dict[str, Any]) -> None:
    queue.create(primary_key=["k"], **settings)
    refused = queue.try_publish('{"k": "\\ud800", "v": 1}')
    assert (refused.problem, refused.json["field"]) == ((422, "key_field_invalid"), "k")
    assert "surrogate" in refused.json["detail"]
    assert "absent" in queue.try_publish('{"v": 1}').json["detail"]
