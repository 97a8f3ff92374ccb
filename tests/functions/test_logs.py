"""log_create, log_list, log_read, log_enable, log_disable, log_partitions, log_stats."""

from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World

NAMES = ["a", "A", "0", "-", "_", "a.b_c-D", "x" * 80]


def test_a_log_is_defined_as_the_sample_says(process: Process, tenant: Tenant, world: World) -> None:
    made = process.call("log_create", key=tenant.key)
    expected = {"namespace": "shop", "queue": "orders", "partitions": 30, "storage": "datastore://shop/orders"}
    assert (made.status, made.json) == (200, expected)
    log = LogClient(process, tenant.key)
    assert log.call("log_read").json == expected | {"enabled": True}
    assert log.call("log_partitions").json == {"namespace": "shop", "queue": "orders", "partitions": 30}
    assert [row["queue"]["S"] for row in world.rows(world.state_table) if "partitions" in row] == ["orders"]


def test_the_same_definition_again_finds_what_is_there(process: Process, tenant: Tenant) -> None:
    log = LogClient(process, tenant.key).create(partitions=3, storage="s3://x")
    log.enqueue_seqs(1)
    again = process.call("log_create", key=tenant.key, body={"queue": "orders", "partitions": 3.0, "storage": "s3://x"})
    assert (again.status, again.json["partitions"]) == (200, 3)
    assert sum(len(log.seqs(partition)) for partition in range(3)) == 1
    for other in ({"partitions": 4, "storage": "s3://x"}, {"partitions": 3}, {"storage": "s3://x"}):
        refused = process.call("log_create", key=tenant.key, body={"queue": "orders", **other})
        assert refused.problem == (409, "definition_mismatch")
    assert log.call("log_read").json["partitions"] == 3


def test_defaults_count_as_given(process: Process, tenant: Tenant) -> None:
    for body in ({}, {"partitions": 30}, {"storage": "datastore://shop/orders"}, {"storage": None}):
        assert process.call("log_create", key=tenant.key, body={"queue": "orders", **body}).status == 200


@pytest.mark.parametrize("partitions", [1, 1024, 1024.0, "1e2"])
def test_partitions_from_1_to_1024(process: Process, tenant: Tenant, partitions: object) -> None:
    body = '{"queue":"orders","partitions":%s}' % partitions  # noqa: UP031  # braces all over
    made = process.call("log_create", key=tenant.key, body=body)
    assert (made.status, made.json["partitions"]) == (200, int(float(str(partitions))))


@pytest.mark.parametrize("name", NAMES)
def test_names(process: Process, tenant: Tenant, name: str) -> None:
    log = LogClient(process, tenant.key, name, name).create()
    log.enqueue_seqs(7)
    assert log.seqs() == [7]
    listed = process.call("log_list", key=tenant.key, path={"namespace": name}).json["queues"]
    assert [each["queue"] for each in listed] == [name]


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_no_path_can_hold_is_refused(process: Process, tenant: Tenant, name: str) -> None:
    for path, queue in (({"namespace": "shop"}, name), ({"namespace": name}, "orders")):
        reply = process.call("log_create", key=tenant.key, path=path, body={"queue": queue})
        assert reply.problem == (400, "validation_failed")


def test_a_member_given_twice_is_refused_not_dropped(log: LogClient, world: World) -> None:
    first, second = '[{"key": "a", "seq": 1}]', '[{"key": "b", "seq": 2, "value": {"a": 1, "a": 2}}]'
    for body in (f'{{"messages": {first}, "messages": {first}}}', f'{{"messages": {second}}}'):
        assert log.call("log_enqueue", body=body.encode()).problem == (400, "malformed_json")
    assert world.rows(world.edges_table) == []


def test_one_name_in_two_namespaces_and_two_tenants_is_four_logs(
    process: Process, tenant: Tenant, stranger: Tenant
) -> None:
    logs = [LogClient(process, key, "q", space).create() for key in (tenant.key, stranger.key) for space in "ab"]
    for seq, log in enumerate(logs):
        log.enqueue_seqs(seq)
    assert [log.seqs() for log in logs] == [[0], [1], [2], [3]]


