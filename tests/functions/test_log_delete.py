"""log_delete and queue_sweep: a deleted log is gone at once, and what it held soon after."""

from types import ModuleType
from typing import Any

import pytest

from edge import EdgeUnavailable
from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World


def test_an_enabled_log_is_not_deleted(log: LogClient) -> None:
    log.enqueue_seqs(1)
    assert log.call("log_delete").problem == (409, "queue_enabled")
    assert log.seqs() == [1]


def test_a_deleted_log_is_gone_at_once_and_swept_later(process: Process, log: LogClient, world: World) -> None:
    log.enqueue({"key": "k", "seq": 1, "value": "x" * 100_000}, *({"key": "k", "seq": n} for n in range(60)))
    log.call("log_disable")
    assert log.call("log_delete").status == 204
    for name in ("log_read", "log_stats", "log_partitions", "log_enable", "log_disable", "log_delete", "log_enqueue"):
        assert log.call(name).problem == (404, "not_found")
    assert log.try_poll().status == log.try_commit(offset=1).status == 404
    assert process.call("log_list", key=log.key).json == {"queues": []}
    assert process.run("queue_sweep") == {"done": 1}
    assert world.rows(world.edges_table) == []
    assert world.objects() == []


def test_a_log_made_again_starts_empty(process: Process, timed: Process, clock: ManualClock, log: LogClient) -> None:
    log.enqueue_seqs(1, 2)
    cursor = log.poll(limit=1)["cursor"]
    elsewhere = LogClient(timed, log.key)
    assert elsewhere.seqs() == [1, 2]
    log.call("log_disable")
    log.call("log_delete")
    log.create(partitions=2)
    assert [log.seqs(partition) for partition in (0, 1)] == [[], []]
    assert log.try_poll(cursor=cursor).problem == (400, "invalid_token")
    log.enqueue_seqs(9)
    process.run("queue_sweep")
    assert log.seqs(0) + log.seqs(1) == [9]
    clock.advance(seconds=5)
    assert elsewhere.seqs(0) + elsewhere.seqs(1) == [9]


def test_a_straggler_s_message_is_swept_until_no_process_can_know_the_log(
    timed: Process, clock: ManualClock, tenant: Tenant, world: World
) -> None:
    log = LogClient(timed, tenant.key).create()
    straggler = LogClient(Process(clock=ManualClock()), tenant.key)
    straggler.enqueue_seqs(1)
    log.call("log_disable")
    log.call("log_delete")
    assert timed.run("queue_sweep") == {"done": 1}
    straggler.enqueue_seqs(2)  # this process has not heard of it yet: its clock stands still
    clock.advance(seconds=65)
    assert timed.run("queue_sweep") == {"done": 1}
    assert doomed(world)
    clock.advance(milliseconds=1)
    assert timed.run("queue_sweep") == {"done": 1}
    assert not doomed(world)
    assert world.rows(world.edges_table) == []


def test_a_sweep_that_died_is_finished_by_the_next(
    process: Process, tenant: Tenant, world: World, faults: ModuleType
) -> None:
    tenant_rows = world.rows(world.state_table)
    left: list[dict[str, Any]] = []

    def prepare() -> None:
        restore(world, tenant_rows)
        log = LogClient(Process(), tenant.key).create()
        log.enqueue(*({"key": "k", "seq": n, "value": "x" * 70_000 * (n < 1)} for n in range(2)))
        log.call("log_disable")
        log.call("log_delete")

    def sweep() -> None:
        process.run("queue_sweep")

    for _ in faults.crash_points(sweep, prepare=prepare):
        left += world.rows(world.edges_table)
        sweep()
        assert world.rows(world.edges_table) == []
        assert world.objects() == []
    assert left


def test_a_sweep_without_time_leaves_the_rest_to_the_next(log: LogClient, world: World) -> None:
    log.enqueue_seqs(*range(30))
    log.call("log_disable")
    log.call("log_delete")
    assert Process(seconds=4).run("queue_sweep") == {"done": 0}
    assert len(world.rows(world.edges_table)) == 30
    assert Process(seconds=60).run("queue_sweep") == {"done": 1}
    assert world.rows(world.edges_table) == []


def test_a_failed_sweep_fails_loudly(log: LogClient, world: World, faults: ModuleType) -> None:
    log.enqueue_seqs(1)
    log.call("log_disable")
    log.call("log_delete")
    sweeps = Process()
    for operation in ("Query", "BatchWriteItem"):
        with (
            faults.failing(faults.THROTTLED, times=None, operation=operation),
            pytest.raises((EdgeUnavailable, ExceptionGroup)),
        ):
            sweeps.run("queue_sweep")
    assert doomed(world)


@pytest.mark.parametrize("function", ["log_create", "log_enable", "log_disable", "log_delete"])
def test_a_change_of_a_log_that_died_is_repeated(
    tenant: Tenant, world: World, faults: ModuleType, function: str
) -> None:
    tenant_rows = world.rows(world.state_table)
    log = LogClient(Process(), tenant.key)

    def prepare() -> None:
        nonlocal log
        restore(world, tenant_rows)
        log = LogClient(Process(), tenant.key)
        if function != "log_create":
            log.create()
        if function == "log_delete":
            log.enqueue_seqs(1)
            log.call("log_disable")

    def run() -> None:
        change(log, function)

    deaths = 0
    for _ in faults.crash_points(run, prepare=prepare):
        deaths += 1
        log = LogClient(Process(), tenant.key)
        assert change(log, function) in ((204, 404) if function == "log_delete" else (200,))
        if function == "log_delete":
            log.process.run("queue_sweep")
            assert world.rows(world.edges_table) == []
            assert log.create().seqs() == []
        else:
            assert log.call("log_read").json["enabled"] is (function != "log_disable")
    assert deaths >= 2


def change(log: LogClient, function: str) -> int:
    if function == "log_create":
        path, body = {"namespace": log.namespace}, {"queue": log.queue, "partitions": 1}
        return log.process.call(function, key=log.key, path=path, body=body).status
    return log.call(function).status


def restore(world: World, rows: list[dict[str, Any]]) -> None:
    """Leave nothing but these rows of State."""
    world.wipe()
    for row in rows:
        world.client("dynamodb").put_item(TableName=world.state_table, Item=row)


def doomed(world: World) -> list[dict[str, Any]]:
    return [row for row in world.rows(world.state_table) if row["pk"]["S"].startswith("doomed#")]
