"""K1: nobody can find out what another tenant has. K2: foreign ids and tokens open nothing."""

from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Reply, Tenant
from tests.worlds import World

ABSENT_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
ON_A_LOG: dict[str, dict[str, Any]] = {
    "log_read": {},
    "log_enable": {},
    "log_disable": {},
    "log_delete": {},
    "log_partitions": {},
    "log_stats": {},
    "log_enqueue": {},
    "log_poll": {"path": {"partition": "0"}},
    "log_commit": {"path": {"partition": "0"}, "query": "offset=9"},
}


def told(reply: Reply, *names: str) -> tuple[int, str, tuple[str, ...]]:
    """All that an answer tells, but for the names that its caller sent."""
    text = reply.body.decode()
    for name in names:
        text = text.replace(name, "…")
    return reply.status, text, tuple(sorted(reply.headers))


@pytest.mark.parametrize("function", ON_A_LOG)
def test_a_foreign_log_answers_like_an_absent_one(
    process: Process, stranger: Tenant, log: LogClient, world: World, function: str
) -> None:
    log.enqueue_seqs(1)
    queue_id = next(row["queue_id"]["S"] for row in world.rows(world.state_table) if "queue_id" in row)
    keys = [stranger.key, process.client_key(stranger, ("*", "publish consume")), process.client_key(stranger)]
    before = rows(world)
    for key in keys:
        answers = []
        for name in ("orders", queue_id, "absent", ABSENT_ID):
            reply = LogClient(process, key, name).call(function, **ON_A_LOG[function])
            answers.append(told(reply, name))
        only_admins = key != stranger.key and function in ("log_enable", "log_disable", "log_delete")
        assert {answer[0] for answer in answers} == {403 if only_admins else 404}
        assert len(set(answers)) == 1
    assert rows(world) == before


def test_a_foreign_log_costs_the_same_calls_as_an_absent_one(
    process: Process, stranger: Tenant, log: LogClient, ledger: Any
) -> None:
    for function, request in ON_A_LOG.items():
        costs = []
        for name in (log.queue, "absent"):
            LogClient(process, stranger.key, name).call(function, **request)
            with ledger.operation(name) as cost:
                LogClient(process, stranger.key, name).call(function, **request)
            costs.append(cost.calls)
        assert costs[0] == costs[1]


@pytest.mark.parametrize("function", ["client_read", "client_update", "client_delete", "client_rotate"])
def test_a_foreign_client_answers_like_an_absent_one(
    process: Process, tenant: Tenant, stranger: Tenant, world: World, function: str
) -> None:
    foreign = process.client_key(tenant).partition(".")[0]
    before = rows(world)
    ids = (foreign, tenant.admin_id, ABSENT_ID)
    answers = {told(process.call(function, key=stranger.key, path={"client_id": each}), each) for each in ids}
    assert [answer[0] for answer in answers] == [404]
    assert rows(world) == before


def test_a_foreign_tenant_answers_like_an_absent_one(process: Process, tenant: Tenant, stranger: Tenant) -> None:
    for key in (stranger.key, process.client_key(stranger)):
        ids = (tenant.tenant_id, ABSENT_ID)
        answers = {told(process.call("tenant_rotate_key", key=key, path={"tenant_id": each}), each) for each in ids}
        assert [answer[0] for answer in answers] == [404]


def test_lists_show_one_s_own_only(process: Process, stranger: Tenant, log: LogClient) -> None:
    assert process.call("log_list", key=stranger.key, path={"namespace": log.namespace}).json == {"queues": []}
    listed = process.call("client_list", key=stranger.key).json["clients"]
    assert [each["client_id"] for each in listed] == [stranger.admin_id]


@pytest.mark.parametrize("client_id", ["nothing", "client#x", "..", "*", "%00", "x" * 2000, ABSENT_ID.lower()])
@pytest.mark.parametrize("function", ["client_read", "client_update", "client_delete", "client_rotate"])
def test_a_client_id_that_is_none_is_not_there(process: Process, tenant: Tenant, function: str, client_id: str) -> None:
    assert process.call(function, key=tenant.key, path={"client_id": client_id}).problem == (404, "not_found")


# K2


def test_a_cursor_opens_nothing_but_its_own_partition(
    process: Process, tenant: Tenant, stranger: Tenant, world: World
) -> None:
    own = LogClient(process, tenant.key).create(partitions=2)
    others = {
        "tenant": LogClient(process, stranger.key).create(partitions=2),
        "queue": LogClient(process, tenant.key, "other").create(partitions=2),
        "namespace": LogClient(process, tenant.key, "orders", "other").create(partitions=2),
    }
    messages = [{"key": key, "seq": 1, "value": key} for key in ("a", "abc", "", "order-1")]  # both partitions
    for log in (own, *others.values()):
        log.enqueue(*messages)
    cursor = own.poll(0)["cursor"]
    before = rows(world)
    for log, partition in ((own, 1), *((log, number) for log in others.values() for number in (0, 1))):
        assert log.try_poll(partition, cursor=cursor).problem == (400, "invalid_token")
        assert log.try_commit(partition, cursor=cursor).problem == (400, "invalid_token")
    assert rows(world) == before
    assert own.committed(0, cursor=cursor) > 0


def test_an_altered_cursor_opens_nothing(log: LogClient) -> None:
    log.enqueue_seqs(1)
    cursor = log.poll()["cursor"]
    swapped = {"A": "B", "B": "A"}
    for at in range(0, len(cursor), 7):
        altered = cursor[:at] + swapped.get(cursor[at], "A") + cursor[at + 1 :]
        assert log.try_commit(cursor=altered).problem == (400, "invalid_token")
    for altered in (cursor + "A", cursor[:-1], cursor + "=", " " + cursor, cursor * 2, cursor + "\n"):
        assert log.try_commit(cursor=altered).problem == (400, "invalid_token")
    assert log.committed(cursor=cursor) == 1


def test_tokens_of_lists_and_cursors_are_not_exchanged(
    process: Process, tenant: Tenant, stranger: Tenant, platform_key: str
) -> None:
    for key in (tenant.key, stranger.key):
        for name in ("a", "b"):
            LogClient(process, key, name).create()
        process.client_key(Tenant("", "", key))

    def token(function: str, key: str) -> str:
        return str(process.call(function, key=key, query={"limit": 1}).json["next_token"])

    tokens = {
        ("log_list", tenant.key): token("log_list", tenant.key),
        ("client_list", tenant.key): token("client_list", tenant.key),
        ("tenant_list", platform_key): token("tenant_list", platform_key),
        ("log_list", stranger.key): token("log_list", stranger.key),
    }
    for at, text in tokens.items():
        for (function, key), _ in tokens.items():
            reply = process.call(function, key=key, query={"next_token": text})
            assert reply.status == (200 if (function, key) == at else 400)
            assert reply.status == 200 or reply.code == "invalid_token"
        assert LogClient(process, tenant.key, "a").try_poll(cursor=text).problem == (400, "invalid_token")


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "next_token=x", "next_token=", "other=1", "limit=1&limit=2"]
)
@pytest.mark.parametrize("function", ["tenant_list", "client_list", "log_list"])
def test_a_bad_query_of_a_list_is_refused(
    process: Process, tenant: Tenant, platform_key: str, function: str, query: str
) -> None:
    key = platform_key if function == "tenant_list" else tenant.key
    reply = process.call(function, key=key, query=query)
    assert reply.problem == (400, "invalid_token" if query.startswith("next_token") else "validation_failed")


def rows(world: World) -> Any:
    return world.rows(world.state_table), world.rows(world.edges_table), world.objects()
