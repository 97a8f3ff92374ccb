"""one_to_one: publish, consume, ack, nack, extend, settle, over the functions."""

from types import ModuleType
from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World

SHAPES: dict[str, dict[str, Any]] = {
    "alone": {},
    "alone, key and limit": {"primary_key": "id", "max_queue_depth": 1000, "partitions": 2},
    "shared": {"visibility_key": "group", "partitions": 2},
    "shared, key and limit": {"visibility_key": "group", "primary_key": "id", "max_queue_depth": 1000},
}


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


@pytest.fixture
def queue(timed: Process, owner: Tenant) -> QueueClient:
    return QueueClient(timed, owner.key)


@pytest.fixture(params=SHAPES)
def any_queue(request: pytest.FixtureRequest, queue: QueueClient) -> QueueClient:
    return queue.create(**SHAPES[request.param])


def message(number: int, group: str = "g", **more: Any) -> dict[str, Any]:
    return {"id": number, "group": group, **more}


def ids(messages: list[Any]) -> list[int]:
    return [one["payload"]["id"] for one in messages]


def test_a_message_is_delivered_as_it_was_published_and_gone_once_acked(
    any_queue: QueueClient, world: World, clock: ManualClock
) -> None:
    reply = any_queue.try_publish('{"id":1,"group":"g","sum":10.50,"big":9007199254740993,"nested":{"b":[1,2e0]}}')
    assert reply.status == 201
    assert (reply.json["status"], reply.json["published_at"]) == ("queued", "2026-11-30T10:00:00.000Z")
    clock.advance(seconds=1)
    raw = any_queue.try_consume()
    assert (
        '"payload":{"id":1,"group":"g","sum":10.50,"big":9007199254740993,"nested":{"b":[1,2e0]}}' in raw.body.decode()
    )
    delivered = raw.json["messages"][0]
    assert delivered["message_id"] == reply.json["message_id"]
    assert delivered["delivery"] == 1
    assert delivered["published_at"] == "2026-11-30T10:00:00.000Z"
    assert delivered["lease_expires_at"] == "2026-11-30T10:00:31.000Z"
    assert any_queue.consume() == []
    any_queue.ack(delivered)
    clock.advance(seconds=100)
    assert any_queue.consume() == []
    assert leftovers(world) == []


def test_a_visibility_key_is_delivered_with_the_message(queue: QueueClient) -> None:
    queue.create(visibility_key=["a.b", "c"])
    queue.publish({"a": {"b": "x"}, "c": 2})
    assert queue.one()["visibility_key"] == ["x", 2]
    single = QueueClient(queue.process, queue.key, "single").create(visibility_key="c")
    single.publish({"c": True})
    assert single.one()["visibility_key"] is True


@pytest.mark.parametrize("size", [3_000, 5_000, 70_000, 900_000])
@pytest.mark.parametrize("settings", [{}, {"visibility_key": "group"}])
def test_payloads_of_every_size_come_back_and_leave_no_object(
    queue: QueueClient, world: World, size: int, settings: dict[str, Any]
) -> None:
    queue.create(**settings)
    queue.publish(message(1, text="x" * size))
    taken = queue.one()
    assert len(taken["payload"]["text"]) == size
    queue.nack(taken)
    taken = queue.one()
    queue.ack(taken)
    assert (world.objects(), leftovers(world)) == ([], [])


@pytest.mark.parametrize("kind", ["one_to_one", "one_to_many"])
def test_long_messages_are_delivered_as_far_as_an_answer_holds_them(
    process: Process, tenant: Tenant, kind: str
) -> None:
    queue = QueueClient(process, tenant.key).create(kind)
    text = "x" * (1024 * 1024 - 20)
    for n in range(6):
        queue.publish({"n": n, "x": text})
    seen: list[int] = []
    while messages := queue.consume(max_messages=10):
        assert len(messages) <= 4
        seen += [message["payload"]["n"] for message in messages]
        for message in messages:
            queue.ack(message)
    assert seen == list(range(6))


def test_short_messages_come_as_many_as_are_asked_for(queue: QueueClient) -> None:
    queue.create()
    queue.publish_many(*({"n": n} for n in range(12)))
    assert len(queue.consume(max_messages=10)) == 10


def test_a_batch_is_delivered_in_its_order(queue: QueueClient) -> None:
    queue.create()
    for first in range(0, 60, 20):
        queue.publish_many(*({"n": n} for n in range(first, first + 20)))
    seen: list[int] = []
    while messages := queue.consume(max_messages=10):
        seen += [message["payload"]["n"] for message in messages]
    assert seen == list(range(60))


