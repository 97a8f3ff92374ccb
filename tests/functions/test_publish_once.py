"""A publish that dies after storing, whose message is done before it is repeated: with its `Idempotency-Key`, nothing
comes twice, whatever has become of the message meanwhile."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest

from tests.functions.documents import DocumentClient
from tests.functions.items import ItemClient
from tests.functions.queues import QueueClient, give_up_attempts
from tests.processes import Process, Reply, Tenant
from tests.worlds import ManualClock, World

JOINED = {"lookup_queue": "customers", "foreign_key": ["customer"]}
KINDS = pytest.mark.parametrize(
    ("kind", "settings", "batch"),
    [
        ("one_to_one", {}, False),
        ("one_to_one", {"primary_key": ["n"]}, True),
        ("one_to_one", {"visibility_key": ["customer"]}, True),
        ("one_to_one", {"visibility_key": ["customer"], "primary_key": ["n"]}, False),
        ("one_to_one", {"max_queue_depth": 100}, True),
        ("one_to_one", {"max_queue_depth": 100, "overflow_policy": "drop_oldest_append", "auto_ack": True}, False),
        ("one_to_many", {"start_from": "earliest"}, True),
        ("one_to_many", {"start_from": "earliest", "primary_key": ["n"], "max_queue_depth": 100}, False),
        ("stream_to_one", JOINED, False),
        ("stream_to_one", {**JOINED, "visibility_key": ["customer"], "primary_key": ["n"]}, True),
        ("stream_to_many", {**JOINED, "start_from": "earliest"}, False),
    ],
)


class Shop:
    """A queue and the items it may look up. Every attempt at a request is about a customer of its own."""

    def __init__(self, process: Process, owner: Tenant, kind: str, settings: Mapping[str, Any]) -> None:
        self.number = 0
        self.customers = ItemClient(process, owner.key, "customers").create(primary_key=["id"], on_duplicate="replace")
        self.orders = QueueClient(process, owner.key, "orders").create(kind, **settings)
        self.drain()  # a consumer is there from the beginning

    def prepare(self) -> None:
        self.number += 1

    def arrive(self) -> None:
        assert self.customers.try_publish({"id": self.number}).status in (200, 201)

    def order(self) -> Reply:
        return self.orders.try_publish({"customer": self.number, "n": self.number}, headers=self.key)

    def order_two(self) -> Reply:
        body = {"messages": [{"customer": self.number, "n": n} for n in (self.number, -self.number)]}
        return self.orders.call("message_publish_batch", body=body, headers=self.key)

    @property
    def key(self) -> Mapping[str, str]:
        return {"idempotency-key": f"{self.number}"}

    def drain(self) -> list[Any]:
        """What is delivered, all of it settled."""
        found: list[Any] = []
        while messages := self.orders.consume(max_messages=10):
            for message in messages:
                found.append(message["payload"]["n"])
                if "lease_id" in message:
                    self.orders.ack(message)
        return found


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


@KINDS
def test_what_was_done_before_the_repeat_does_not_come_again(
    timed: Process,
    world: World,
    owner: Tenant,
    kind: str,
    settings: Mapping[str, Any],
    batch: bool,
    faults: ModuleType,
    clock: ManualClock,
) -> None:
    shop = Shop(timed, owner, kind, settings)
    publish = shop.order_two if batch else shop.order

    def prepare() -> None:
        shop.prepare()
        if "lookup_queue" in settings:
            shop.arrive()

    for point in faults.crash_points(publish, prepare=prepare):
        clock.advance(seconds=200)
        before = shop.drain()
        give_up_attempts(world)
        replies = [publish(), publish()]
        assert replies[0].body == replies[1].body
        assert [reply.status for reply in replies] == [200 if batch else 201] * 2, point
        if batch:
            assert [result["status"] for result in replies[0].json["results"]] == [201, 201], point
        clock.advance(seconds=6)
        assert sorted(before + shop.drain()) == ([-shop.number, shop.number] if batch else [shop.number]), point
        clock.advance(seconds=6)
        assert shop.drain() == [], point


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("settings", [{}, {"visibility_key": ["customer"]}])
def test_what_is_still_there_at_the_repeat_is_not_stored_twice(
    timed: Process,
    world: World,
    owner: Tenant,
    settings: Mapping[str, Any],
    batch: bool,
    faults: ModuleType,
    clock: ManualClock,
) -> None:
    shop = Shop(timed, owner, "one_to_one", {**settings, "max_queue_depth": 100})
    publish = shop.order_two if batch else shop.order
    for point in faults.crash_points(publish, prepare=shop.prepare):
        clock.advance(seconds=200)
        give_up_attempts(world)
        assert publish().status == (200 if batch else 201), point
        clock.advance(seconds=6)
        assert sorted(shop.drain()) == ([-shop.number, shop.number] if batch else [shop.number]), point


@pytest.mark.parametrize("kind", ["stream_to_one", "stream_to_many"])
def test_what_waited_and_was_done_does_not_come_again(
    timed: Process, world: World, owner: Tenant, kind: str, faults: ModuleType, clock: ManualClock
) -> None:
    shop = Shop(timed, owner, kind, {**JOINED, "missing_lookup": "defer"})
    for point in faults.crash_points(shop.order, prepare=shop.prepare):
        shop.arrive()
        clock.advance(seconds=6)
        before = shop.drain()
        if shop.number % 2:
            assert shop.customers.call("item_delete", path={"key": f"{shop.number}"}).status == 204
        give_up_attempts(world)
        assert shop.order().status == 201, point
        shop.arrive()
        clock.advance(seconds=6)
        assert before + shop.drain() == [shop.number], point


def test_what_was_set_aside_is_not_delivered_too(
    timed: Process, world: World, owner: Tenant, faults: ModuleType, clock: ManualClock
) -> None:
    """The item that was missing comes between the attempts."""
    shop = Shop(timed, owner, "stream_to_one", {**JOINED, "missing_lookup": "reject"})
    for point in faults.crash_points(shop.order, prepare=shop.prepare):
        aside = shop.orders.dead_letters()
        shop.arrive()
        give_up_attempts(world)
        assert (shop.order().status == 422) == bool(aside), point
        clock.advance(seconds=6)
        assert len(aside) + len(shop.drain()) == 1, point
        assert shop.orders.dead_letters() == aside, point
        assert shop.orders.call("dlq_purge").status == 204


def test_a_primary_key_that_is_anothers_by_now_is_no_reason_to_refuse_the_repeat(
    timed: Process, world: World, owner: Tenant, faults: ModuleType, clock: ManualClock
) -> None:
    shop = Shop(timed, owner, "one_to_one", {"primary_key": ["n"]})
    for point in faults.crash_points(shop.order, prepare=shop.prepare):
        before = shop.drain()
        other = shop.orders.publish({"customer": 0, "n": shop.number})
        give_up_attempts(world)
        assert shop.order().status == (201 if before else 409), point
        (found,) = shop.orders.consume(max_messages=10)
        assert found["message_id"] == other, point
        shop.orders.ack(found)
        clock.advance(seconds=6)


@pytest.mark.parametrize("settings", [{}, {"max_queue_depth": 100}])
def test_a_document_that_was_deleted_before_the_repeat_stays_deleted(
    timed: Process, world: World, owner: Tenant, settings: Mapping[str, Any], faults: ModuleType, clock: ManualClock
) -> None:
    documents = DocumentClient(timed, owner.key).create(**settings)
    number = 0

    def upload() -> Reply:
        return documents.try_upload(headers={"idempotency-key": f"{number}"})

    def prepare() -> None:
        nonlocal number
        number += 1

    for point in faults.crash_points(upload, prepare=prepare):
        deleted = [one["document_id"] for one in documents.listed()]
        for document_id in deleted:
            documents.delete(document_id)
        give_up_attempts(world)
        assert upload().status == 201, point
        left = documents.listed()
        assert len(deleted) + len(left) == 1, point
        for document in left:
            documents.delete(document["document_id"])
        clock.advance(seconds=6)


@pytest.mark.parametrize(
    "settings",
    [
        {"on_duplicate": "replace"},
        {"on_duplicate": "reject", "max_queue_depth": 100},
        {"on_duplicate": "reject", "max_queue_depth": 1, "overflow_policy": "drop_oldest_append"},
    ],
)
@pytest.mark.parametrize("gone", [True, False], ids=["deleted", "replaced"])
def test_an_item_that_was_deleted_or_replaced_before_the_repeat_does_not_come_back(
    timed: Process,
    world: World,
    owner: Tenant,
    settings: Mapping[str, Any],
    gone: bool,
    faults: ModuleType,
    clock: ManualClock,
) -> None:
    prices = ItemClient(timed, owner.key).create(**settings)
    prices.put({"k": -1})
    number = 0

    def put() -> Reply:
        return prices.try_publish({"k": number, "v": 1}, headers={"idempotency-key": f"{number}"})

    def prepare() -> None:
        nonlocal number
        number += 1

    for point in faults.crash_points(put, prepare=prepare):
        stored = prices.try_get(number).status == 200
        if stored:
            assert prices.call("item_delete", path={"key": f"{number}"}).status == 204
            if not gone:
                prices.put({"k": number, "v": 2})
        give_up_attempts(world)
        clock.advance(seconds=30)
        replies = [put(), put()]
        assert [reply.status for reply in replies] == [201, 201], point
        assert replies[0].body == replies[1].body
        found = prices.try_get(number)
        if not stored:
            assert found.json["payload"]["v"] == 1, point
        elif gone:
            assert found.status == 404, point
        else:
            assert found.json["payload"]["v"] == 2, point


def test_a_repeat_says_that_it_replaced_as_the_first_would_have(
    timed: Process, world: World, owner: Tenant, faults: ModuleType, clock: ManualClock
) -> None:
    prices = ItemClient(timed, owner.key).create(on_duplicate="replace")
    big = "x" * 300_000
    number = 0

    def put() -> Reply:
        return prices.try_publish({"k": number, "v": big}, headers={"idempotency-key": f"{number}"})

    def prepare() -> None:
        nonlocal number
        number += 1
        prices.put({"k": number, "v": big + "y"})

    for point in faults.crash_points(put, prepare=prepare):
        give_up_attempts(world)
        assert put().status == 200, point
        assert prices.get(number)["payload"]["v"] == big, point
        clock.advance(seconds=6)
