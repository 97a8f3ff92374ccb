"""Stream queues: messages joined with items as they are published, or when the items arrive; message_promote."""

from types import ModuleType
from typing import Any

import pytest

from broker.jsontext import Number
from tests.functions.items import ItemClient
from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World
from tools.ledger import Ledger

KINDS = pytest.mark.parametrize("kind", ["stream_to_one", "stream_to_many"])


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


@pytest.fixture
def customers(timed: Process, owner: Tenant) -> ItemClient:
    return ItemClient(timed, owner.key, "customers").create(primary_key=["id"], on_duplicate="replace")


def stream(customers: ItemClient, kind: str, **settings: Any) -> QueueClient:
    client = QueueClient(customers.process, customers.key, f"orders-{kind.replace('_', '-')}")
    return client.create(kind, lookup_queue="customers", foreign_key=["customer"], **settings)


@KINDS
def test_a_message_is_joined_with_its_item(customers: ItemClient, kind: str) -> None:
    version = customers.put('{"id": 7, "name": "Ann", "tier": "gold", "rate": 1.50}')["version"]
    orders = stream(customers, kind, primary_key=["n"])
    reply = orders.try_publish('{"n": 1, "customer": 7, "tier": null, "total": 2.10}')
    assert (reply.status, reply.json["status"]) == (201, "queued")
    message = orders.one()
    assert message["payload"] == {
        "id": 7,
        "name": "Ann",
        "tier": None,
        "rate": Number("1.50"),
        "n": 1,
        "customer": 7,
        "total": Number("2.10"),
    }
    assert message["lookup"] == {"queue": "customers", "key": [7], "version": version}
    orders.ack(message)
    assert orders.consume() == []


@KINDS
def test_a_message_without_an_item_is_a_dead_letter_and_422(customers: ItemClient, kind: str) -> None:
    orders = stream(customers, kind)
    assert orders.try_publish({"customer": 7, "n": 1}).problem == (422, "key_not_found")
    assert orders.try_publish({"n": 2}).problem == (422, "foreign_key_missing")
    assert "absent" in orders.try_publish({"customer": None}).json["detail"]
    surrogate = orders.try_publish('{"customer": "\\ud800"}')
    assert (surrogate.problem, surrogate.json["field"]) == ((422, "foreign_key_missing"), "customer")
    assert "surrogate" in surrogate.json["detail"]
    assert orders.consume() == []
    letters = orders.dead_letters()
    assert [letter["reason"] for letter in letters] == ["key_not_found", *["foreign_key_missing"] * 3]
    assert letters[0]["payload"] == {"customer": 7, "n": 1}


@KINDS
def test_a_redriven_message_is_looked_up_again(customers: ItemClient, kind: str) -> None:
    orders = stream(customers, kind)
    assert orders.try_publish({"customer": 7, "n": 1}).status == 422
    (letter,) = orders.dead_letters()
    path = {"entry_id": letter["entry_id"]}
    assert orders.call("dlq_redrive_one", path=path, body="").problem == (422, "key_not_found")
    assert len(orders.dead_letters()) == 1
    customers.put({"id": 7, "name": "Ann"})
    assert orders.call("dlq_redrive_one", path=path, body="").status == 200
    message = orders.one()
    assert (message["message_id"], message["payload"]["name"]) == (letter["message_id"], "Ann")
    assert orders.dead_letters() == []


@KINDS
def test_a_dead_letter_that_names_no_item_cannot_be_redriven(customers: ItemClient, kind: str) -> None:
    orders = stream(customers, kind)
    orders.try_publish({"n": 1})
    (letter,) = orders.dead_letters()
    path = {"entry_id": letter["entry_id"]}
    assert orders.call("dlq_redrive_one", path=path, body="").problem == (422, "foreign_key_missing")
    assert orders.dead_letters() == [letter]