def test_too_many_entries_are_told_as_such(queue: QueueClient) -> None:
    queue.create()
    ack = {"message_id": "m", "lease_id": "l"}
    assert queue.call("queue_settle", body={"acks": [ack] * 101}).problem == (413, "too_many_entries")
    assert queue.call("dlq_redrive", body={"entry_ids": ["e"] * 101}).problem == (413, "too_many_entries")


def test_a_batch_has_no_version(queue: QueueClient) -> None:
    queue.create()
    reply = queue.call("message_publish_batch", body={"messages": [{"n": 1}]}, headers={"If-Match": '"1"'})
    assert reply.problem == (400, "validation_failed")
    assert queue.consume() == []


def test_a_repeat_with_another_if_match_is_another_request(queue: QueueClient) -> None:
    queue.create("key_value", primary_key="k", on_duplicate="replace")
    key = {"Idempotency-Key": "once"}
    first = queue.try_publish({"k": 1}, headers=key)
    assert first.status == 201
    assert queue.try_publish({"k": 1}, headers=key).body == first.body
    other = queue.try_publish({"k": 1}, headers={**key, "If-Match": '"1"'})
    assert other.problem == (422, "idempotency_mismatch")


def test_across_keys_the_oldest_comes_first(queue: QueueClient, clock: ManualClock) -> None:
    queue.create(visibility_key="group")
    for number, group in enumerate("aabbca"):
        queue.publish(message(number, group))
        clock.advance(milliseconds=1)
    order = []
    while taken := queue.consume(max_messages=1):
        order += ids(taken)
        queue.ack(taken[0])
    assert order == [0, 1, 2, 3, 4, 5]


def test_a_batch_takes_one_of_each_key(queue: QueueClient) -> None:
    queue.create(visibility_key="group")
    queue.publish_many(*(message(number, "abc"[number % 3]) for number in range(9)))
    first = queue.consume(max_messages=10)
    assert sorted(ids(first)) == [0, 1, 2]
    assert queue.consume(max_messages=10) == []
    for taken in first:
        queue.ack(taken)
    assert sorted(ids(queue.consume(max_messages=10))) == [3, 4, 5]


def test_without_a_key_all_may_be_in_flight_together(queue: QueueClient) -> None:
    queue.create()
    queue.publish_many(*(message(number) for number in range(25)))
    taken = [one for _ in range(3) for one in ids(queue.consume(max_messages=10))]
    assert sorted(taken) == list(range(25))


def test_a_named_visibility_key_is_the_only_one_asked(queue: QueueClient) -> None:
    queue.create(visibility_key="group")
    queue.publish_many(message(1, "a"), message(2, "b"), {"id": 3, "group": 7})
    assert ids(queue.consume(visibility_key_value="b", max_messages=10)) == [2]
    assert queue.consume(visibility_key_value="b") == []
    assert queue.consume(visibility_key_value="7") == []
    assert ids(queue.consume(visibility_key_value=7.0)) == [3]
    assert queue.consume(visibility_key_value="nobody") == []
    assert queue.try_consume(visibility_key_value={"a": 1}).problem == (422, "key_field_invalid")
    assert queue.try_consume(visibility_key_value=["b"]).problem == (422, "key_field_invalid")


def test_a_composite_visibility_key_is_named_by_its_values(queue: QueueClient) -> None:
    queue.create(visibility_key=["a", "b"])
    queue.publish({"a": "x", "b": 1})
    assert queue.try_consume(visibility_key_value="x").problem == (422, "key_field_invalid")
    assert queue.consume(visibility_key_value=["x", 2]) == []
    assert len(queue.consume(visibility_key_value=["x", 1])) == 1


def test_a_key_can_only_be_named_where_there_is_one(queue: QueueClient) -> None:
    queue.create()
    assert queue.try_consume(visibility_key_value="a").problem == (400, "validation_failed")


@pytest.mark.parametrize(
    "body",
    [
        {"max_messages": 0},
        {"max_messages": 11},
        {"wait_seconds": -1},
        {"wait_seconds": 21},
        {"max_messages": "1"},
        {"max": 1},
        {"client_id": "somebody"},
    ],
    ids=repr,
)
def test_what_cannot_be_asked_for_is_refused(queue: QueueClient, body: dict[str, Any]) -> None:
    assert queue.create().try_consume(**body).problem == (400, "validation_failed")


