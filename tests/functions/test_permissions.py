"""Who may do what: every function, every principal, and what those who may not have changed (nothing)."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant, sample_event
from tests.worlds import World


@dataclass(frozen=True)
class Case:
    """What a function answers to each principal; the platform admin and the tenant's admin are asked last."""

    stranger: int
    without: int
    consumer: int
    publisher: int
    platform: int
    admin: int


NOBODY_BUT_ADMIN = {"without": 403, "consumer": 403, "publisher": 403, "platform": 403}
EVERY_CLIENT = {"consumer": 200, "publisher": 200, "platform": 403, "admin": 200}
CASES = {
    "whoami_read": Case(200, 200, 200, 200, 200, 200),
    "tenant_create": Case(403, 403, 403, 403, 201, 403),
    "tenant_list": Case(403, 403, 403, 403, 200, 403),
    "tenant_read": Case(403, 403, 403, 403, 200, 403),
    "tenant_delete": Case(403, 403, 403, 403, 409, 403),
    "tenant_rotate_key": Case(404, 403, 403, 403, 200, 200),
    "client_create": Case(stranger=201, **NOBODY_BUT_ADMIN, admin=201),
    "client_list": Case(stranger=200, **NOBODY_BUT_ADMIN, admin=200),
    "client_read": Case(stranger=404, **NOBODY_BUT_ADMIN, admin=200),
    "client_update": Case(stranger=404, **NOBODY_BUT_ADMIN, admin=200),
    "client_delete": Case(stranger=404, **NOBODY_BUT_ADMIN, admin=204),
    "client_rotate": Case(stranger=404, **NOBODY_BUT_ADMIN, admin=200),
    "log_create": Case(stranger=200, **NOBODY_BUT_ADMIN, admin=200),
    "log_enable": Case(stranger=404, **NOBODY_BUT_ADMIN, admin=200),
    "log_disable": Case(stranger=404, **NOBODY_BUT_ADMIN, admin=200),
    "log_delete": Case(stranger=404, **NOBODY_BUT_ADMIN, admin=409),
    "log_list": Case(stranger=200, without=200, **EVERY_CLIENT),
    "log_read": Case(stranger=404, without=403, **EVERY_CLIENT),
    "log_partitions": Case(stranger=404, without=403, **EVERY_CLIENT),
    "log_stats": Case(stranger=404, without=403, **EVERY_CLIENT),
    "log_enqueue": Case(stranger=404, without=403, consumer=403, publisher=200, platform=403, admin=200),
    "log_poll": Case(stranger=404, without=403, consumer=200, publisher=403, platform=403, admin=200),
    "log_commit": Case(stranger=404, without=403, consumer=200, publisher=403, platform=403, admin=200),
}


@pytest.mark.parametrize("function", CASES)
def test_who_may_call(
    process: Process, world: World, tenant: Tenant, stranger: Tenant, platform_key: str, function: str
) -> None:
    LogClient(process, tenant.key).create(partitions=30)
    spare = process.client_key(tenant)
    keys = {
        "stranger": stranger.key,
        "without": process.client_key(tenant, ("shop/other", "publish consume"), ("other/*", "publish consume")),
        "consumer": process.client_key(tenant, ("shop/orders", "consume")),
        "publisher": process.client_key(tenant, ("shop/orders", "publish")),
        "platform": platform_key,
        "admin": tenant.key,
    }
    path = {"tenant_id": tenant.tenant_id, "client_id": spare.partition(".")[0]}
    expected = CASES[function]
    assert process.call(function, path=path).problem == (401, "unauthenticated")
    process.call("tenant_list", key=platform_key)  # leaves the platform key's hash, no change of the request below
    for principal, key in keys.items():
        before = state(world)
        reply = process.call(function, key=key, path=path, query=sample_event(function)["rawQueryString"])
        assert (principal, reply.status) == (principal, getattr(expected, principal))
        if reply.status >= 400:
            assert state(world) == before


def test_every_function_behind_a_key_has_its_row() -> None:
    from tests.template.repository import functions

    routed = {function.name for function in functions() if function.routes}
    ours = {name for name in routed if name.startswith(("log_", "tenant_", "client_", "whoami_"))}
    assert set(CASES) == ours


@pytest.mark.parametrize(
    ("glob", "queue", "allowed"),
    [
        ("shop/orders", "orders", True),
        ("shop/order", "orders", False),
        ("orders", "orders", False),
        ("*", "orders", True),
        ("shop/*", "orders", True),
        ("s*s", "orders", True),
        ("*orders", "orders", True),
        ("shop/order?", "orders", True),
        ("shop?orders", "orders", True),
        ("shop/orders?", "orders", False),
        ("SHOP/orders", "orders", False),
        ("shop/or.ers", "orders", False),
        ("shop/a.b", "a.b", True),
        ("shop/a.b", "aXb", False),
        ("shop", "orders", False),
    ],
)
def test_globs(process: Process, tenant: Tenant, glob: str, queue: str, *, allowed: bool) -> None:
    LogClient(process, tenant.key, queue).create()
    client = LogClient(process, process.client_key(tenant, (glob, "publish")), queue)
    assert client.try_enqueue({"key": "k", "seq": 1}).status == (200 if allowed else 403)
    assert client.call("log_read").status == (200 if allowed else 403)
    listed = process.call("log_list", key=client.key, path={"namespace": "shop"}).json["queues"]
    assert [each["queue"] for each in listed] == ([queue] if allowed else [])


def test_actions_of_several_permissions_add_up(process: Process, tenant: Tenant) -> None:
    LogClient(process, tenant.key).create()
    key = process.client_key(tenant, ("shop/*", "publish"), ("*/orders", "consume"))
    client = LogClient(process, key)
    assert client.try_enqueue({"key": "k", "seq": 1}).status == 200
    assert client.try_poll().status == 200


def test_without_the_action_403_on_what_exists_and_404_on_what_does_not(process: Process, tenant: Tenant) -> None:
    LogClient(process, tenant.key).create()
    key = process.client_key(tenant, ("elsewhere/*", "publish consume"))
    for queue, status in (("orders", 403), ("absent", 404)):
        client = LogClient(process, key, queue)
        replies = [client.try_enqueue({"key": "k", "seq": 1}), client.try_poll(), client.try_commit(offset=1)]
        replies += [client.call(name) for name in ("log_read", "log_stats", "log_partitions")]
        assert {reply.status for reply in replies} == {status}


def state(world: World) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return world.rows(world.state_table), world.rows(world.edges_table)