@KINDS
def test_a_dead_letter_that_does_not_open_cannot_be_redriven(customers: ItemClient, world: World, kind: str) -> None:
    orders = stream(customers, kind)
    orders.try_publish({"customer": 7})
    customers.put({"id": 7})
    (row,) = [row for row in world.rows(world.edges_table) if "reason" in row]
    changed = {**row, "body": {"B": row["body"]["B"][:-1]}}
    world.client("dynamodb").put_item(TableName=world.edges_table, Item=changed)
    (letter,) = orders.dead_letters()
    assert letter["error"] == "unreadable"
    path = {"entry_id": letter["entry_id"]}
    assert orders.call("dlq_redrive_one", path=path, body="").problem == (422, "key_field_invalid")
    assert orders.dead_letters() == [letter]


@KINDS
def test_a_deferred_message_is_delivered_when_its_item_arrives(customers: ItemClient, kind: str) -> None:
    orders = stream(customers, kind, missing_lookup="defer", primary_key=["n"])
    replies = [orders.try_publish({"customer": 7, "n": n, "text": "x" * size}) for n, size in enumerate([1, 70_000, 1])]
    assert [(reply.status, reply.json["status"]) for reply in replies] == [(201, "pending_enrichment")] * 3
    assert orders.consume() == []
    assert orders.stats()["pending_enrichment"] == orders.stats()["depth"] == 3
    duplicate = orders.try_publish({"customer": 8, "n": 1})
    assert duplicate.problem == (409, "duplicate_key")
    assert duplicate.json["message_id"] == replies[1].json["message_id"]
    customers.put({"id": 7, "name": "Ann"})
    seen = []
    for _ in range(3):
        message = orders.one()
        assert message["payload"]["name"] == "Ann"
        seen.append(message["message_id"])
        orders.ack(message)
    assert seen == [reply.json["message_id"] for reply in replies]
    assert orders.stats()["pending_enrichment"] == 0
    assert orders.consume() == []


def test_deferred_messages_keep_their_order_within_a_visibility_key(customers: ItemClient) -> None:
    orders = stream(customers, "stream_to_one", missing_lookup="defer", primary_key=["n"], visibility_key=["customer"])
    for n in range(5):
        assert orders.try_publish({"customer": 7, "n": n}).json["status"] == "pending_enrichment"
    assert orders.try_publish({"customer": 7, "n": 3}).problem == (409, "duplicate_key")
    customers.put({"id": 7})
    assert orders.try_publish({"customer": 7, "n": 3}).problem == (409, "duplicate_key")
    orders.publish({"customer": 7, "n": 5})
    for n in range(6):
        message = orders.one()
        assert message["payload"]["n"] == n
        assert orders.consume() == []
        orders.ack(message)
    assert orders.publish({"customer": 7, "n": 3})


@KINDS
def test_a_deferred_message_times_out(customers: ItemClient, kind: str, clock: ManualClock) -> None:
    orders = stream(customers, kind, missing_lookup="defer", defer_ttl_seconds=60, primary_key=["n"])
    first = orders.publish({"customer": 7, "n": 1})
    clock.advance(seconds=59)
    second = orders.publish({"customer": 7, "n": 2})
    clock.advance(seconds=1)
    assert orders.process.run("message_promote") == {"done": 1}
    assert [(one["message_id"], one["reason"]) for one in orders.dead_letters()] == [(first, "lookup_timeout")]
    assert orders.stats()["pending_enrichment"] == 1
    customers.put({"id": 7})
    assert orders.one()["message_id"] == second
    assert orders.try_publish({"customer": 7, "n": 1}).json["status"] == "queued"


