"""one_to_many over its functions: every consumer gets every message, in order, at its own pace."""

from dataclasses import replace
from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.processes import Process, Reply, Tenant
from tests.worlds import ManualClock
from tools.ledger import Ledger


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


@pytest.fixture
def queue(timed: Process, owner: Tenant) -> QueueClient:
    """The queue in the hands of its owner."""
    return QueueClient(timed, owner.key, "news").create("one_to_many", max_deliveries=2, consume_ttl_seconds=30)


def reader(queue: QueueClient, owner: Tenant) -> QueueClient:
    """The same queue in the hands of a client that may consume."""
    return replace(queue, key=queue.process.client_key(owner, ("*", "consume")))


def client_id(queue: QueueClient) -> str:
    return queue.key.partition(".")[0]


def payloads(messages: list[Any]) -> list[int]:
    return [message["payload"]["n"] for message in messages]


def drain(queue: QueueClient, **body: Any) -> list[int]:
    """Consume and ack until there is nothing."""
    seen: list[int] = []
    while messages := queue.consume(**body):
        seen += payloads(messages)
        for message in messages:
            queue.ack(message)
    return seen


def place(queue: QueueClient, reader: QueueClient) -> Any:
    return queue.call("consumer_read", path={"client_id": client_id(reader)}).json


def test_every_consumer_gets_every_message_in_order(queue: QueueClient, owner: Tenant) -> None:
    first, second = reader(queue, owner), reader(queue, owner)
    for n in range(5):
        queue.publish({"n": n})
    assert drain(first) == [0, 1, 2, 3, 4]
    assert drain(second, max_messages=3) == [0, 1, 2, 3, 4]
    assert drain(first) == []
    queue.publish_many({"n": 5}, {"n": 6})
    assert (drain(first), drain(second)) == ([5, 6], [5, 6])


def test_a_message_is_what_was_published(queue: QueueClient) -> None:
    message_id = queue.publish({"n": 1})
    message = queue.one()
    assert message == {
        "message_id": message_id,
        "payload": {"n": 1},
        "published_at": "2026-11-30T10:00:00.000Z",
        "delivery": 1,
        "lease_id": message["lease_id"],
        "lease_expires_at": "2026-11-30T10:00:30.000Z",
    }


def test_a_consumer_settles_what_it_holds_before_it_gets_more(queue: QueueClient) -> None:
    queue.publish_many({"n": 0}, {"n": 1})
    held = queue.one()
    refused = queue.try_consume()
    assert refused.problem == (409, "unacknowledged")
    assert refused.json["message_id"] == held["message_id"]
    assert refused.json["lease_expires_at"] == held["lease_expires_at"]
    queue.ack(held)
    assert payloads(queue.consume()) == [1]


def test_the_messages_of_a_run_are_settled_one_by_one_in_any_order(queue: QueueClient) -> None:
    queue.publish_many(*({"n": n} for n in range(6)))
    run = queue.consume(max_messages=4)
    for index in (2, 0):
        queue.ack(run[index])
    assert place(queue, queue)["position"] == 1
    assert place(queue, queue)["lag"] == 4
    queue.nack(run[3])
    queue.ack(run[1])
    assert place(queue, queue)["position"] == 3
    assert [(m["payload"]["n"], m["delivery"]) for m in queue.consume(max_messages=4)] == [(3, 2)]


def test_a_nack_concerns_that_consumer_alone_and_a_delayed_one_holds_it(
    queue: QueueClient, owner: Tenant, clock: ManualClock
) -> None:
    first, second = reader(queue, owner), reader(queue, owner)
    queue.publish_many({"n": 0}, {"n": 1})
    first.nack(first.one(), delay_seconds=10)
    assert first.consume() == []
    assert drain(second) == [0, 1]
    clock.advance(seconds=10)
    again = first.one()
    assert (again["payload"]["n"], again["delivery"]) == (0, 2)
    first.ack(again)
    assert drain(first) == [1]


def test_after_its_last_delivery_a_message_is_that_consumers_dead_letter(queue: QueueClient, owner: Tenant) -> None:
    first, second = reader(queue, owner), reader(queue, owner)
    queue.publish_many({"n": 0}, {"n": 1})
    first.nack(first.one())
    first.nack(first.one(), reason="no such customer")
    assert drain(first) == [1]
    assert drain(second) == [0, 1]
    (letter,) = queue.dead_letters()
    assert letter["client_id"] == client_id(first)
    assert (letter["reason"], letter["detail"], letter["deliveries"]) == ("max_deliveries", "no such customer", 2)
    assert letter["payload"] == {"n": 0}


