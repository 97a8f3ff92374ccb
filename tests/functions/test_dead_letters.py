"""Dead letters: listed, redriven, deleted, of to-one queues; over the functions."""

from types import ModuleType
from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World

shapes = pytest.mark.parametrize("settings", [{}, {"visibility_key": "v"}], ids=["alone", "shared"])


@pytest.fixture
def queue(timed: Process, platform_key: str) -> QueueClient:
    owner: Tenant = timed.tenant(platform_key=platform_key)
    return QueueClient(timed, owner.key)


def fail(queue: QueueClient, *numbers: int, clock: ManualClock | None = None, **more: Any) -> list[str]:
    """Publish messages and reject them; returns their ids."""
    found = []
    for number in numbers:
        queue.publish({"id": number, "v": number, **more})
        taken = queue.one()
        found.append(taken["message_id"])
        queue.nack(taken, dead_letter=True, reason=f"reason {number} ü")
        if clock is not None:
            clock.advance(milliseconds=1)
    return found


@shapes
def test_dead_letters_are_listed_oldest_first_by_page(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock
) -> None:
    queue.create(**settings)
    ids = fail(queue, *range(5), clock=clock)
    assert queue.dead_letters()[0] == {
        "entry_id": ids[0],
        "message_id": ids[0],
        "payload": {"id": 0, "v": 0},
        "reason": "rejected",
        "detail": "reason 0 ü",
        "failed_at": "2026-11-30T10:00:00.000Z",
        "deliveries": 1,
        "published_at": "2026-11-30T10:00:00.000Z",
    }
    listed: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = queue.call("dlq_list", query=query).json
        listed += [entry["entry_id"] for entry in page["entries"]]
        if "next_token" not in page:
            break
        query["next_token"] = page["next_token"]
    assert listed == ids


def test_many_that_failed_in_one_moment_are_all_listed(queue: QueueClient) -> None:
    queue.create()
    ids = fail(queue, *range(7))
    first = queue.call("dlq_list", query={"limit": 3}).json
    rest = queue.call("dlq_list", query={"limit": 200, "next_token": first["next_token"]}).json
    assert [entry["entry_id"] for entry in first["entries"] + rest["entries"]] == sorted(ids)


def test_a_token_is_good_for_its_queue_only(queue: QueueClient) -> None:
    queue.create()
    other = QueueClient(queue.process, queue.key, "other").create()
    fail(queue, 1, 2)
    token = queue.call("dlq_list", query={"limit": 1}).json["next_token"]
    for client, given in ((other, token), (queue, token[:-1]), (queue, "x")):
        assert client.call("dlq_list", query={"next_token": given}).problem == (400, "invalid_token")


@shapes
def test_a_redriven_message_is_a_fresh_publish_with_its_id_and_payload(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock, world: World
) -> None:
    queue.create(max_message_age_seconds=60, **settings)
    (failed,) = fail(queue, 1, big="x" * 70_000)
    clock.advance(seconds=100)
    reply = queue.call("dlq_redrive_one", path={"entry_id": failed})
    assert (reply.status, reply.json) == (200, {"redriven": 1, "results": [{"entry_id": failed, "status": 201}]})
    assert queue.dead_letters() == []
    taken = queue.one()
    assert (taken["message_id"], taken["delivery"], taken["payload"]["id"]) == (failed, 1, 1)
    assert taken["published_at"] == "2026-11-30T10:01:40.000Z"
    queue.ack(taken)
    assert world.objects() == []
    assert queue.call("dlq_redrive_one", path={"entry_id": failed}).problem == (404, "not_found")


@shapes
def test_a_redrive_that_the_queue_refuses_leaves_the_dead_letter(queue: QueueClient, settings: dict[str, Any]) -> None:
    queue.create(primary_key="id", max_queue_depth=2, **settings)
    one, two = fail(queue, 1, 2)
    living = queue.publish({"id": 1, "v": 1})
    assert queue.call("dlq_redrive_one", path={"entry_id": one}).problem == (409, "duplicate_key")
    queue.publish({"id": 3, "v": 3})
    reply = queue.call("dlq_redrive", body={"entry_ids": [one, two, "nobody", two]})
    assert reply.json == {
        "redriven": 0,
        "results": [
            {"entry_id": one, "status": 409, "code": "duplicate_key"},
            {"entry_id": two, "status": 409, "code": "queue_full"},
            {"entry_id": "nobody", "status": 404, "code": "not_found"},
        ],
    }
    assert sorted(letter["entry_id"] for letter in queue.dead_letters()) == sorted([one, two])
    taken = queue.one()
    assert taken["message_id"] == living
    queue.ack(taken)
    assert queue.call("dlq_redrive", body={"entry_ids": [two]}).json["redriven"] == 1
    assert queue.stats()["depth"] == 2


