"""Queues as such: made, found, listed, changed, switched and deleted."""

from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock


@pytest.fixture
def admin(process: Process, tenant: Tenant) -> QueueClient:
    return QueueClient(process, tenant.key)


def test_a_queue_is_made_with_its_defaults_and_found_by_name_and_id(admin: QueueClient) -> None:
    body = {"name": "orders", "type": "one_to_one", "description": "x", "settings": {"primary_key": "order.id"}}
    made = admin.process.call("queue_create", key=admin.key, body=body)
    assert made.status == 201
    assert made.json["settings"] == {
        "primary_key": ["order.id"],
        "consume_ttl_seconds": 30,
        "max_deliveries": 5,
        "retry_delay_seconds": 0,
        "auto_ack": False,
        "expired_to_dead_letters": False,
        "partitions": 1,
    }
    assert (made.json["enabled"], made.json["description"]) == (True, "x")
    by_id = QueueClient(admin.process, admin.key, made.json["queue_id"])
    assert admin.call("queue_read").json == by_id.call("queue_read").json == made.json


def test_a_name_is_taken_once_per_tenant(admin: QueueClient, stranger: Tenant) -> None:
    admin.create()
    again = admin.process.call("queue_create", key=admin.key, body={"name": "orders", "type": "key_value"})
    assert again.status == 400  # key_value needs a primary key
    body = {"name": "orders", "type": "one_to_many"}
    assert admin.process.call("queue_create", key=admin.key, body=body).problem == (409, "duplicate_name")
    assert admin.process.call("queue_create", key=stranger.key, body=body).status == 201


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"max_deliverys": 3}, "settings.max_deliverys"),
        ({"max_deliveries": 0}, "settings.max_deliveries"),
        ({"max_deliveries": "3"}, "settings.max_deliveries"),
        ({"max_deliveries": True}, "settings.max_deliveries"),
        ({"max_deliveries": 2.5}, "settings.max_deliveries"),
        ({"consume_ttl_seconds": 0}, "settings.consume_ttl_seconds"),
        ({"consume_ttl_seconds": 43_201}, "settings.consume_ttl_seconds"),
        ({"retry_delay_seconds": -1}, "settings.retry_delay_seconds"),
        ({"max_queue_depth": 0}, "settings.max_queue_depth"),
        ({"overflow_policy": "reject"}, "settings"),
        ({"max_queue_depth": 1, "overflow_policy": "drop"}, "settings.overflow_policy"),
        ({"primary_key": []}, "settings.primary_key"),
        ({"primary_key": ["a", "a"]}, "settings.primary_key"),
        ({"visibility_key": 1}, "settings.visibility_key"),
        ({"partitions": 0}, "settings.partitions"),
        ({"start_from": "latest"}, "settings.start_from"),
        ({"max_message_age_seconds": 0}, "settings.max_message_age_seconds"),
    ],
    ids=repr,
)
def test_settings_that_are_none_are_refused(admin: QueueClient, settings: dict[str, Any], field: str) -> None:
    reply = admin.process.call(
        "queue_create", key=admin.key, body={"name": "q", "type": "one_to_one", "settings": settings}
    )
    assert (reply.problem, reply.fields) == ((400, "validation_failed"), [field])


def test_live_settings_change_and_go_back_to_their_default(admin: QueueClient) -> None:
    admin.create(max_deliveries=3, visibility_key="k")
    changed = admin.call("queue_update", body={"settings": {"max_deliveries": 7, "max_queue_depth": 10}})
    assert changed.status == 200
    assert (changed.json["settings"]["max_deliveries"], changed.json["settings"]["max_queue_depth"]) == (7, 10)
    back = admin.call("queue_update", body={"settings": {"max_deliveries": None, "max_queue_depth": None}}).json
    assert back["settings"]["max_deliveries"] == 5
    assert "max_queue_depth" not in back["settings"]
    assert admin.call("queue_read").json == back


@pytest.mark.parametrize("settings", [{"visibility_key": "other"}, {"auto_ack": True}, {"partitions": 2}, {"x": 1}])
def test_what_is_fixed_for_good_is_refused(admin: QueueClient, settings: dict[str, Any]) -> None:
    before = admin.create(visibility_key="k").call("queue_read").json
    assert admin.call("queue_update", body={"settings": settings}).problem == (400, "validation_failed")
    assert admin.call("queue_read").json == before