def test_a_message_whose_leases_run_out_is_set_aside_by_the_next_consume(
    queue: QueueClient, clock: ManualClock
) -> None:
    queue.publish_many({"n": 0}, {"n": 1})
    for _ in range(2):
        assert queue.one()["payload"] == {"n": 0}
        clock.advance(seconds=30)
    assert queue.one()["payload"] == {"n": 1}
    assert [letter["reason"] for letter in queue.dead_letters()] == ["max_deliveries"]


def test_the_schedule_sets_it_aside_for_a_consumer_that_does_not_come_back(
    queue: QueueClient, timed: Process, clock: ManualClock
) -> None:
    queue.publish({"n": 0})
    for _ in range(2):
        queue.one()
        clock.advance(seconds=30)
    assert timed.run("stream_retain") == {"done": 1}
    assert timed.run("stream_retain") == {"done": 0}
    assert [letter["reason"] for letter in queue.dead_letters()] == ["max_deliveries"]
    assert queue.consume() == []


def test_a_rejected_message_is_set_aside_at_once(queue: QueueClient) -> None:
    queue.publish({"n": 0})
    message = queue.one()
    queue.nack(message, dead_letter=True, reason="never")
    queue.nack(message, dead_letter=True, reason="never")
    assert queue.try_ack(message).problem == (409, "lease_lost")
    (letter,) = queue.dead_letters()
    assert (letter["reason"], letter["detail"]) == ("rejected", "never")


def test_a_redriven_message_goes_to_its_consumer_before_what_that_has_not_seen(
    queue: QueueClient, owner: Tenant
) -> None:
    first, second = reader(queue, owner), reader(queue, owner)
    queue.publish_many({"n": 0}, {"n": 1}, {"n": 2})
    message = first.one()
    first.nack(message, dead_letter=True)
    assert drain(second) == [0, 1, 2]
    first.ack(first.one())
    (letter,) = queue.dead_letters()
    redriven = queue.call("dlq_redrive_one", path={"entry_id": letter["entry_id"]})
    assert redriven.status == 200, redriven
    assert queue.dead_letters() == []
    assert place(queue, first)["redriven"] == 1
    again = first.one()
    assert (again["message_id"], again["payload"], again["delivery"]) == (message["message_id"], {"n": 0}, 1)
    first.ack(again)
    assert drain(first) == [2]
    assert second.consume() == []
    assert place(queue, first)["redriven"] == 0


def test_a_redriven_message_can_fail_again(queue: QueueClient) -> None:
    queue.publish({"n": 0})
    for _ in range(2):
        queue.nack(queue.one(), dead_letter=True)
        assert [letter["reason"] for letter in queue.dead_letters()] == ["rejected"]
        assert queue.call("dlq_redrive", body={}).json["redriven"] == 1
    for _ in range(2):
        queue.nack(queue.one())
    assert [letter["reason"] for letter in queue.dead_letters()] == ["max_deliveries"]
    assert queue.consume() == []


def test_where_a_new_consumer_starts(timed: Process, owner: Tenant) -> None:
    late = QueueClient(timed, owner.key, "late").create("one_to_many", start_from="latest")
    late.publish({"n": 0})
    assert late.consume() == []
    late.publish({"n": 1})
    assert drain(late) == [1]


