"""Who may do what with a queue: whom its functions refuse, and that the refused have changed nothing."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant, sample_event
from tests.worlds import World


@dataclass(frozen=True)
class Case:
    """Which principals a function refuses; all others get further than that."""

    publisher: bool = True
    consumer: bool = True


ADMIN_ONLY = Case()
PUBLISHERS = Case(publisher=False)
CONSUMERS = Case(consumer=False)
ANY_ACTION = Case(publisher=False, consumer=False)
CASES = {
    "queue_create": ADMIN_ONLY,
    "queue_read": ANY_ACTION,
    "queue_update": ADMIN_ONLY,
    "queue_enable": ADMIN_ONLY,
    "queue_disable": ADMIN_ONLY,
    "queue_purge": ADMIN_ONLY,
    "queue_delete": ADMIN_ONLY,
    "queue_stats": ANY_ACTION,
    "message_publish": PUBLISHERS,
    "message_publish_batch": PUBLISHERS,
    "queue_consume": CONSUMERS,
    "message_ack": CONSUMERS,
    "message_nack": CONSUMERS,
    "message_extend": CONSUMERS,
    "queue_settle": CONSUMERS,
    "dlq_list": CONSUMERS,
    "dlq_redrive_one": ADMIN_ONLY,
    "dlq_redrive": ADMIN_ONLY,
    "dlq_delete": ADMIN_ONLY,
    "dlq_purge": ADMIN_ONLY,
}


@pytest.mark.parametrize("function", CASES)
def test_whom_a_function_refuses(
    process: Process, world: World, tenant: Tenant, stranger: Tenant, platform_key: str, function: str
) -> None:
    QueueClient(process, tenant.key).create()
    case = CASES[function]
    refused = {
        platform_key: 403,
        process.client_key(tenant): 403,
        process.client_key(tenant, ("order", "publish consume"), ("orders?", "publish consume")): 403,
    }
    if function != "queue_create":
        refused[stranger.key] = 404
    if case.publisher:
        refused[process.client_key(tenant, ("orders", "publish"))] = 403
    if case.consumer:
        refused[process.client_key(tenant, ("orders", "consume"))] = 403
    before = state(world)
    assert process.call(function).problem == (401, "unauthenticated")
    for key, status in refused.items():
        reply = process.call(function, key=key, query=sample_event(function)["rawQueryString"])
        assert reply.status == status, reply
    assert state(world) == before


def test_a_client_lists_the_queues_it_has_any_action_on(process: Process, tenant: Tenant) -> None:
    for name in ("a", "b", "c"):
        QueueClient(process, tenant.key, name).create()
    key = process.client_key(tenant, ("a", "publish"), ("c", "consume"))
    listed = process.call("queue_list", key=key).json["queues"]
    assert [queue["name"] for queue in listed] == ["a", "c"]


def test_without_the_action_403_on_what_exists_and_404_on_what_does_not(process: Process, tenant: Tenant) -> None:
    QueueClient(process, tenant.key).create()
    key = process.client_key(tenant, ("elsewhere", "publish consume"))
    for name, status in (("orders", 403), ("absent", 404)):
        queue = QueueClient(process, key, name)
        replies = [queue.call(function) for function, case in CASES.items() if case != ADMIN_ONLY]
        assert {reply.status for reply in replies} == {status}


def test_only_the_admin_acts_for_another_client(process: Process, tenant: Tenant) -> None:
    QueueClient(process, tenant.key).create("one_to_many")
    key = process.client_key(tenant, ("*", "consume"))
    assert QueueClient(process, key).try_consume(client_id="other").problem == (403, "forbidden")


def state(world: World) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return world.rows(world.state_table), world.rows(world.edges_table)