def test_logs_are_listed_by_namespace_and_page(process: Process, tenant: Tenant) -> None:
    for name in ("b", "a", "c", "a-"):
        LogClient(process, tenant.key, name).create()
    LogClient(process, tenant.key, "x", "shop-2").create()
    first = process.call("log_list", key=tenant.key, query={"limit": 3}).json
    rest = process.call("log_list", key=tenant.key, query={"limit": 3, "next_token": first["next_token"]}).json
    assert [each["queue"] for each in first["queues"] + rest["queues"]] == ["a", "a-", "b", "c"]
    assert set(first["queues"][0]) == {"namespace", "queue", "partitions", "storage", "enabled"}
    assert "next_token" not in rest
    assert process.call("log_list", key=tenant.key, path={"namespace": "none"}).json == {"queues": []}
    elsewhere = process.call(
        "log_list", key=tenant.key, path={"namespace": "shop-2"}, query={"next_token": first["next_token"]}
    )
    assert elsewhere.problem == (400, "invalid_token")


def test_a_client_lists_what_it_may_see_in_pages_that_may_be_short(process: Process, tenant: Tenant) -> None:
    for name in ("a1", "a2", "b1", "b2"):
        LogClient(process, tenant.key, name).create()
    key = process.client_key(tenant, ("shop/b*", "consume"))
    first = process.call("log_list", key=key, query={"limit": 2}).json
    assert first["queues"] == []
    rest = process.call("log_list", key=key, query={"next_token": first["next_token"]}).json
    assert [each["queue"] for each in rest["queues"]] == ["b1", "b2"]


def test_a_disabled_log_refuses_messages_only(log: LogClient) -> None:
    log.enqueue_seqs(1)
    assert log.call("log_disable").json["enabled"] is False
    assert log.call("log_disable").status == 200
    for refused in (log.try_enqueue({"key": "k", "seq": 2}), log.try_poll(), log.try_commit(offset=1)):
        assert refused.problem == (409, "queue_disabled")
    assert log.call("log_read").json["enabled"] is False
    assert log.call("log_stats").json["partitions"][0]["messages"] == 1
    assert log.call("log_enable").json["enabled"] is True
    assert log.seqs() == [1]


def test_a_switch_is_felt_elsewhere_within_five_seconds(timed: Process, clock: ManualClock, log: LogClient) -> None:
    elsewhere = LogClient(timed, log.key)
    elsewhere.poll()
    log.call("log_disable")
    clock.advance(milliseconds=4_999)
    elsewhere.poll()
    clock.advance(milliseconds=1)
    assert elsewhere.try_poll().problem == (409, "queue_disabled")


# Statistics


def test_statistics_of_every_partition(tenant: Tenant) -> None:
    clock = ManualClock()
    log = LogClient(Process(clock=clock), tenant.key).create(partitions=30)
    log.enqueue({"key": "", "seq": 5}, {"key": "", "seq": -5})  # partition 19
    clock.advance(milliseconds=1)
    log.enqueue({"key": "", "seq": -9}, {"key": "a", "seq": 2**63 - 1})  # 19 and 0
    stats = log.call("log_stats").json
    assert (stats["namespace"], stats["queue"], len(stats["partitions"])) == ("shop", "orders", 30)
    assert stats["partitions"][19] == {
        "partition": 19,
        "messages": 3,
        "approximate": False,
        "lowest_seq": -9,
        "highest_seq": 5,
        "oldest_enqueued_at": "2026-11-30T10:00:00.000Z",
    }
    assert stats["partitions"][0]["oldest_enqueued_at"] == "2026-11-30T10:00:00.001Z"
    assert stats["partitions"][0]["highest_seq"] == 2**63 - 1
    assert stats["partitions"][1] == {
        "partition": 1,
        "messages": 0,
        "approximate": False,
        "lowest_seq": None,
        "highest_seq": None,
        "oldest_enqueued_at": None,
    }


def test_counts_above_ten_thousand_are_approximate(log: LogClient, monkeypatch: Any) -> None:
    monkeypatch.setattr("broker.log.service.COUNTED_MOST", 20)
    log.enqueue_seqs(*range(20))
    assert log.call("log_stats").json["partitions"][0]["approximate"] is False
    log.enqueue_seqs(*range(20, 30))
    stats = log.call("log_stats").json["partitions"][0]
    assert (stats["messages"], stats["approximate"]) == (20, True)
    assert (stats["lowest_seq"], stats["highest_seq"]) == (0, 29)