def test_a_payload_is_an_object(queue: QueueClient) -> None:
    queue.create()
    payloads: list[Any] = [[], '"text"', 1, None]
    for payload in payloads:
        assert queue.try_publish(payload).problem == (400, "malformed_json")
    assert queue.try_publish("").problem == (400, "malformed_json")
    assert queue.try_publish('{"a":NaN}').problem == (400, "malformed_json")
    assert queue.try_publish({"a": "x" * (1024 * 1024)}).problem == (413, "payload_too_large")
    assert queue.try_publish('{"a":' * 65 + "1" + "}" * 65).problem == (400, "payload_too_deep")
    assert queue.try_publish({"a": 1}, headers={"if-match": '"1"'}).problem == (400, "validation_failed")
    assert queue.consume() == []


# Leases (B1, and what each call answers to each state of one)


def test_a_lease_that_has_run_out_makes_the_message_due_at_once(any_queue: QueueClient, clock: ManualClock) -> None:
    any_queue.publish(message(1))
    first = any_queue.one()
    clock.advance(milliseconds=29_999)
    assert any_queue.consume() == []
    clock.advance(milliseconds=1)
    for reply in (any_queue.try_ack(first), any_queue.try_nack(first), any_queue.try_extend(first, seconds=9)):
        assert reply.problem == (410, "lease_expired")
    second = any_queue.one()
    assert (second["message_id"], second["delivery"]) == (first["message_id"], 2)
    assert second["lease_id"] != first["lease_id"]
    for reply in (any_queue.try_ack(first), any_queue.try_nack(first), any_queue.try_extend(first, seconds=9)):
        assert reply.problem == (409, "lease_lost")
    assert any_queue.consume() == []
    any_queue.ack(second)
    for _ in range(2):
        assert any_queue.try_ack(first).problem == any_queue.try_nack(first).problem == (409, "lease_lost")
        any_queue.ack(second)


def test_the_same_ack_again_is_fine_and_a_nack_after_it_is_not(any_queue: QueueClient, clock: ManualClock) -> None:
    any_queue.publish(message(1))
    taken = any_queue.one()
    for _ in range(3):
        any_queue.ack(taken)
        clock.advance(seconds=20)
    assert any_queue.try_nack(taken).problem == (409, "lease_lost")
    assert any_queue.try_extend(taken, seconds=5).problem == (409, "lease_lost")


def test_the_same_nack_again_is_fine_and_an_ack_after_it_is_not(any_queue: QueueClient) -> None:
    any_queue.publish(message(1))
    taken = any_queue.one()
    for _ in range(2):
        any_queue.nack(taken, delay_seconds=10)
    assert any_queue.try_ack(taken).problem == (409, "lease_lost")
    assert any_queue.try_extend(taken, seconds=5).problem == (409, "lease_lost")
    assert any_queue.consume() == []


def test_a_nack_that_sets_aside_may_be_repeated_too(any_queue: QueueClient) -> None:
    any_queue.publish(message(1))
    taken = any_queue.one()
    for _ in range(2):
        any_queue.nack(taken, dead_letter=True, reason="no good")
    assert any_queue.try_ack(taken).problem == (409, "lease_lost")
    (letter,) = any_queue.dead_letters()
    assert (letter["entry_id"], letter["reason"], letter["detail"]) == (taken["message_id"], "rejected", "no good")


def test_a_nack_of_another_kind_is_no_repeat(any_queue: QueueClient) -> None:
    any_queue.publish(message(1))
    taken = any_queue.one()
    any_queue.nack(taken)
    assert any_queue.try_nack(taken, dead_letter=True).problem == (409, "lease_lost")
    assert any_queue.dead_letters() == []
    again = any_queue.one()
    any_queue.nack(again, dead_letter=True)
    assert any_queue.try_nack(again).problem == (409, "lease_lost")


def test_nacked_messages_keep_their_place_and_delayed_ones_their_key_closed(
    queue: QueueClient, clock: ManualClock
) -> None:
    queue.create(visibility_key="group", retry_delay_seconds=5)
    queue.publish_many(message(1, "a"), message(2, "a"), message(3, "b"))
    queue.nack(queue.one(), delay_seconds=0)
    first = queue.one()
    assert first["payload"]["id"] == 1
    queue.nack(first)
    assert ids(queue.consume(max_messages=10)) == [3]
    clock.advance(milliseconds=4_999)
    assert queue.consume() == []
    clock.advance(milliseconds=1)
    assert ids(queue.consume()) == [1]


