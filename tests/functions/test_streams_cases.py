"""Trouble that systems of this kind had, and what happens here instead: leases, retention, keys, tenants."""

from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.functions.test_streams import client_id, drain, payloads, reader
from tests.processes import Process, Tenant
from tests.worlds import START, ManualClock, World


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


def make(process: Process, owner: Tenant, name: str = "news", **settings: Any) -> QueueClient:
    return QueueClient(process, owner.key, name).create("one_to_many", **settings)


def published(queue: QueueClient, **payload: Any) -> tuple[int, str]:
    """Status and code of a publish."""
    reply = queue.try_publish(payload)
    return reply.status, "" if reply.status == 201 else reply.code


# B1: late acks and stale acks


def test_a_late_ack_is_refused_and_the_message_comes_again(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    queue = make(timed, owner, consume_ttl_seconds=1)
    queue.publish({"n": 0})
    message = queue.one()
    clock.advance(seconds=2)
    for refused in (queue.try_ack(message), queue.try_nack(message), queue.try_extend(message, seconds=9)):
        assert refused.problem == (410, "lease_expired")
    again = queue.one()
    assert again["delivery"] == 2
    for stale in (queue.try_ack(message), queue.try_nack(message), queue.try_extend(message, seconds=9)):
        assert stale.problem == (409, "lease_lost")
    queue.ack(again)
    assert queue.consume() == []


def test_what_was_settled_is_settled_once(timed: Process, owner: Tenant) -> None:
    queue = make(timed, owner)
    queue.publish_many(*({"n": n} for n in range(4)))
    first, second = queue.consume(max_messages=2)
    queue.ack(first)
    queue.ack(first)
    assert queue.try_nack(first).problem == (409, "lease_lost")
    queue.nack(second)
    queue.nack(second)
    assert queue.try_ack(second).problem == (409, "lease_lost")
    again = queue.one()
    assert (again["payload"]["n"], again["delivery"]) == (1, 2)
    assert queue.try_nack(second).problem == (409, "lease_lost")
    queue.ack(again)
    third = queue.one()
    queue.ack(first)
    queue.ack(again)
    assert queue.try_ack(second).problem == (409, "lease_lost")
    queue.ack(third)
    assert drain(queue) == [3]


def test_an_extended_lease_holds_longer(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    queue = make(timed, owner, consume_ttl_seconds=10)
    queue.publish({"n": 0})
    message = queue.one()
    assert queue.try_extend(message, seconds=100).json == {"lease_expires_at": "2026-11-30T10:01:40.000Z"}
    clock.advance(seconds=99)
    queue.ack(message)
    assert queue.consume() == []


def test_a_settle_tells_each_entry(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    queue = make(timed, owner, max_deliveries=2)
    ids = [queue.publish({"n": n}) for n in range(5)]
    run = queue.consume(max_messages=5)
    leases = [message["lease_id"] for message in run]
    queue.nack(run[4])
    body = {
        "acks": [{"message_id": ids[0], "lease_id": leases[0]}, {"message_id": ids[1], "lease_id": leases[0]}],
        "nacks": [
            {"message_id": ids[2], "lease_id": leases[2], "delay_seconds": 5},
            {"message_id": ids[3], "lease_id": leases[3]},
            {"message_id": ids[0], "lease_id": leases[0]},
            {"message_id": ids[4], "lease_id": leases[4]},
        ],
    }
    results = queue.call("queue_settle", body=body).json["results"]
    assert [(result["message_id"], result["status"], result.get("code")) for result in results] == [
        (ids[0], 200, None),
        (ids[1], 404, "not_found"),
        (ids[2], 200, None),
        (ids[3], 200, None),
        (ids[0], 409, "lease_lost"),
        (ids[4], 200, None),
    ]
    queue.ack(run[1])
    assert queue.consume() == []
    clock.advance(seconds=5)
    again = queue.consume(max_messages=9)
    assert payloads(again) == [2, 3, 4]
    nacks = [{"message_id": m["message_id"], "lease_id": m["lease_id"]} for m in again]
    results = queue.call("queue_settle", body={"nacks": nacks}).json["results"]
    assert [result["status"] for result in results] == [200, 200, 200]
    assert len(queue.dead_letters()) == 3


# B3: the schedule, and clocks apart


def test_the_schedule_changes_nothing_that_has_changed_since(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    queue = make(timed, owner, consume_ttl_seconds=10, max_deliveries=1)
    queue.publish_many({"n": 0}, {"n": 1})
    message = queue.one()
    timed.run("stream_retain")
    queue.ack(message)
    timed.run("stream_retain")
    assert queue.one()["payload"] == {"n": 1}
    clock.advance(seconds=10)
    assert timed.run("stream_retain") == {"done": 1}
    assert [letter["payload"] for letter in queue.dead_letters()] == [{"n": 1}]
    assert queue.consume() == []


def test_two_processes_whose_clocks_disagree_settle_a_delivery_once(platform_key: str, world: World) -> None:
    fast, slow = (Process(clock=ManualClock(START + skew)) for skew in (3000, -3000))
    owner = fast.tenant(platform_key=platform_key)
    here = make(fast, owner, consume_ttl_seconds=5)
    there = QueueClient(slow, owner.key, "news")
    here.publish({"n": 0})
    first = there.one()
    second = here.one()  # to this clock the first lease has run out
    assert second["delivery"] == 2
    assert there.try_ack(first).problem == (409, "lease_lost")
    there.ack(second)
    assert here.consume() == []
    assert world.rows(world.edges_table)


# C5: when a primary key is free


def test_a_key_is_held_until_its_message_leaves_for_all(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    queue = make(timed, owner, primary_key=["id"], max_message_age_seconds=100)
    queue.consume()
    message_id = queue.publish({"n": 0, "id": 1})
    refused = queue.try_publish({"n": 0, "id": 1.0})
    assert refused.problem == (409, "duplicate_key")
    assert (refused.json["message_id"], refused.json["message_status"]) == (message_id, "queued")
    assert drain(queue) == [0]
    assert published(queue, n=1, id=1) == (409, "duplicate_key")
    queue.publish({"n": 0, "id": 2})
    queue.nack(queue.one(), dead_letter=True)
    assert published(queue, n=1, id=2) == (409, "duplicate_key")
    clock.advance(seconds=100)
    assert published(queue, n=1, id=1) == (201, "")
    assert queue.call("queue_purge").status == 202
    assert published(queue, n=1, id=1) == (201, "")
    timed.run("stream_retain")
    timed.run("queue_sweep")
    assert published(queue, n=1, id=1) == (409, "duplicate_key")


def test_a_dropped_message_frees_its_key(timed: Process, owner: Tenant) -> None:
    queue = make(
        timed, owner, primary_key=["id"], max_queue_depth=2, overflow_policy="drop_oldest_append", max_deliveries=1
    )
    for n in (1, 2, 3):
        queue.publish({"n": n, "id": n})
    assert published(queue, n=3, id=3) == (409, "duplicate_key")
    assert published(queue, n=1, id=1) == (201, "")
    assert drain(queue) == [3, 1]


def test_a_batch_is_refused_entry_by_entry(timed: Process, owner: Tenant) -> None:
    queue = make(timed, owner, primary_key=["id"], max_queue_depth=3)
    first = queue.publish({"n": 0, "id": 0})
    answer = queue.publish_many({"id": 0}, {"n": 1, "id": 1}, {"id": 1}, {"x": 1}, {"n": 2, "id": 2}, {"id": 3})
    assert answer["accepted"] == 2
    results = [(result["status"], result.get("code")) for result in answer["results"]]
    assert results == [
        (409, "duplicate_key"),
        (201, None),
        (409, "duplicate_key"),
        (422, "key_field_invalid"),
        (201, None),
        (409, "queue_full"),
    ]
    assert answer["results"][0]["message_id"] == first
    assert answer["results"][2]["message_id"] == answer["results"][1]["message_id"]
    assert drain(queue) == [0, 1, 2]


# D4, J4: depth and age


def test_a_refused_publish_drops_nothing(timed: Process, owner: Tenant) -> None:
    queue = make(timed, owner, primary_key=["id"], max_queue_depth=2, overflow_policy="drop_oldest_append")
    queue.publish_many({"n": 1, "id": 1}, {"n": 2, "id": 2})
    assert published(queue, n=2, id=2) == (409, "duplicate_key")
    assert published(queue, n=3) == (422, "key_field_invalid")
    assert queue.try_publish("[]").status == 400
    assert queue.stats()["depth"] == 2
    assert drain(queue) == [1, 2]


def test_a_full_queue(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    queue = make(timed, owner, max_queue_depth=2, max_message_age_seconds=60)
    queue.publish_many({"n": 0}, {"n": 1})
    assert published(queue, n=2) == (409, "queue_full")
    assert drain(queue) == [0, 1]
    assert published(queue, n=2) == (409, "queue_full")
    clock.advance(seconds=60)
    assert queue.stats()["depth"] == 0
    queue.publish_many({"n": 2}, {"n": 3})
    assert published(queue, n=4) == (409, "queue_full")
    assert drain(queue) == [2, 3]


def test_the_limit_holds_over_all_partitions(timed: Process, owner: Tenant) -> None:
    queue = make(timed, owner, partitions=3, max_queue_depth=7)
    assert [published(queue, n=n)[0] for n in range(9)] == [201] * 7 + [409] * 2
    assert queue.stats()["depth"] == 7
    dropping = make(timed, owner, "dropping", partitions=3, max_queue_depth=7, overflow_policy="drop_oldest_append")
    dropping.publish_many(*({"n": n} for n in range(20)))
    assert dropping.stats()["depth"] == 7
    kept = drain(dropping)
    assert len(kept) == 7
    assert min(kept) >= 11  # the oldest of a partition goes, which need not be the oldest of all


def test_a_consumer_overtaken_is_told_once(timed: Process, owner: Tenant) -> None:
    queue = make(timed, owner, max_queue_depth=3, overflow_policy="drop_oldest_append")
    queue.publish({"n": 0})
    assert drain(queue) == [0]
    queue.publish_many(*({"n": n} for n in range(1, 8)))
    reply = queue.try_consume(max_messages=2).json
    assert (payloads(reply["messages"]), reply["skipped"]) == ([5, 6], 4)
    for message in reply["messages"]:
        queue.ack(message)
    reply = queue.try_consume().json
    assert (payloads(reply["messages"]), "skipped" in reply) == ([7], False)


def test_what_is_held_while_retention_passes_can_still_be_acked(timed: Process, owner: Tenant) -> None:
    queue = make(timed, owner, max_queue_depth=1, overflow_policy="drop_oldest_append")
    queue.publish({"n": 0})
    held = queue.one()
    queue.publish_many({"n": 1}, {"n": 2})
    queue.ack(held)
    reply = queue.try_consume().json
    assert (payloads(reply["messages"]), reply["skipped"]) == ([2], 1)
    queue.nack(reply["messages"][0])
    queue.publish({"n": 3})
    reply = queue.try_consume().json
    assert (payloads(reply["messages"]), reply["skipped"]) == ([3], 1)


def test_expired_is_absent_before_anybody_has_swept(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    queue = make(timed, owner, max_message_age_seconds=10, expired_to_dead_letters=True)
    late = reader(queue, owner)
    assert queue.consume() == []
    queue.publish({"n": 0})
    held = queue.one()
    queue.publish({"n": 1})
    clock.advance(seconds=10)
    queue.publish({"n": 2})
    assert queue.stats()["depth"] == 1
    queue.ack(held)
    reply = queue.try_consume().json
    assert (payloads(reply["messages"]), reply["skipped"]) == ([2], 1)
    assert drain(late) == [2]
    (letter,) = queue.dead_letters()
    assert (letter["reason"], letter["client_id"], letter["payload"]) == ("expired", client_id(queue), {"n": 1})
    assert timed.run("stream_retain") == {"done": 2}
    assert len(queue.dead_letters()) == 1


def test_the_schedule_sets_expired_messages_aside_for_those_behind(
    timed: Process, owner: Tenant, clock: ManualClock, world: World
) -> None:
    queue = make(timed, owner, max_message_age_seconds=10, expired_to_dead_letters=True)
    behind, ahead = reader(queue, owner), reader(queue, owner)
    behind.consume()
    queue.publish_many({"n": 0}, {"n": "x" * 200_000})
    assert len(drain(ahead)) == 2
    clock.advance(seconds=10)
    assert timed.run("stream_retain") == {"done": 2}
    letters = queue.dead_letters()
    assert {letter["client_id"] for letter in letters} == {client_id(behind)}
    assert sorted(len(str(letter["payload"]["n"])) for letter in letters) == [1, 200_000]
    assert len(world.objects()) == 1
    assert behind.try_consume().json == {"messages": [], "skipped": 2}


# E1: what becomes visible out of order


def test_a_publisher_whose_clock_is_behind_is_not_skipped(platform_key: str) -> None:
    fast, slow = (Process(clock=ManualClock(START + skew)) for skew in (5000, 3000))
    owner = fast.tenant(platform_key=platform_key)
    here = make(fast, owner)
    there = QueueClient(slow, owner.key, "news")
    here.publish({"n": 1})
    assert drain(here) == [1]
    there.publish({"n": 2})
    assert drain(here) == [2]


# K2, L1: leases elsewhere, and messages that do not open


def test_leases_are_good_for_one_queue_consumer_and_message(timed: Process, owner: Tenant, platform_key: str) -> None:
    queue, other = make(timed, owner), make(timed, owner, "other")
    stranger = timed.tenant("stranger", platform_key=platform_key)
    theirs = make(timed, stranger)
    client = reader(queue, owner)
    for one in (queue, other, theirs):
        one.publish_many({"n": 0}, {"n": 1})
        one.consume(max_messages=2)
    mine = client.consume(max_messages=2)
    swapped = {**mine[0], "message_id": mine[1]["message_id"]}
    for user, message in ((other, mine[0]), (theirs, mine[0]), (queue, mine[0]), (client, swapped)):
        for refused in (user.try_ack(message), user.try_nack(message), user.try_extend(message, seconds=5)):
            assert refused.problem == (404, "not_found")
    for broken in ("", "x", mine[0]["lease_id"][:-2], "é" * 20):
        assert client.try_ack({**mine[0], "lease_id": broken}).problem == (404, "not_found")
    client.ack(mine[0])


def test_a_message_that_does_not_open_holds_up_no_other(timed: Process, owner: Tenant, world: World) -> None:
    queue = make(timed, owner)
    queue.publish_many({"n": 0}, {"n": 1}, {"n": 2})
    client = world.client("dynamodb")
    first, second, _ = [item for item in world.rows(world.edges_table) if "id" in item]
    first["body"], second["body"] = second["body"], first["body"]
    for item in (first, second):
        client.put_item(TableName=world.edges_table, Item=item)
    messages = queue.consume(max_messages=3)
    assert [(message["payload"], message.get("error")) for message in messages] == [
        (None, "unreadable"),
        (None, "unreadable"),
        ({"n": 2}, None),
    ]
    queue.nack(messages[0], dead_letter=True)
    assert [(letter["payload"], letter["error"]) for letter in queue.dead_letters()] == [(None, "unreadable")]


def test_big_payloads_go_through_objects_and_leave_with_their_messages(
    timed: Process, owner: Tenant, clock: ManualClock, world: World
) -> None:
    queue = make(timed, owner, max_message_age_seconds=100, primary_key=["n"])
    big = "x" * 300_000
    queue.publish({"n": 0, "x": big})
    assert published(queue, n=0, x=big) == (409, "duplicate_key")
    assert len(world.objects()) == 1
    assert queue.one()["payload"]["x"] == big
    clock.advance(seconds=100)
    timed.run("stream_retain")
    assert world.objects() == []
    assert world.rows(world.edges_table) == []


def test_a_disabled_queue_settles_but_delivers_nothing(timed: Process, owner: Tenant) -> None:
    queue = make(timed, owner)
    queue.publish({"n": 0})
    message = queue.one()
    assert queue.call("queue_disable").status == 200
    assert queue.try_consume().problem == (409, "queue_disabled")
    assert published(queue, n=1) == (409, "queue_disabled")
    queue.ack(message)