def test_a_silent_consumer_is_forgotten(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    queue = QueueClient(timed, owner.key, "news").create("one_to_many", consumer_ttl_seconds=100)
    queue.publish({"n": 0})
    assert drain(queue) == [0]
    for _ in range(5):
        clock.advance(seconds=60)
        assert queue.consume() == []
    clock.advance(seconds=100)
    assert queue.call("consumer_list").json == {"consumers": []}
    assert queue.call("consumer_read", path={"client_id": owner.admin_id}).problem == (404, "not_found")
    assert timed.run("stream_retain") == {"done": 1}
    assert drain(queue) == [0]


def seek(queue: QueueClient, to: Any, reader: QueueClient | None = None) -> Reply:
    return queue.call("consumer_seek", path={"client_id": client_id(reader or queue)}, body={"seek": to})


def test_seeking(queue: QueueClient, clock: ManualClock) -> None:
    published = []
    for n in range(8):
        published.append(queue.publish({"n": n}))
        clock.advance(seconds=100)
    assert drain(queue) == list(range(8))
    for to, rest in (
        ("earliest", list(range(8))),
        ("latest", []),
        (published[3], [3, 4, 5, 6, 7]),
        ("2026-11-30T10:08:20.000Z", [5, 6, 7]),
        ("2026-11-30T10:08:20.001Z", [6, 7]),
        ("2026-11-30T12:00:00+01:00", [7][1:]),
        (0, list(range(8))),
    ):
        reply = seek(queue, to)
        assert reply.status == 200, (to, reply)
        assert drain(queue) == rest, to


def test_a_seek_lets_go_of_what_is_held(queue: QueueClient) -> None:
    queue.publish_many({"n": 0}, {"n": 1})
    held = queue.one()
    assert seek(queue, "latest").json["lag"] == 0
    assert queue.try_ack(held).problem == (409, "lease_lost")
    assert queue.consume() == []
    assert seek(queue, held["message_id"]).status == 200
    assert drain(queue) == [0, 1]


def test_a_message_sought_comes_before_what_was_redriven(queue: QueueClient) -> None:
    ids = [queue.publish({"n": n}) for n in range(3)]
    queue.nack(queue.one(), dead_letter=True)
    assert drain(queue) == [1, 2]
    assert queue.call("dlq_redrive", body={}).json["redriven"] == 1
    assert seek(queue, ids[2]).json["lag"] == 2
    assert drain(queue) == [2, 0]


@pytest.mark.parametrize("to", ["soon", "2026-11-30", True, 1.5, None, [], {}])
def test_what_cannot_be_sought(queue: QueueClient, to: Any) -> None:
    queue.consume()
    assert seek(queue, to).problem == (400, "validation_failed")


def test_seeking_and_forgetting_what_is_not_there(queue: QueueClient, owner: Tenant) -> None:
    nobody = reader(queue, owner)
    queue.consume()
    assert seek(queue, "earliest", nobody).problem == (404, "not_found")
    assert seek(queue, client_id(nobody)).problem == (404, "not_found")
    forget = {"path": {"client_id": client_id(nobody)}}
    assert queue.call("consumer_forget", **forget).problem == (404, "not_found")


def test_only_the_admin_moves_and_forgets_consumers(queue: QueueClient, owner: Tenant) -> None:
    client = reader(queue, owner)
    client.consume()
    assert seek(client, "latest").problem == (403, "forbidden")
    assert client.call("consumer_forget", path={"client_id": client_id(client)}).problem == (403, "forbidden")
    assert client.try_consume(client_id=owner.admin_id).problem == (403, "forbidden")
    assert [one["client_id"] for one in client.call("consumer_list").json["consumers"]] == [client_id(client)]


def test_the_admin_acts_for_a_consumer(queue: QueueClient, owner: Tenant) -> None:
    client = reader(queue, owner)
    queue.publish({"n": 0})
    message = queue.one(client_id=client_id(client))
    assert client.try_consume().code == "unacknowledged"
    assert queue.try_ack(message).problem == (404, "not_found")
    assert queue.try_ack(message, client_id=client_id(client)).status == 200
    assert client.consume() == []


def test_the_admin_acts_for_clients_of_the_tenant_only(
    queue: QueueClient, owner: Tenant, platform_key: str, ledger: Ledger
) -> None:
    queue.publish_many({"n": 0}, {"n": 1})
    foreign = reader(queue, queue.process.tenant("other", platform_key=platform_key))
    answers = [queue.try_consume(client_id=one) for one in (client_id(foreign), "01KB9ZA8QW2E4R6T8Y0ZXCVBNM")]
    assert [(one.problem, one.fields) for one in answers] == [((400, "validation_failed"), ["client_id"])] * 2
    assert answers[0].json["detail"] == answers[1].json["detail"]
    assert queue.call("consumer_list").json["consumers"] == []
    gone = client_id(reader(queue, owner))
    assert queue.try_ack(queue.one(client_id=gone), client_id=gone).status == 200
    assert queue.process.call("client_delete", key=owner.key, path={"client_id": gone}).status == 204
    with ledger.operation("another one") as others:
        assert payloads(queue.consume(client_id=gone)) == [1]
    queue.ack(queue.one())
    with ledger.operation("my own") as mine:
        assert payloads(queue.consume()) == [1]
    assert others.cost.calls == mine.cost.calls


def test_a_forgotten_consumer_begins_anew(queue: QueueClient) -> None:
    queue.publish({"n": 0})
    message = queue.one()
    assert queue.call("consumer_forget", path={"client_id": client_id(queue)}).status == 204
    assert queue.try_ack(message).problem == (404, "not_found")
    assert drain(queue) == [0]


def test_statistics(queue: QueueClient, owner: Tenant, clock: ManualClock) -> None:
    first = reader(queue, owner)
    queue.publish_many({"n": 0}, {"n": 1}, {"n": 2})
    clock.advance(seconds=7)
    first.consume(max_messages=2)
    assert queue.stats() == {
        "depth": 3,
        "in_flight": 2,
        "dead_letters": 0,
        "oldest_message_age_seconds": 7,
        "consumers": [{"client_id": client_id(first), "lag": 3}],
    }


@pytest.mark.parametrize("partitions", [1, 3])
def test_lag_counts_nothing_past_its_age(timed: Process, owner: Tenant, clock: ManualClock, partitions: int) -> None:
    queue = QueueClient(timed, owner.key, "aging").create(
        "one_to_many", max_message_age_seconds=60, partitions=partitions, consume_ttl_seconds=90
    )
    queue.publish_many(*({"n": n} for n in range(6)))
    behind, holding = reader(queue, owner), reader(queue, owner)
    for message in behind.consume(max_messages=1):
        behind.ack(message)
    held = holding.one()
    clock.advance(seconds=30)
    queue.publish_many(*({"n": n} for n in range(6, 9)))
    assert lags(queue, behind, holding) == [(8, 8, 8), (9, 9, 9)]
    clock.advance(seconds=30)
    assert lags(queue, behind, holding) == [(3, 3, 3), (4, 4, 4)]  # what is in flight is not past its age
    assert queue.stats()["depth"] == 3
    holding.ack(held)
    assert sorted(drain(behind)) == [6, 7, 8]
    assert lags(queue, behind, holding) == [(0, 0, 0), (3, 3, 3)]
    clock.advance(seconds=60)
    assert lags(queue, behind, holding) == [(0, 0, 0), (0, 0, 0)]
    assert seek(queue, "earliest", behind).json["lag"] == 0


def lags(queue: QueueClient, *readers: QueueClient) -> list[tuple[int, ...]]:
    """The lag of each consumer, as all three routes tell it."""
    listed = {one["client_id"]: one["lag"] for one in queue.call("consumer_list").json["consumers"]}
    counted = {one["client_id"]: one["lag"] for one in queue.stats()["consumers"]}
    names = [(one, client_id(one)) for one in readers]
    return [(listed[name], counted[name], place(queue, one)["lag"]) for one, name in names]


def test_several_partitions(timed: Process, owner: Tenant) -> None:
    queue = QueueClient(timed, owner.key, "wide").create("one_to_many", partitions=4)
    for n in range(40):
        queue.publish({"n": n})
    queue.publish_many(*({"n": n} for n in range(40, 60)))
    assert queue.stats()["depth"] == 60
    assert sorted(drain(queue, max_messages=7)) == list(range(60))
    place = queue.call("consumer_read", path={"client_id": owner.admin_id}).json
    assert (place["position"], place["lag"], len(place["partitions"])) == (60, 0, 4)
    assert min(part["position"] for part in place["partitions"]) > 0


def test_what_consumers_of_other_types_are_asked(timed: Process, owner: Tenant, queue: QueueClient) -> None:
    other = QueueClient(timed, owner.key, "jobs").create()
    assert other.call("consumer_list").problem == (409, "wrong_queue_type")
    assert queue.try_consume(visibility_key_value="k").fields == ["visibility_key_value"]
    assert queue.try_consume(client_id="someone").fields == ["client_id"]


def test_a_purge_empties_the_queue_and_tells_consumers(queue: QueueClient, timed: Process) -> None:
    queue.publish_many(*({"n": n} for n in range(4)))
    held = queue.one()
    assert queue.call("queue_purge").status == 202
    assert queue.stats()["depth"] == 0
    queue.publish({"n": 4})
    timed.run("queue_sweep")
    queue.ack(held)
    reply = queue.try_consume()
    assert (payloads(reply.json["messages"]), reply.json["skipped"]) == ([4], 3)


def test_a_purge_frees_the_consumers_that_hold_what_is_gone(queue: QueueClient) -> None:
    queue.publish_many(*({"n": n} for n in range(4)))
    assert len(queue.consume(max_messages=3)) == 3
    assert queue.call("queue_purge").status == 202
    queue.publish({"n": 4})
    reply = queue.try_consume()
    assert (payloads(reply.json["messages"]), reply.json["skipped"]) == ([4], 4)


def test_a_deleted_queue_leaves_nothing(queue: QueueClient, timed: Process, clock: ManualClock, world: Any) -> None:
    queue.publish_many({"n": 0}, {"n": 1}, {"n": "x" * 100_000})
    queue.nack(queue.one(), dead_letter=True)
    queue.call("dlq_redrive", body={})
    queue.nack(queue.one(), dead_letter=True)
    assert queue.call("queue_delete").status == 204
    timed.run("queue_sweep")
    clock.advance(seconds=66)
    timed.run("queue_sweep")
    assert world.rows(world.edges_table) == []
    assert [row for row in world.rows(world.state_table) if "stream" in repr(row) or "consumer" in repr(row)] == []
    assert world.objects() == []