def test_extend_counts_from_now_and_may_shorten(any_queue: QueueClient, clock: ManualClock) -> None:
    any_queue.publish(message(1))
    taken = any_queue.one()
    clock.advance(seconds=10)
    assert any_queue.try_extend(taken, seconds=60).json == {"lease_expires_at": "2026-11-30T10:01:10.000Z"}
    clock.advance(milliseconds=59_999)
    assert any_queue.consume() == []
    assert any_queue.try_extend(taken, seconds=1).json == {"lease_expires_at": "2026-11-30T10:01:10.999Z"}
    clock.advance(seconds=1)
    assert any_queue.one()["delivery"] == 2
    for seconds in (0, 43_201):
        assert any_queue.try_extend(taken, seconds=seconds).problem == (400, "validation_failed")


def test_a_lease_is_good_for_its_message_and_queue_only(
    queue: QueueClient, timed: Process, platform_key: str, clock: ManualClock
) -> None:
    """K2: foreign leases are unknown, and nothing changes."""
    queue.create()
    queue.publish_many(message(1), message(2))
    one, two = queue.consume(max_messages=2)
    stranger = timed.tenant("stranger", platform_key=platform_key)
    theirs = QueueClient(timed, stranger.key).create()
    other = QueueClient(timed, queue.key, "other").create()
    swapped = {**one, "lease_id": two["lease_id"]}
    altered = {**one, "lease_id": one["lease_id"][:-2] + ("AA" if one["lease_id"][-2:] != "AA" else "BB")}
    unknown = {**one, "message_id": "01KB9ZA8QW2E4R6T8Y0ZXCVBNM"}
    for client, lease in ((queue, swapped), (queue, altered), (queue, unknown), (theirs, one), (other, one)):
        replies = client.try_ack(lease), client.try_nack(lease), client.try_extend(lease, seconds=5)
        assert {reply.problem for reply in replies} == {(404, "not_found")}
    clock.advance(seconds=1)
    queue.ack(one)
    queue.ack(two)


def test_settle_answers_each_entry_acks_first(any_queue: QueueClient) -> None:
    for number in range(3):
        any_queue.publish(message(number, group=str(number)))
    one, two, three = any_queue.consume(max_messages=10)
    acks = [lease(one), {**lease(two), "lease_id": "foreign"}, lease(one)]
    nacks = [{**lease(three), "delay_seconds": 5}, lease(one)]
    reply = any_queue.call("queue_settle", body={"acks": acks, "nacks": nacks})
    assert reply.json["results"] == [
        {"message_id": one["message_id"], "status": 200},
        {"message_id": two["message_id"], "status": 404, "code": "not_found"},
        {"message_id": one["message_id"], "status": 200},
        {"message_id": three["message_id"], "status": 200},
        {"message_id": one["message_id"], "status": 409, "code": "lease_lost"},
    ]
    assert any_queue.call("queue_settle", body={"acks": [lease(one)] * 101}).problem == (413, "too_many_entries")


def test_auto_ack_delivers_once_without_a_lease(queue: QueueClient, world: World) -> None:
    for name, settings in (("a", {}), ("s", {"visibility_key": "group", "primary_key": "id"})):
        client = QueueClient(queue.process, queue.key, name).create(auto_ack=True, **settings)
        client.publish(message(1, text="x" * 100_000))
        taken = client.one()
        assert "lease_id" not in taken
        assert "lease_expires_at" not in taken
        assert (taken["delivery"], len(taken["payload"]["text"])) == (1, 100_000)
        assert client.consume() == []
        client.publish(message(1))
        reply = client.try_nack({**taken, "lease_id": "x"})
        assert reply.problem == (409, "auto_ack_queue")
        client.one()
    assert (world.objects(), leftovers(world)) == ([], [])


# Failing (B5)


@pytest.mark.parametrize("way", ["nack", "expiry", "expiry, seen by the reaper"])
def test_after_its_last_delivery_a_message_is_a_dead_letter_and_its_keys_are_free(
    queue: QueueClient, clock: ManualClock, way: str
) -> None:
    queue.create(visibility_key="group", primary_key="id", max_deliveries=2)
    queue.publish(message(1, "g"))
    queue.publish(message(2, "g"))
    taken: Any = None
    for delivery in (1, 2):
        taken = queue.one()
        assert (taken["payload"]["id"], taken["delivery"]) == (1, delivery)
        if way == "nack":
            queue.nack(taken, reason=f"reason {delivery}")
        else:
            clock.advance(seconds=30)
            if way != "expiry":
                queue.process.run("lease_reap")
    assert ids(queue.consume()) == [2]
    assert queue.consume() == []
    (letter,) = queue.dead_letters()
    assert (letter["reason"], letter["deliveries"], letter["payload"]) == ("max_deliveries", 2, message(1, "g"))
    assert letter["detail"] == ("reason 2" if way == "nack" else "")
    assert letter["published_at"] == "2026-11-30T10:00:00.000Z"
    queue.publish(message(1, "g"))
    expected = (409, "lease_lost") if way == "nack" else (410, "lease_expired")
    assert queue.try_ack(taken).problem == expected