@KINDS
def test_a_lookup_queue_must_be_a_key_value_queue_of_the_tenant(
    timed: Process, owner: Tenant, kind: str, platform_key: str
) -> None:
    ItemClient(timed, owner.key, "customers").create()
    foreign = timed.tenant("other", platform_key=platform_key)
    ItemClient(timed, foreign.key, "theirs").create()
    QueueClient(timed, owner.key, "plain").create("one_to_one")
    theirs = ItemClient(timed, foreign.key, "theirs").call("queue_read").json["queue_id"]
    answers = []
    for lookup in ("nowhere", "theirs", theirs, "plain", "01KB9ZA8QW2E4R6T8Y0ZXCVBNM"):
        settings = {"lookup_queue": lookup, "foreign_key": ["customer"]}
        body = {"name": "orders", "type": kind, "settings": settings}
        answers.append(timed.call("queue_create", key=owner.key, body=body))
    assert {answer.problem for answer in answers} == {(400, "validation_failed")}
    assert len({answer.body for answer in answers}) == 1
    body = {"name": "o", "type": kind, "settings": {"lookup_queue": "customers", "foreign_key": ["a", "b"]}}
    refused = timed.call("queue_create", key=owner.key, body=body)
    assert (refused.problem, refused.fields) == ((400, "validation_failed"), ["settings.foreign_key"])


@KINDS
def test_a_looked_up_queue_is_kept(customers: ItemClient, kind: str) -> None:
    orders = stream(customers, kind)
    assert customers.call("queue_delete").problem == (409, "lookup_in_use")
    customers.put({"id": 7})
    orders.publish({"customer": 7})
    assert orders.call("queue_delete").status == 204
    assert customers.call("queue_delete").status == 204


def test_250_messages_wait_for_one_item(customers: ItemClient) -> None:
    orders = stream(customers, "stream_to_one", missing_lookup="defer")
    for start in range(0, 250, 50):
        orders.publish_many(*({"customer": 7, "n": n, "text": "x" * 5000} for n in range(start, start + 50)))
    customers.put({"id": 7, "name": "Ann"})
    assert orders.stats()["pending_enrichment"] == 0
    assert orders.stats()["ready"] == 250


def test_a_new_item_of_a_queue_that_does_not_replace_promotes(timed: Process, owner: Tenant) -> None:
    customers = ItemClient(timed, owner.key, "customers").create(primary_key=["id"])
    orders = stream(customers, "stream_to_one", missing_lookup="defer")
    assert orders.try_publish({"customer": 7}).json["status"] == "pending_enrichment"
    customers.put({"id": 7})
    assert len(orders.consume()) == 1


@pytest.mark.parametrize("on_duplicate", ["reject", "replace"])
def test_what_a_dying_promotion_left_is_promoted_without_another_item(
    timed: Process, owner: Tenant, faults: ModuleType, on_duplicate: str
) -> None:
    customers = ItemClient(timed, owner.key, "customers").create(primary_key=["id"], on_duplicate=on_duplicate)
    orders = stream(customers, "stream_to_one", missing_lookup="defer")
    orders.publish_many(*({"customer": 7, "n": n} for n in range(12)))
    with pytest.raises(faults.Killed), faults.failing(faults.KILLED_AFTER, at=3, operation="TransactWriteItems"):
        customers.put({"id": 7, "name": "Ann"})
    assert 0 < orders.stats()["pending_enrichment"] < 12
    if on_duplicate == "reject":
        assert customers.try_publish({"id": 7, "name": "Bob"}).problem == (409, "duplicate_key")
    timed.run("message_promote")
    assert orders.stats()["pending_enrichment"] == 0
    taken = [message for _ in range(2) for message in orders.consume(max_messages=10)]
    assert sorted(message["payload"]["n"] for message in taken) == list(range(12))
    assert {message["payload"]["name"] for message in taken} == {"Ann"}


@KINDS
def test_a_batch_is_joined_or_waits_message_by_message(customers: ItemClient, kind: str) -> None:
    for key in (1, 2):
        customers.put({"id": key, "name": key})
    orders = stream(customers, kind, missing_lookup="defer")
    payloads: list[Any] = [{"customer": 1}, {"customer": 2}, {"customer": 3}, {}, {"customer": 1}]
    outcome = orders.publish_many(*payloads)
    assert [one["status"] for one in outcome["results"]] == [201, 201, 201, 422, 201]
    assert orders.stats()["pending_enrichment"] == 1
    assert len(orders.consume(max_messages=10)) == 3


