"""tenant_create, tenant_list, tenant_read, tenant_delete, tenant_rotate_key."""

from types import ModuleType
from typing import Any

import pytest

from broker.ids import is_ulid
from edge import StateTable
from edge.threads import side_by_side
from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World
from tools.ledger import Ledger


def test_a_new_tenant_is_known_with_its_admin(platform_key: str, world: World) -> None:
    process = Process()
    made = process.call("tenant_create", key=platform_key)
    assert made.status == 201
    body = made.json
    assert set(body) == {"tenant_id", "name", "created_at", "admin"}
    assert body["name"] == "acme"
    assert is_ulid(body["tenant_id"])
    assert set(body["admin"]) == {"client_id", "api_key"}
    assert body["admin"]["api_key"].startswith(body["admin"]["client_id"] + ".")
    read = process.call("tenant_read", key=platform_key, path={"tenant_id": body["tenant_id"]}).json
    assert read == {"tenant_id": body["tenant_id"], "name": "acme", "created_at": body["created_at"], "key_version": 1}
    assert process.call("tenant_list", key=platform_key).json == {
        "tenants": [{name: body[name] for name in ("tenant_id", "name", "created_at")}]
    }
    assert len(world.rows(world.state_table)) == 5  # config, list, admin twice, the platform key's hash


def test_names_need_not_be_unique(process: Process, platform_key: str) -> None:
    first, second = (process.tenant(platform_key=platform_key) for _ in range(2))
    assert first.tenant_id != second.tenant_id


@pytest.mark.parametrize("name", ["é", "x" * 80, "a b", "a/b", '"', "#", "\u4e2d\u6587", "0"])
def test_a_name_comes_back_as_it_was(process: Process, platform_key: str, name: str) -> None:
    made = process.call("tenant_create", key=platform_key, body={"name": name})
    assert (made.status, made.json["name"]) == (201, name)


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "a\nb", "\x00", "\u200b", None, 1, True, [], {}, "\ud800"])
def test_a_name_that_is_none_is_refused(process: Process, platform_key: str, world: World, name: object) -> None:
    assert process.call("tenant_create", key=platform_key, body={"name": name}).problem == (400, "validation_failed")
    assert [row for row in world.rows(world.state_table) if row["pk"]["S"].startswith("tenant")] == []


def test_tenants_are_paged(process: Process, platform_key: str) -> None:
    made = [process.tenant(str(n), platform_key=platform_key).tenant_id for n in range(5)]
    found, token, sizes = [], None, []
    while True:
        query = {"limit": 2} | ({} if token is None else {"next_token": token})
        page = process.call("tenant_list", key=platform_key, query=query).json
        found += [each["tenant_id"] for each in page["tenants"]]
        sizes.append(len(page["tenants"]))
        token = page.get("next_token")
        if token is None:
            break
    assert found == sorted(made)
    assert sizes == [2, 2, 1]


def test_a_full_last_page_has_no_token(process: Process, platform_key: str) -> None:
    for n in range(2):
        process.tenant(str(n), platform_key=platform_key)
    assert "next_token" not in process.call("tenant_list", key=platform_key, query={"limit": 2}).json


@pytest.mark.parametrize("tenant_id", ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "nothing", "x" * 3000, "tenants", "..", "%00"])
@pytest.mark.parametrize("function", ["tenant_read", "tenant_delete", "tenant_rotate_key"])
def test_a_tenant_that_is_not_there(process: Process, platform_key: str, function: str, tenant_id: str) -> None:
    reply = process.call(function, key=platform_key, path={"tenant_id": tenant_id})
    assert reply.problem == (404, "not_found")


def test_a_deleted_tenant_leaves_nothing(process: Process, platform_key: str, world: World) -> None:
    process.call("tenant_list", key=platform_key)
    before = world.rows(world.state_table)
    tenant = process.tenant(platform_key=platform_key)
    keys = [tenant.key, *(process.client_key(tenant) for _ in range(45))]
    assert process.call("tenant_delete", key=platform_key, path={"tenant_id": tenant.tenant_id}).status == 204
    assert world.rows(world.state_table) == before
    assert {process.call("whoami_read", key=key).status for key in (keys[0], keys[-1])} == {401}
    again = process.call("tenant_delete", key=platform_key, path={"tenant_id": tenant.tenant_id})
    assert again.problem == (404, "not_found")
    assert process.call("tenant_list", key=platform_key).json == {"tenants": []}