def test_each_message_of_its_own_fails_alone(queue: QueueClient, clock: ManualClock) -> None:
    queue.create(max_deliveries=1, primary_key="id")
    queue.publish_many(message(1), message(2))
    first = queue.one()
    queue.nack(first)
    assert ids(queue.consume()) == [2]
    clock.advance(seconds=30)
    assert queue.consume() == []
    assert [letter["payload"]["id"] for letter in queue.dead_letters()] == [1, 2]
    queue.publish_many(message(1), message(2))
    assert len(queue.consume(max_messages=10)) == 2


# Stats, purge, delete


def test_stats_tell_what_there_is(any_queue: QueueClient, clock: ManualClock) -> None:
    assert any_queue.stats() == {
        "ready": 0,
        "in_flight": 0,
        "delayed": 0,
        "dead_letters": 0,
        "depth": 0,
        "oldest_message_age_seconds": None,
    }
    for number in range(5):
        any_queue.publish(message(number, group=str(number)))
        clock.advance(seconds=1)
    one, two, _three = any_queue.consume(max_messages=3)
    any_queue.nack(one, delay_seconds=100)
    any_queue.nack(two, dead_letter=True)
    assert any_queue.stats() == {
        "ready": 2,
        "in_flight": 1,
        "delayed": 1,
        "dead_letters": 1,
        "depth": 4,
        "oldest_message_age_seconds": 5,
    }


def test_a_purge_removes_what_was_there_and_keeps_dead_letters(
    any_queue: QueueClient, clock: ManualClock, world: World
) -> None:
    for number in range(6):
        any_queue.publish(message(number, group=str(number % 2), text="x" * 70_000))
    any_queue.nack(any_queue.one(), dead_letter=True)
    held = any_queue.one()
    clock.advance(seconds=1)
    assert any_queue.call("queue_purge").status == 202
    assert any_queue.consume(max_messages=10) == []
    assert any_queue.stats()["depth"] == 0
    assert len(any_queue.dead_letters()) == 1
    assert len(world.objects()) == 1
    assert any_queue.try_ack(held).problem == (409, "lease_lost")
    clock.advance(seconds=1)
    for number in range(6):
        any_queue.publish(message(number, group=str(number % 2)))
    clock.advance(seconds=66)
    any_queue.process.run("queue_sweep")
    assert any_queue.stats()["depth"] == 6


def test_a_deleted_queue_takes_everything_with_it(any_queue: QueueClient, world: World, clock: ManualClock) -> None:
    for number in range(6):
        any_queue.publish(message(number, group=str(number % 2), text="x" * 70_000))
    any_queue.nack(any_queue.one(), dead_letter=True)
    any_queue.one()
    assert any_queue.call("queue_delete").status == 204
    assert any_queue.try_consume().status == 404
    for _ in range(2):
        any_queue.process.run("queue_sweep")
        clock.advance(seconds=66)
    assert (world.objects(), leftovers(world)) == ([], [])
    again = any_queue.create()
    assert (again.consume(), again.dead_letters(), again.stats()["depth"]) == ([], [], 0)


def lease(taken: Any) -> dict[str, Any]:
    return {"message_id": taken["message_id"], "lease_id": taken["lease_id"]}


def leftovers(world: World) -> list[str]:
    """The keys of everything stored for messages."""
    kinds = ("lanes#", "key#", "dead#")
    rows = [row["pk"]["S"] for row in world.rows(world.state_table) if row["pk"]["S"].startswith(kinds)]
    return rows + [row["source"]["S"] for row in world.rows(world.edges_table)]


@pytest.mark.parametrize("settings", [{}, {"visibility_key": "group"}], ids=["alone", "shared"])
def test_a_publish_whose_answer_was_lost_is_not_stored_blindly_again(
    queue: QueueClient, faults: ModuleType, settings: dict[str, Any]
) -> None:
    queue.create(**settings)
    with faults.failing(faults.SERVER_ERROR, operation="PutItem"):  # as if stored, delivered and acked by then
        assert queue.try_publish(message(1)).status == 503
    with faults.failing(faults.LOST, operation="PutItem"):
        assert queue.try_publish(message(2)).status == 201
    assert ids(queue.consume(max_messages=10)) == [2]