@KINDS
def test_enrichment_adds_one_read(customers: ItemClient, kind: str, ledger: Ledger) -> None:
    customers.put({"id": 1})
    orders = stream(customers, kind)
    plain = QueueClient(customers.process, customers.key, "plain").create(kind.replace("stream", "one"))
    costs = []
    for queue in (plain, orders):
        queue.publish({"customer": 1, "n": 0})
        with ledger.operation(queue.queue) as cost:
            queue.publish({"customer": 1, "n": 1})
        costs.append(dict(cost.calls))
    assert costs[1] == {**costs[0], "dynamodb.GetItem": costs[0].get("dynamodb.GetItem", 0) + 1}


@KINDS
def test_joined_it_must_still_fit(customers: ItemClient, kind: str) -> None:
    customers.put({"id": 1, "text": "x" * 600_000})
    orders = stream(customers, kind, missing_lookup="defer")
    assert orders.try_publish({"customer": 1, "more": "x" * 600_000}).problem == (413, "payload_too_large")
    assert orders.try_publish({"customer": 2, "more": "x" * 600_000}).json["status"] == "pending_enrichment"
    customers.put({"id": 2, "text": "x" * 600_000})
    (letter,) = orders.dead_letters()
    assert letter["reason"] == "rejected"
    assert orders.stats()["pending_enrichment"] == 0


@KINDS
def test_a_limit_counts_what_waits(customers: ItemClient, kind: str) -> None:
    customers.put({"id": 1})
    orders = stream(customers, kind, missing_lookup="defer", max_queue_depth=2)
    assert orders.try_publish({"customer": 1}).json["status"] == "queued"
    assert orders.try_publish({"customer": 2}).json["status"] == "pending_enrichment"
    assert orders.try_publish({"customer": 2}).problem == (409, "queue_full")
    assert orders.try_publish({"customer": 1}).problem == (409, "queue_full")
    customers.put({"id": 2})
    assert orders.stats()["depth"] == 2
    assert orders.try_publish({"customer": 1}).problem == (409, "queue_full")
    if kind == "stream_to_one":
        for message in orders.consume(max_messages=2):
            orders.ack(message)
        assert orders.try_publish({"customer": 1}).status == 201
        assert orders.try_publish({"customer": 3}).status == 201


@KINDS
def test_a_purge_takes_what_waits(customers: ItemClient, kind: str, clock: ManualClock, world: World) -> None:
    orders = stream(customers, kind, missing_lookup="defer", primary_key=["n"])
    orders.publish({"customer": 2, "n": 1, "text": "x" * 70_000})
    assert orders.call("queue_purge").status == 202
    assert orders.stats()["pending_enrichment"] == 0
    assert world.objects() == []
    clock.advance(seconds=1)
    assert orders.try_publish({"customer": 2, "n": 1}).json["status"] == "pending_enrichment"
    customers.put({"id": 2})
    assert len(orders.consume()) == 1


@pytest.mark.parametrize(
    ("kind", "more"),
    [("stream_to_one", {}), ("stream_to_one", {"visibility_key": ["customer"]}), ("stream_to_many", {})],
    ids=["alone", "shared", "many"],
)
@pytest.mark.parametrize("customer", [7, 8])
def test_a_message_past_its_age_holds_no_key_and_is_not_promoted(
    customers: ItemClient, kind: str, more: dict[str, Any], customer: int, clock: ManualClock
) -> None:
    customers.put({"id": 8})
    orders = stream(customers, kind, missing_lookup="defer", primary_key=["n"], max_message_age_seconds=60, **more)
    orders.publish({"customer": 7, "n": 1})
    clock.advance(seconds=60)
    fresh = orders.publish({"customer": customer, "n": 1})
    customers.put({"id": 7})
    assert [message["message_id"] for message in orders.consume(max_messages=10)] == [fresh]
    orders.process.run("message_promote")
    assert orders.stats()["pending_enrichment"] == 0
    assert orders.dead_letters() == []