def test_redrive_by_reason_takes_the_oldest(queue: QueueClient, clock: ManualClock) -> None:
    queue.create(max_deliveries=1)
    for number in range(6):
        queue.publish({"id": number})
        queue.nack(queue.one(), dead_letter=bool(number % 2))
        clock.advance(milliseconds=1)
    reply = queue.call("dlq_redrive", body={"reason": "max_deliveries", "limit": 2})
    assert reply.json["redriven"] == 2
    assert sorted(one["payload"]["id"] for one in queue.consume(max_messages=10)) == [0, 2]
    assert [letter["payload"]["id"] for letter in queue.dead_letters()] == [1, 3, 4, 5]
    assert queue.call("dlq_redrive", body="").json["redriven"] == 4
    assert queue.call("dlq_redrive", body={"reason": "no such"}).json == {"redriven": 0, "results": []}
    bodies: list[Any] = [{"limit": 0}, {"entry_ids": []}, {"entry_ids": "x"}, {"all": True}]
    for body in bodies:
        assert queue.call("dlq_redrive", body=body).problem == (400, "validation_failed")


def test_dead_letters_are_deleted_one_and_all(queue: QueueClient, world: World) -> None:
    queue.create()
    ids = fail(queue, *range(30), big="x" * 5_000)
    assert queue.call("dlq_delete", path={"entry_id": ids[3]}).status == 204
    assert queue.call("dlq_delete", path={"entry_id": ids[3]}).problem == (404, "not_found")
    assert len(queue.dead_letters(limit=200)) == len(world.objects()) == 29
    assert queue.call("dlq_purge").status == queue.call("dlq_purge").status == 204
    assert (queue.dead_letters(), world.objects()) == ([], [])
    assert world.rows(world.edges_table) == []


@shapes
def test_a_message_fails_again_after_a_redrive(queue: QueueClient, settings: dict[str, Any]) -> None:
    queue.create(max_deliveries=2, **settings)
    (failed,) = fail(queue, 1)
    for _ in range(2):
        queue.call("dlq_redrive_one", path={"entry_id": failed})
        queue.nack(queue.one())
        queue.nack(queue.one())
        (letter,) = queue.dead_letters()
        assert (letter["entry_id"], letter["reason"], letter["deliveries"]) == (failed, "max_deliveries", 2)


@shapes
def test_a_redrive_that_died_leaves_the_message_in_one_place(
    queue: QueueClient, settings: dict[str, Any], faults: ModuleType, clock: ManualClock
) -> None:
    queue.create(primary_key="id", max_queue_depth=100, **settings)
    failed: list[str] = []
    number = 0

    def prepare() -> None:
        nonlocal failed, number
        number += 1
        failed = fail(queue, number)

    for _ in faults.crash_points(lambda: queue.call("dlq_redrive", body={"entry_ids": failed}), prepare=prepare):
        clock.advance(seconds=200)
        letters, taken = queue.dead_letters(), queue.consume()
        clock.advance(seconds=2)
        taken = taken or queue.consume()
        assert len(letters) + len(taken) == 1
        if letters:
            assert queue.call("dlq_redrive", body={"entry_ids": failed}).json["redriven"] == 1
            taken = queue.consume()
        assert [one["message_id"] for one in taken] == failed
        queue.ack(taken[0])
    assert queue.call("dlq_purge").status == 204


@shapes
def test_a_failure_that_died_half_way_leaves_the_message_in_one_place(
    queue: QueueClient, settings: dict[str, Any], faults: ModuleType, clock: ManualClock
) -> None:
    queue.create(primary_key="id", max_queue_depth=100, max_deliveries=1, **settings)
    taken: Any = None
    number = 0

    def prepare() -> None:
        nonlocal taken, number
        number += 1
        queue.publish({"id": number, "v": number})
        taken = queue.one()

    for _ in faults.crash_points(lambda: queue.try_nack(taken), prepare=prepare):
        clock.advance(seconds=60)
        assert queue.consume() == []
        (letter,) = queue.dead_letters()
        assert letter["message_id"] == taken["message_id"]
        assert queue.call("dlq_delete", path={"entry_id": letter["entry_id"]}).status == 204


def test_queues_without_deliveries_have_no_dead_letters(queue: QueueClient) -> None:
    queue.create("key_value", primary_key="id")
    for function in ("dlq_list", "dlq_purge", "dlq_redrive", "dlq_redrive_one", "dlq_delete"):
        assert queue.call(function, body=None if function != "dlq_redrive" else {}).problem == (409, "wrong_queue_type")


@shapes
def test_the_age_of_a_redriven_message_begins_with_its_redrive(
    queue: QueueClient, settings: dict[str, Any], clock: ManualClock
) -> None:
    queue.create(**settings)
    fail(queue, 1)
    clock.advance(seconds=4)
    assert queue.call("dlq_redrive", body={}).status == 200
    assert queue.stats()["oldest_message_age_seconds"] == 0
    clock.advance(seconds=3)
    assert queue.stats()["oldest_message_age_seconds"] == 3
