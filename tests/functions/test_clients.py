"""The functions client_*: what they do to a client, and how soon a change is felt."""

from types import ModuleType
from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World

PERMISSIONS = [{"queues": "shop/*", "actions": ["publish", "consume"]}]


def make(process: Process, tenant: Tenant, **members: Any) -> Any:
    body = {"name": "worker", "permissions": PERMISSIONS, **members}
    reply = process.call("client_create", key=tenant.key, body=body)
    assert reply.status == 201
    return reply.json


def on(process: Process, tenant: Tenant, function: str, client_id: str, **request: Any) -> Any:
    return process.call(function, key=tenant.key, path={"client_id": client_id}, **request)


def test_a_client_is_made_read_changed_and_deleted(process: Process, tenant: Tenant, world: World) -> None:
    before = world.rows(world.state_table)
    made = make(process, tenant)
    assert set(made) == {"client_id", "name", "role", "permissions", "created_at", "api_key"}
    assert (made["name"], made["role"], made["permissions"]) == ("worker", "client", PERMISSIONS)
    key = made.pop("api_key")
    assert on(process, tenant, "client_read", made["client_id"]).json == made
    listed = process.call("client_list", key=tenant.key).json["clients"]
    assert [each["client_id"] for each in listed] == [tenant.admin_id, made["client_id"]]
    assert listed[1] == made
    changed = [{"queues": "*", "actions": ["consume"]}]
    updated = on(process, tenant, "client_update", made["client_id"], body={"permissions": changed})
    assert (updated.status, updated.json) == (200, made | {"permissions": changed})
    assert process.call("whoami_read", key=key).json["permissions"] == changed
    assert on(process, tenant, "client_delete", made["client_id"]).status == 204
    assert on(process, tenant, "client_delete", made["client_id"]).problem == (404, "not_found")
    assert on(process, tenant, "client_read", made["client_id"]).problem == (404, "not_found")
    assert process.call("whoami_read", key=key).status == 401
    assert world.rows(world.state_table) == before


def test_a_client_may_have_no_permissions_and_actions_are_counted_once(process: Process, tenant: Tenant) -> None:
    assert make(process, tenant, permissions=[])["permissions"] == []
    twice = [{"queues": "a", "actions": ["publish", "publish"]}]
    assert make(process, tenant, permissions=twice)["permissions"] == [{"queues": "a", "actions": ["publish"]}]


def test_rotating_kills_the_old_key(process: Process, tenant: Tenant) -> None:
    made = make(process, tenant)
    rotated = on(process, tenant, "client_rotate", made["client_id"])
    assert rotated.status == 200
    assert {"rotated_at", "api_key"} <= set(rotated.json)
    assert rotated.json["permissions"] == PERMISSIONS
    assert rotated.json["api_key"] != made["api_key"]
    keys = [made["api_key"], rotated.json["api_key"]]
    assert [process.call("whoami_read", key=key).status for key in keys] == [401, 200]
    assert "api_key" not in on(process, tenant, "client_read", made["client_id"]).json


def test_the_admin_is_not_changed_nor_deleted_but_rotated(process: Process, tenant: Tenant) -> None:
    refused = (409, "admin_client")
    assert on(process, tenant, "client_delete", tenant.admin_id).problem == refused
    assert on(process, tenant, "client_update", tenant.admin_id, body={"permissions": []}).problem == refused
    rotated = on(process, tenant, "client_rotate", tenant.admin_id)
    assert rotated.status == 200
    assert process.call("whoami_read", key=rotated.json["api_key"]).json["role"] == "admin"
    assert process.call("whoami_read", key=tenant.key).status == 401


def test_clients_are_paged_under_a_token_of_their_tenant(process: Process, tenant: Tenant, stranger: Tenant) -> None:
    made = [tenant.admin_id, *(make(process, tenant)["client_id"] for _ in range(2))]
    first = process.call("client_list", key=tenant.key, query={"limit": 2}).json
    rest = process.call("client_list", key=tenant.key, query={"next_token": first["next_token"]}).json
    assert [each["client_id"] for each in first["clients"] + rest["clients"]] == made
    assert "next_token" not in rest
    foreign = process.call("client_list", key=stranger.key, query={"next_token": first["next_token"]})
    assert foreign.problem == (400, "invalid_token")


# How soon a change is felt: at once where it was made, within 60 seconds everywhere


@pytest.mark.parametrize("change", ["delete", "rotate", "permissions"])
def test_a_warm_process_follows_within_sixty_seconds(
    process: Process, timed: Process, clock: ManualClock, tenant: Tenant, change: str
) -> None:
    LogClient(process, tenant.key).create()
    made = make(process, tenant)
    elsewhere = LogClient(timed, made["api_key"])
    assert elsewhere.try_poll().status == 200
    clock.advance(seconds=1)
    match change:
        case "delete":
            assert on(process, tenant, "client_delete", made["client_id"]).status == 204
        case "rotate":
            assert on(process, tenant, "client_rotate", made["client_id"]).status == 200
        case _:
            body = {"permissions": [{"queues": "shop/*", "actions": ["publish"]}]}
            assert on(process, tenant, "client_update", made["client_id"], body=body).status == 200
    clock.advance(milliseconds=58_999)
    assert elsewhere.try_poll().status == 200
    clock.advance(milliseconds=1)
    assert elsewhere.try_poll().status == (403 if change == "permissions" else 401)