def test_a_tenant_with_a_log_stays_and_stays_usable(process: Process, tenant: Tenant, platform_key: str) -> None:
    log = LogClient(process, tenant.key).create()
    path = {"tenant_id": tenant.tenant_id}
    assert process.call("tenant_delete", key=platform_key, path=path).problem == (409, "tenant_has_queues")
    LogClient(process, tenant.key, "another").create()
    process.client_key(tenant)
    for name in ("orders", "another"):
        log = LogClient(process, tenant.key, name)
        assert log.call("log_disable").status == 200
        assert log.call("log_delete").status == 204
    assert process.call("tenant_delete", key=platform_key, path=path).status == 204


def test_nothing_can_be_made_in_a_tenant_that_is_gone_elsewhere(
    process: Process, timed: Process, tenant: Tenant, platform_key: str, world: World
) -> None:
    timed.call("whoami_read", key=tenant.key)  # remembers the key for a minute
    process.call("tenant_delete", key=platform_key, path={"tenant_id": tenant.tenant_id})
    before = world.rows(world.state_table)
    for name in ("log_create", "client_create", "tenant_rotate_key"):
        path = {"tenant_id": tenant.tenant_id}
        assert timed.call(name, key=tenant.key, path=path).problem == (404, "not_found")
    assert world.rows(world.state_table) == before


def test_deletions_side_by_side_remove_a_tenant_once(process: Process, platform_key: str, world: World) -> None:
    process.call("tenant_list", key=platform_key)
    before = world.rows(world.state_table)
    path = {"tenant_id": process.tenant(platform_key=platform_key).tenant_id}

    def delete(_: int) -> tuple[int, str]:
        reply = process.call("tenant_delete", key=platform_key, path=path)
        return (204, "") if reply.status == 204 else reply.problem

    answers = side_by_side(delete, range(30))
    assert set(answers) <= {(204, ""), (404, "not_found"), (409, "conflict")}
    if (204, "") not in answers:  # the last to close it may have been refused by one that had begun before
        assert delete(0) == (204, "")
    assert world.rows(world.state_table) == before