def test_a_disabled_queue_refuses_publish_and_consume_within_five_seconds(
    timed: Process, clock: ManualClock, platform_key: str
) -> None:
    tenant = timed.tenant(platform_key=platform_key)
    queue = QueueClient(timed, tenant.key).create()
    elsewhere = QueueClient(Process(clock=clock), tenant.key)
    assert elsewhere.call("queue_read").json["enabled"] is True
    assert queue.call("queue_disable").json["enabled"] is False
    clock.advance(seconds=5)
    assert elsewhere.try_publish({"a": 1}).problem == (409, "queue_disabled")
    assert elsewhere.try_consume().problem == (409, "queue_disabled")
    assert elsewhere.call("queue_read").status == 200
    assert queue.call("queue_enable").json["enabled"] is True


def test_lists_are_by_name_filtered_and_paged(admin: QueueClient, stranger: Tenant) -> None:
    for name, kind in (("b1", "one_to_one"), ("a", "one_to_one"), ("b2", "one_to_many")):
        QueueClient(admin.process, admin.key, name).create(kind)

    def names(**query: Any) -> list[str]:
        return [queue["name"] for queue in admin.process.call("queue_list", key=admin.key, query=query).json["queues"]]

    assert names() == ["a", "b1", "b2"]
    assert names(name_prefix="b") == ["b1", "b2"]
    assert names(type="one_to_many") == ["b2"]
    page = admin.process.call("queue_list", key=admin.key, query={"limit": 2}).json
    token = page["next_token"]
    assert names(limit=2, next_token=token) == ["b2"]
    for key, query in ((stranger.key, {}), (admin.key, {"name_prefix": "b"}), (admin.key, {"type": "one_to_one"})):
        reply = admin.process.call("queue_list", key=key, query={"next_token": token, **query})
        assert reply.problem == (400, "invalid_token")


def test_a_deleted_queue_is_gone_and_its_name_is_free(admin: QueueClient) -> None:
    first = admin.create().call("queue_read").json["queue_id"]
    assert admin.call("queue_delete").status == 204
    assert admin.call("queue_read").problem == admin.call("queue_delete").problem == (404, "not_found")
    assert QueueClient(admin.process, admin.key, first).call("queue_read").status == 404
    assert admin.create().call("queue_read").json["queue_id"] != first


def test_the_id_of_another_tenant_s_queue_is_no_queue(admin: QueueClient, stranger: Tenant) -> None:
    queue_id = admin.create().call("queue_read").json["queue_id"]
    theirs, nobody_s = (QueueClient(admin.process, stranger.key, name) for name in (queue_id, queue_id[::-1].lower()))
    for function in ("queue_read", "queue_update", "queue_delete", "queue_purge", "queue_stats", "queue_disable"):
        seen, unseen = theirs.call(function), nobody_s.call(function)
        assert seen.problem == unseen.problem == (404, "not_found")


@pytest.mark.parametrize("query", ["=1", "limit=1&="])
def test_a_parameter_without_a_name_is_told_as_one_of_the_query(process: Process, tenant: Tenant, query: str) -> None:
    refused = process.call("queue_list", key=tenant.key, query=query)
    assert (refused.problem, refused.fields) == ((400, "validation_failed"), ["query"])
    assert "query" in refused.json["detail"]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("one_to_one", {}),
        ("one_to_many", {}),
        ("time_series", {"interval_seconds": 60, "aggregation_fields": ["n"]}),
        ("stream_to_one", {"lookup_queue": "items", "foreign_key": ["n"], "missing_lookup": "defer"}),
        ("stream_to_many", {"lookup_queue": "items", "foreign_key": ["n"], "missing_lookup": "defer"}),
    ],
)
def test_a_version_has_a_meaning_for_items_only(
    process: Process, tenant: Tenant, kind: str, settings: dict[str, Any]
) -> None:
    QueueClient(process, tenant.key, "items").create("key_value", primary_key=["n"])
    queue = QueueClient(process, tenant.key).create(kind, **settings)
    assert queue.try_publish({"n": 1}, headers={"If-Match": "*"}).problem == (400, "validation_failed")
    assert queue.stats()["depth"] == 0
    assert queue.try_publish({"n": 1}).status == 201