def test_a_new_key_is_good_everywhere_at_once(process: Process, timed: Process, tenant: Tenant) -> None:
    made = make(process, tenant)
    assert timed.call("whoami_read", key=made["api_key"]).status == 200
    rotated = on(process, tenant, "client_rotate", made["client_id"]).json["api_key"]
    assert timed.call("whoami_read", key=rotated).status == 200
    assert timed.call("whoami_read", key=made["api_key"]).status == 401


def test_an_unknown_key_is_asked_for_once_and_not_remembered(timed: Process, tenant: Tenant, ledger: Any) -> None:
    for key, reads in ((f"{'0' * 26}.x", 1), (f"{tenant.admin_id}.wrong", 1)):
        with ledger.operation("whoami") as cost:
            assert timed.call("whoami_read", key=key).status == 401
        assert cost.calls == {"dynamodb.GetItem": reads}
    assert timed.call("whoami_read", key=tenant.key).status == 200


@pytest.mark.parametrize("function", ["client_create", "client_rotate", "client_update", "client_delete"])
def test_both_rows_of_a_client_change_together_or_not_at_all(
    process: Process, tenant: Tenant, world: World, faults: ModuleType, function: str
) -> None:
    made = make(process, tenant)

    def run() -> None:
        on(process, tenant, function, made["client_id"])

    def pairs() -> set[str]:
        known, listed = set(), set()
        for row in world.rows(world.state_table):
            shared = repr({name: row.get(name) for name in ("client_id", "permissions", "rotated_at")})
            if row["sk"]["S"] == "client" and row["pk"]["S"] != "client#platform":
                known.add(shared)
            elif row["sk"]["S"].startswith("client#"):
                listed.add(shared)
        assert known == listed
        return known

    deaths = 0
    for _ in faults.crash_points(run):
        pairs()
        deaths += 1
        if function == "client_delete" and not any(made["client_id"] in each for each in pairs()):
            made = make(process, tenant)
    assert deaths >= 2


def test_a_lost_answer_makes_one_client(timed: Process, tenant: Tenant, faults: ModuleType) -> None:
    with faults.failing(faults.LOST, operation="TransactWriteItems") as injection:
        key = make(timed, tenant)["api_key"]
    assert injection.struck
    assert timed.call("whoami_read", key=key).status == 200
    assert len(timed.call("client_list", key=tenant.key).json["clients"]) == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "permissions"),
        ({"permissions": None}, "permissions"),
        ({"permissions": {}}, "permissions"),
        ({"permissions": [1]}, "permissions.0"),
        ({"permissions": [{"actions": ["publish"]}]}, "permissions.0.queues"),
        ({"permissions": [{"queues": "a", "actions": []}]}, "permissions.0.actions"),
        ({"permissions": [{"queues": "a", "actions": ["read"]}]}, "permissions.0.actions.0"),
        ({"permissions": [{"queues": "a", "actions": "publish"}]}, "permissions.0.actions"),
        ({"permissions": [{"queues": "a", "actions": ["publish"] * 3}]}, "permissions.0.actions"),
        ({"permissions": [{"queues": "", "actions": ["publish"]}]}, "permissions.0.queues"),
        ({"permissions": [{"queues": "a\n", "actions": ["publish"]}]}, "permissions.0.queues"),
        ({"permissions": [{"queues": "[a]", "actions": ["publish"]}]}, "permissions.0.queues"),
        ({"permissions": [{"queues": "é", "actions": ["publish"]}]}, "permissions.0.queues"),
        ({"permissions": [{"queues": "a" * 201, "actions": ["publish"]}]}, "permissions.0.queues"),
        ({"permissions": [{"queues": "a", "actions": ["publish"], "x": 1}]}, "permissions.0.x"),
        ({"permissions": [], "role": "admin"}, "role"),
        ({"permissions": [], "tenant_id": "x"}, "tenant_id"),
        ({"permissions": PERMISSIONS * 101}, "permissions"),
    ],
    ids=repr,
)
def test_malformed_permissions_are_refused(
    process: Process, tenant: Tenant, world: World, body: dict[str, Any], field: str
) -> None:
    made = make(process, tenant)
    before = world.rows(world.state_table)
    for reply in (
        on(process, tenant, "client_update", made["client_id"], body=body),
        process.call("client_create", key=tenant.key, body={"name": "x", **body}),
    ):
        assert reply.problem == (400, "validation_failed")
        assert reply.fields == [field]
    assert world.rows(world.state_table) == before
