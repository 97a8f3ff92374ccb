"""`Idempotency-Key` on log_enqueue: the same request again is answered as the first time, and stores nothing."""

import datetime
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from aws_lambda_powertools.shared import user_agent

from tests.functions.logs import LogClient
from tests.processes import Process, Reply, Tenant
from tests.worlds import ManualClock, World

ONE = {"key": "k", "seq": 1, "value": "one"}
TWO = {"key": "k", "seq": 2, "value": "two"}
DAY = 24 * 3600


def once(log: LogClient, *messages: Any, key: str = "first", **request: Any) -> Reply:
    return log.try_enqueue(*messages, headers={"Idempotency-Key": key}, **request)


def test_a_repeat_answers_the_same_and_stores_nothing(log: LogClient, world: World) -> None:
    first = once(log, ONE, TWO)
    assert first.status == 200
    rows = world.rows(world.edges_table)
    again = once(log, ONE, TWO)
    assert (again.status, again.body, again.headers) == (200, first.body, first.headers)
    cold = once(LogClient(Process(), log.key), ONE, TWO)
    assert cold.body == first.body
    assert world.rows(world.edges_table) == rows
    assert len(rows) == 2


def test_a_repeat_of_what_is_consumed_does_not_bring_it_back(log: LogClient) -> None:
    first = once(log, ONE)
    log.commit(offset=1)
    assert once(log, ONE).body == first.body
    assert log.seqs() == []


def test_a_warm_function_hangs_nothing_more_on_its_client(log: LogClient) -> None:
    once(log, ONE)
    with patch.object(user_agent, "register_feature_to_client") as registered:
        assert [once(log, TWO, key=f"key-{number}").status for number in range(3)] == [200] * 3
    assert registered.call_count == 0


def test_without_the_header_nothing_is_remembered(log: LogClient) -> None:
    log.enqueue(ONE)
    log.enqueue(ONE)
    assert log.seqs() == [1, 1]


def test_the_same_body_by_other_means_is_the_same(log: LogClient) -> None:
    body = '{"messages":[{"key":"k","seq":1}]}'
    first = log.call("log_enqueue", body=body, headers={"idempotency-key": "a"})
    again = log.call("log_enqueue", body=body.encode(), headers={"Idempotency-KEY": "a"})
    assert again.body == first.body
    assert log.seqs() == [1]


def test_with_another_body_it_is_refused(log: LogClient) -> None:
    once(log, ONE)
    assert once(log, TWO).problem == (422, "idempotency_mismatch")
    assert log.seqs() == [1]
    assert once(log, ONE).status == 200


def test_keys_are_scoped_to_tenant_and_queue(process: Process, tenant: Tenant, stranger: Tenant) -> None:
    logs = [LogClient(process, key, name).create() for key in (tenant.key, stranger.key) for name in ("a", "b")]
    logs.append(LogClient(process, tenant.key, "a", "elsewhere").create())
    bodies = [once(log, {"key": "k", "seq": n}) for n, log in enumerate(logs)]
    assert [reply.status for reply in bodies] == [200] * 5
    assert [log.seqs() for log in logs] == [[n] for n in range(5)]


def test_a_log_made_again_has_its_own_keys(log: LogClient) -> None:
    once(log, ONE)
    log.call("log_disable")
    log.call("log_delete")
    log.create()
    assert once(log, TWO).status == 200
    assert log.seqs() == [2]


def test_other_clients_of_the_tenant_share_the_answer_if_they_may_publish(
    process: Process, tenant: Tenant, log: LogClient
) -> None:
    first = once(log, ONE)
    publisher = LogClient(process, process.client_key(tenant, ("shop/*", "publish")))
    assert once(publisher, ONE).body == first.body
    consumer = LogClient(process, process.client_key(tenant, ("shop/*", "consume")))
    assert once(consumer, ONE).problem == (403, "forbidden")


@pytest.mark.parametrize("key", ["", "x" * 129, "é", "a\tb", "\x7f", "\ud800"])
def test_a_key_that_is_none_is_refused(log: LogClient, world: World, key: str) -> None:
    before = world.rows(world.state_table)
    assert once(log, ONE, key=key).problem == (400, "validation_failed")
    assert world.rows(world.state_table) == before
    assert log.seqs() == []


@pytest.mark.parametrize("key", ["x" * 128, "a b", "#", '"', "{}", "[*]", "0"])
def test_keys(log: LogClient, key: str) -> None:
    assert once(log, ONE, key=key).body == once(log, ONE, key=key).body
    assert log.seqs() == [1]