OVERDUE = pytest.mark.parametrize(
    ("overdue", "reasons"),
    [
        ({"max_message_age_seconds": 60}, []),
        ({"max_message_age_seconds": 60, "expired_to_dead_letters": True}, ["expired"] * 3),
        ({"defer_ttl_seconds": 60}, ["lookup_timeout"] * 3),
    ],
    ids=["aged", "aged to dead letters", "timed out"],
)


@KINDS
@pytest.mark.parametrize("waits", [False, True])
@OVERDUE
def test_what_has_waited_for_too_long_is_not_counted_and_makes_room(
    customers: ItemClient,
    kind: str,
    waits: bool,
    overdue: dict[str, Any],
    reasons: list[str],
    clock: ManualClock,
) -> None:
    customers.put({"id": 8})
    policy = {"max_queue_depth": 3, "overflow_policy": "drop_oldest_append"}
    orders = stream(customers, kind, missing_lookup="defer", primary_key=["n"], **policy, **overdue)
    for n in range(3):
        assert orders.try_publish({"customer": n % 2, "n": n}).json["status"] == "pending_enrichment"
    clock.advance(seconds=60)
    stats = orders.stats()
    assert (stats["pending_enrichment"], stats["depth"]) == (0, 0)
    fresh = [orders.publish({"customer": 1 if waits else 8, "n": n}) for n in range(3, 6)]
    stats = orders.stats()
    assert (stats["pending_enrichment"], stats["depth"]) == (3 if waits else 0, 3)
    assert [letter["reason"] for letter in orders.dead_letters()] == reasons
    customers.put({"id": 1})
    assert [message["message_id"] for message in orders.consume(max_messages=10)] == fresh


@KINDS
@pytest.mark.parametrize("policy", ["reject", "drop_oldest_append"])
def test_a_batch_finds_the_room_of_what_has_waited_for_too_long(
    customers: ItemClient, kind: str, policy: str, clock: ManualClock
) -> None:
    customers.put({"id": 8})
    limits = {"max_queue_depth": 4, "overflow_policy": policy}
    orders = stream(customers, kind, missing_lookup="defer", defer_ttl_seconds=60, **limits)
    kept = orders.publish({"customer": 8, "n": 0})
    orders.publish_many(*({"customer": n, "n": n} for n in (1, 2, 3)))
    clock.advance(seconds=60)
    published = orders.publish_many({"customer": 8, "n": 4}, {"customer": 9, "n": 5}, {"customer": 8, "n": 6})
    assert [one["status"] for one in published["results"]] == [201, 201, 201]
    assert orders.try_publish({"customer": 9}).problem == (409, "queue_full")
    delivered = [message["message_id"] for message in orders.consume(max_messages=10)]
    assert delivered == [kept, *(published["results"][index]["message_id"] for index in (0, 2))]


@KINDS
def test_a_message_may_wait_where_joined_ones_past_their_age_were(
    customers: ItemClient, kind: str, clock: ManualClock
) -> None:
    customers.put({"id": 8})
    orders = stream(customers, kind, missing_lookup="defer", max_queue_depth=2, max_message_age_seconds=60)
    for n in range(2):
        orders.publish({"customer": 8, "n": n})
    clock.advance(seconds=60)
    assert orders.try_publish({"customer": 7}).json["status"] == "pending_enrichment"


@KINDS
def test_more_keys_are_waited_for_than_one_publish_looks_at(
    customers: ItemClient, kind: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.enrichment.waiting._SOME", 4)
    customers.put({"id": "there"})
    other = QueueClient(customers.process, customers.key, "other")
    other.create(kind, lookup_queue="customers", foreign_key=["customer"], missing_lookup="defer")
    other.publish_many(*({"customer": n} for n in range(8)))
    orders = stream(customers, kind, missing_lookup="defer", max_queue_depth=1, defer_ttl_seconds=60)
    orders.publish({"customer": 7})
    clock.advance(seconds=60)
    answers = {orders.try_publish({"customer": "there"}).status for _ in range(60)}
    assert 201 in answers
    assert other.stats()["pending_enrichment"] == 8