def test_a_deletion_gives_way_to_one_that_began_later(
    process: Process, tenant: Tenant, platform_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One closes the tenant, finds a queue after all and reopens it: not what another has closed since."""
    path = {"tenant_id": tenant.tenant_id}
    log = LogClient(process, tenant.key)
    query, update = StateTable.query, StateTable.update

    def just_before(self: StateTable, pk: str, sk: str, expression: str, **arguments: Any) -> Any:
        monkeypatch.setattr(StateTable, "update", update)
        log.create()
        monkeypatch.setattr(StateTable, "query", just_after)
        return update(self, pk, sk, expression, **arguments)

    def just_after(self: StateTable, pk: str, **arguments: Any) -> Any:
        page = query(self, pk, **arguments)
        if page.rows:
            monkeypatch.setattr(StateTable, "query", query)
            log.call("log_disable")
            assert log.call("log_delete").status == 204
            assert process.call("tenant_delete", key=platform_key, path=path).status == 204
        return page

    process.call("tenant_read", key=platform_key, path=path)
    monkeypatch.setattr(StateTable, "update", just_before)
    assert process.call("tenant_delete", key=platform_key, path=path).problem == (409, "tenant_has_queues")
    assert process.call("tenant_read", key=platform_key, path=path).problem == (404, "not_found")


def test_a_refused_deletion_does_not_disturb_the_tenant(
    process: Process, tenant: Tenant, platform_key: str, ledger: Ledger
) -> None:
    LogClient(process, tenant.key).create()
    path = {"tenant_id": tenant.tenant_id}
    process.call("tenant_read", key=platform_key, path=path)
    with ledger.operation("refused") as cost:
        assert process.call("tenant_delete", key=platform_key, path=path).problem == (409, "tenant_has_queues")
    assert set(cost.calls) == {"dynamodb.Query", "dynamodb.GetItem"}


def test_while_a_tenant_is_closed_nothing_is_made_in_it(
    process: Process, tenant: Tenant, platform_key: str, faults: ModuleType
) -> None:
    path = {"tenant_id": tenant.tenant_id}
    process.client_key(tenant)
    process.call("tenant_read", key=platform_key, path=path)
    with pytest.raises(faults.Killed), faults.failing(faults.KILLED, operation="TransactWriteItems"):
        process.call("tenant_delete", key=platform_key, path=path)
    for name in ("log_create", "client_create", "queue_create"):
        assert process.call(name, key=tenant.key).problem == (409, "conflict")
    assert process.call("tenant_delete", key=platform_key, path=path).status == 204


def test_a_deletion_that_died_is_finished_by_the_next(
    process: Process, platform_key: str, world: World, faults: ModuleType
) -> None:
    process.call("tenant_list", key=platform_key)
    tenant: Tenant

    def prepare() -> None:
        nonlocal tenant
        world.wipe()
        tenant = process.tenant(platform_key=platform_key)
        process.client_key(tenant)

    def delete() -> None:
        process.call("tenant_delete", key=platform_key, path={"tenant_id": tenant.tenant_id})

    deaths = 0
    for _ in faults.crash_points(delete, prepare=prepare):
        again = process.call("tenant_delete", key=platform_key, path={"tenant_id": tenant.tenant_id})
        assert again.status in (204, 404)
        assert world.rows(world.state_table) == []
        assert Process().call("whoami_read", key=tenant.key).status == 401
        deaths += 1
    assert deaths >= 12


def test_making_a_tenant_is_all_or_nothing(
    process: Process, platform_key: str, world: World, faults: ModuleType
) -> None:
    process.call("tenant_list", key=platform_key)
    for point in faults.crash_points(lambda: process.call("tenant_create", key=platform_key), prepare=world.wipe):
        made = point.after and point.call == "dynamodb.TransactWriteItems"
        assert len(world.rows(world.state_table)) == (4 if made else 0)
        assert len(process.call("tenant_list", key=platform_key).json["tenants"]) == made


# The data key


def rotate(process: Process, key: str, tenant: Tenant) -> int:
    reply = process.call("tenant_rotate_key", key=key, path={"tenant_id": tenant.tenant_id})
    assert reply.status == 200
    return int(reply.json["key_version"])


def test_after_a_rotation_old_and_new_data_are_read(
    process: Process, tenant: Tenant, platform_key: str, world: World
) -> None:
    log = LogClient(process, tenant.key).create()
    log.enqueue({"key": "k", "seq": 1, "value": "old"})
    assert [rotate(process, key, tenant) for key in (tenant.key, platform_key)] == [2, 3]
    log.enqueue({"key": "k", "seq": 2, "value": "new"})
    values = [message["value"] for message in log.poll()["messages"]]
    assert values == ["old", "new"]
    cold = LogClient(Process(), tenant.key)
    assert [message["value"] for message in cold.poll()["messages"]] == values
    versions = [int.from_bytes(row["body"]["B"][1:5], "big") for row in world.rows(world.edges_table)]
    assert versions == [1, 3]


def test_a_warm_process_reads_what_a_newer_key_sealed(process: Process, timed: Process, tenant: Tenant) -> None:
    log, elsewhere = LogClient(process, tenant.key).create(), LogClient(timed, tenant.key)
    cursor = elsewhere.poll()["cursor"]
    log.enqueue_seqs(1)
    assert elsewhere.seqs() == [1]
    rotate(process, tenant.key, tenant)
    log.enqueue_seqs(2)
    cursor = log.poll(limit=1)["cursor"]
    assert elsewhere.seqs() == [1, 2]
    assert elsewhere.seqs(cursor=cursor) == [2]


def test_a_warm_process_seals_with_the_old_key_for_five_minutes_at_most(
    process: Process, timed: Process, tenant: Tenant, clock: ManualClock, world: World
) -> None:
    LogClient(process, tenant.key).create()
    elsewhere = LogClient(timed, tenant.key)
    elsewhere.enqueue_seqs(1)
    rotate(process, tenant.key, tenant)
    clock.advance(seconds=299)
    elsewhere.enqueue_seqs(2)
    clock.advance(seconds=1)
    elsewhere.enqueue_seqs(3)
    versions = [int.from_bytes(row["body"]["B"][1:5], "big") for row in world.rows(world.edges_table)]
    assert versions == [1, 1, 2]


def test_a_rotation_whose_answer_was_lost_happened_once(
    timed: Process, tenant: Tenant, faults: ModuleType, world: World
) -> None:
    with faults.failing(faults.LOST, operation="UpdateItem", where=lambda call: "data_keys" in str(call.document)):
        assert rotate(timed, tenant.key, tenant) == 2
    assert rotate(timed, tenant.key, tenant) == 3
    config = next(row for row in world.rows(world.state_table) if "data_keys" in row)
    assert set(config["data_keys"]["M"]) == {"v1", "v2", "v3"}


def test_without_kms_no_tenant_is_made_and_no_key_rotated(
    timed: Process, tenant: Tenant, platform_key: str, faults: ModuleType, world: World
) -> None:
    timed.call("tenant_list", key=platform_key)
    before = world.rows(world.state_table)
    for fault in (faults.TIMEOUT, faults.SERVER_ERROR, faults.refusal("DisabledException")):
        with faults.failing(fault, times=None, service="kms"):
            assert timed.call("tenant_create", key=platform_key).problem == (503, "unavailable")
            path = {"tenant_id": tenant.tenant_id}
            assert timed.call("tenant_rotate_key", key=tenant.key, path=path).problem == (503, "unavailable")
    assert world.rows(world.state_table) == before