def test_what_was_refused_may_be_corrected_under_the_same_key(log: LogClient) -> None:
    assert once(log, {"key": "k"}).problem == (400, "validation_failed")
    assert once(log, ONE).status == 200
    assert once(log, ONE).status == 200
    assert log.seqs() == [1]


def test_an_outage_is_not_remembered(tenant: Tenant, log: LogClient, faults: ModuleType) -> None:
    client = LogClient(Process(), tenant.key)
    with faults.failing(faults.THROTTLED, times=None, operation="BatchWriteItem"):
        assert once(client, ONE).problem == (503, "throttled")
    assert once(client, ONE).status == 200
    assert log.seqs() == [1]


def test_nothing_is_stored_while_answers_cannot_be_kept(
    tenant: Tenant, log: LogClient, faults: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # the SDK's own retries, which Powertools stands on
    client = LogClient(Process(), tenant.key)
    client.poll()

    def of_the_answers(call: Any) -> bool:
        return "idempotency#" in str(call.document)

    for fault in (faults.THROTTLED, faults.SERVER_ERROR):
        with faults.failing(fault, times=None, where=of_the_answers):
            assert once(client, ONE).status == 503
    assert log.seqs() == []


def test_while_the_first_is_running_a_repeat_is_409(log: LogClient, tenant: Tenant, faults: ModuleType) -> None:
    client = LogClient(Process(), tenant.key)
    with faults.failing(faults.KILLED, operation="BatchWriteItem"), pytest.raises(faults.Killed):
        once(client, ONE)
    assert once(client, ONE).problem == (409, "idempotency_in_progress")
    assert log.seqs() == []


def test_a_request_that_died_anywhere_stores_nothing_twice(
    log: LogClient, tenant: Tenant, world: World, faults: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Powertools takes a first attempt for dead when its function's time has run out; its clock is moved past that."""
    tenant_rows = world.rows(world.state_table)
    client = log
    messages = [ONE, TWO, {"key": "k", "seq": 3, "value": "x" * 70_000}]

    def prepare() -> None:
        nonlocal client
        world.wipe()
        for row in tenant_rows:
            world.client("dynamodb").put_item(TableName=world.state_table, Item=row)
        client = LogClient(Process(), tenant.key)
        client.poll()
        move(monkeypatch, 0)

    def run() -> None:
        once(client, *messages)

    stored = set()
    for _ in faults.crash_points(run, prepare=prepare):
        before = [message["id"] for message in client.poll()["messages"]]
        stored.add(len(before))
        move(monkeypatch, 40)
        again = once(LogClient(Process(), tenant.key), *messages)
        assert again.status == 200
        ids = [result["id"] for result in again.json["results"]]
        page = client.poll()["messages"]
        assert [message["id"] for message in page] == ids
        assert set(before) <= set(ids)
        assert [message["value"] for message in page] == ["one", "two", "x" * 70_000]
        assert len(world.objects()) == 1
    assert stored == {0, 3}


def test_an_answer_is_kept_for_24_hours(
    timed: Process, tenant: Tenant, log: LogClient, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = LogClient(timed, tenant.key)
    move(monkeypatch, 0)
    first = once(client, ONE)
    move(monkeypatch, DAY - 60)
    clock.advance(seconds=DAY - 60)
    assert once(client, ONE).body == first.body
    assert once(client, TWO).problem == (422, "idempotency_mismatch")
    move(monkeypatch, DAY + 60)
    clock.advance(seconds=120)
    assert once(client, TWO).status == 200
    assert log.seqs() == [1, 2]


def test_after_24_hours_the_same_body_is_stored_again(
    timed: Process, tenant: Tenant, log: LogClient, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = LogClient(timed, tenant.key)
    move(monkeypatch, 0)
    first = once(client, ONE).json["results"][0]["id"]
    move(monkeypatch, DAY + 1)
    clock.advance(seconds=DAY + 1)
    second = once(client, ONE).json["results"][0]["id"]
    assert first != second
    assert log.seqs() == [1, 1]


def move(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let Powertools' clock be so much ahead of the machine's."""

    class Moved(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return datetime.datetime.now(tz) + datetime.timedelta(seconds=seconds)

    moved = SimpleNamespace(datetime=Moved, timedelta=datetime.timedelta)
    for module in ("base", "persistence.base", "persistence.dynamodb", "persistence.datarecord"):
        monkeypatch.setattr(f"aws_lambda_powertools.utilities.idempotency.{module}.dt", moved)
