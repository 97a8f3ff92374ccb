"""AWS failing under enqueue and poll: honest answers, nothing stored twice, nothing read without its key."""

import random
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World


@pytest.fixture
def patient(log: LogClient) -> LogClient:
    """The log through a process of its own, warm: a fault strikes the work, not the key."""
    client = LogClient(Process(), log.key)
    client.poll()
    client.try_enqueue()
    client.enqueue_seqs(0)
    client.commit(offset=0)
    return client


def numbers(count: int, **members: Any) -> list[dict[str, Any]]:
    return [{"key": "k", "seq": n, **members} for n in range(count)]


def test_throttling_beyond_the_retries_is_503_with_the_results(patient: LogClient, faults: ModuleType) -> None:
    with faults.failing(faults.THROTTLED, times=None, operation="BatchWriteItem") as injection:
        reply = patient.try_enqueue(*numbers(30))
    assert reply.problem == (503, "throttled")
    assert int(reply.headers["retry-after"]) >= 1
    assert reply.json["results"] == [{"partition": 0, "id": None, "status": "FAILED", "error": "throttled"}] * 30
    assert len(injection.struck) == 16  # eight attempts each of two batches
    assert patient.seqs() == []


@pytest.mark.parametrize(("fault", "error"), [("THROTTLED", "throttled"), ("TIMEOUT", "unavailable")])
def test_half_a_failure_is_told_entry_by_entry(patient: LogClient, faults: ModuleType, fault: str, error: str) -> None:
    def second_batch(call: Any) -> bool:
        return str(2**63 + 10**9) in str(call.document)

    messages = [{"key": "k", "seq": n if n != 40 else 10**9, "value": n} for n in range(60)]
    with faults.failing(getattr(faults, fault), times=None, operation="BatchWriteItem", where=second_batch):
        answer = patient.enqueue(*messages)
    assert answer["accepted"] == 35
    statuses = [result["status"] for result in answer["results"]]
    assert statuses == ["CREATED"] * 25 + ["FAILED"] * 25 + ["CREATED"] * 10
    assert all(
        result == {"partition": 0, "id": None, "status": "FAILED", "error": error}
        for result in answer["results"][25:50]
    )
    stored = patient.poll()["messages"]
    assert sorted(message["id"] for message in stored) == [each["id"] for each in answer["results"] if each["id"]]
    assert [message["value"] for message in stored] == [*range(25), *range(50, 60)]


def test_what_is_left_unprocessed_is_asked_for_again(patient: LogClient, faults: ModuleType) -> None:
    with faults.failing(faults.unprocessed(done=3), times=3, operation="BatchWriteItem") as injection:
        assert patient.enqueue(*numbers(10))["accepted"] == 10
    assert len(injection.struck) == 3
    assert patient.seqs() == list(range(10))


def test_what_stays_unprocessed_is_failed(patient: LogClient, faults: ModuleType) -> None:
    with faults.choosing(in_turn(faults.unprocessed(done=3), faults.THROTTLED)):
        answer = patient.enqueue(*numbers(10))
    assert answer["accepted"] == 3
    assert [result["status"] for result in answer["results"]] == ["CREATED"] * 3 + ["FAILED"] * 7
    assert patient.seqs() == [0, 1, 2]


@pytest.mark.parametrize("fault", ["LOST", "SERVER_ERROR_AFTER"])
def test_a_lost_answer_stores_nothing_twice(patient: LogClient, faults: ModuleType, fault: str) -> None:
    with faults.failing(getattr(faults, fault), operation="BatchWriteItem") as injection:
        answer = patient.enqueue(*numbers(3))
    assert injection.struck
    assert [message["id"] for message in patient.poll()["messages"]] == [each["id"] for each in answer["results"]]


def test_an_entry_stored_by_a_lost_attempt_is_never_called_throttled(patient: LogClient, faults: ModuleType) -> None:
    with faults.choosing(in_turn(faults.LOST, faults.THROTTLED)):
        reply = patient.try_enqueue(*numbers(3))
    assert reply.problem == (503, "unavailable")
    assert {result["error"] for result in reply.json["results"]} == {"unavailable"}
    assert patient.seqs() == [0, 1, 2]


def test_what_a_later_answer_leaves_unprocessed_may_be_stored_too(patient: LogClient, faults: ModuleType) -> None:
    with faults.choosing(in_turn(faults.LOST, faults.unprocessed(done=1), faults.THROTTLED)):
        results = patient.enqueue(*numbers(3))["results"]
    assert [result.get("error") for result in results] == [None, "unavailable", "unavailable"]
    assert patient.seqs() == [0, 1, 2]


def test_answers_that_all_were_lost_may_have_stored(patient: LogClient, faults: ModuleType) -> None:
    with faults.failing(faults.LOST, times=None, operation="BatchWriteItem"):
        reply = patient.try_enqueue(*numbers(3))
    assert reply.problem == (503, "unavailable")
    assert {result["error"] for result in reply.json["results"]} == {"unavailable"}


def test_a_big_value_that_cannot_be_stored_fails_alone(patient: LogClient, world: World, faults: ModuleType) -> None:
    large = {"key": "k", "seq": 5, "value": "x" * 70_000}
    for fault, error in ((faults.THROTTLED, "throttled"), (faults.TIMEOUT, "unavailable")):
        with faults.failing(fault, times=None, operation="PutObject"):
            answer = patient.enqueue({"key": "k", "seq": 1}, large, {"key": "k", "seq": 2})
            assert [result["status"] for result in answer["results"]] == ["CREATED", "FAILED", "CREATED"]
            assert answer["results"][1] == {"partition": 0, "id": None, "status": "FAILED", "error": error}
            assert patient.try_enqueue(large).problem == (503, error)
        patient.committed(offset=2)
    assert patient.seqs() == []
    assert world.objects() == []


@pytest.mark.parametrize(("fault", "code"), [("THROTTLED", "throttled"), ("TIMEOUT", "unavailable")])
def test_a_poll_without_storage_is_503(patient: LogClient, faults: ModuleType, fault: str, code: str) -> None:
    patient.enqueue({"key": "k", "seq": 1, "value": "x" * 70_000})
    for operation in ("Query", "GetObject"):
        with faults.failing(getattr(faults, fault), times=None, operation=operation):
            assert patient.try_poll().problem == (503, code)
        with faults.failing(getattr(faults, fault), times=5, operation=operation):
            assert patient.seqs() == [1]


def test_an_object_whose_body_breaks_off_is_read_again(patient: LogClient, faults: ModuleType) -> None:
    patient.enqueue({"key": "k", "seq": 1, "value": "x" * 70_000})
    with faults.failing(faults.CUT, times=2, operation="GetObject") as injection:
        assert len(patient.poll()["messages"][0]["value"]) == 70_000
    assert len(injection.struck) == 2


def test_retries_end_with_the_time_of_the_function(log: LogClient, faults: ModuleType) -> None:
    hurried = Process(seconds=1.4)
    client = LogClient(hurried, log.key)
    client.poll()
    with faults.failing(faults.THROTTLED, times=None, operation="Query") as injection:
        assert client.try_poll().status == 503
    assert len(injection.struck) == 1
    assert hurried.pauses == []


# KMS


@pytest.mark.parametrize("fault", ["TIMEOUT", "SERVER_ERROR", "disabled", "denied"])
def test_without_kms_nothing_is_stored_nor_shown(log: LogClient, world: World, faults: ModuleType, fault: str) -> None:
    refusals = {"disabled": "DisabledException", "denied": "AccessDeniedException"}
    struck = faults.refusal(refusals[fault]) if fault in refusals else getattr(faults, fault)
    log.enqueue({"key": "k", "seq": 1, "value": "x" * 70_000}, {"key": "k", "seq": 2})
    cursor = log.poll()["cursor"]
    before = world.rows(world.edges_table), world.objects()
    cold = LogClient(Process(), log.key)
    with faults.failing(struck, times=None, service="kms"):
        for reply in (
            cold.try_enqueue({"key": "k", "seq": 3}),
            cold.try_poll(),
            cold.try_poll(cursor=cursor),
            cold.try_commit(cursor=cursor),
        ):
            assert reply.problem == (503, "unavailable")
            assert "messages" not in reply.json
    assert (world.rows(world.edges_table), world.objects()) == before
    assert cold.seqs() == [1, 2]


def test_a_key_is_used_for_five_minutes_without_kms(
    timed: Process, log: LogClient, clock: ManualClock, faults: ModuleType
) -> None:
    client = LogClient(timed, log.key)
    client.enqueue_seqs(1)
    with faults.failing(faults.TIMEOUT, times=None, service="kms"):
        clock.advance(milliseconds=299_999)
        client.enqueue_seqs(2)
        assert client.seqs() == [1, 2]
        clock.advance(milliseconds=1)
        assert client.try_enqueue({"key": "k", "seq": 3}).problem == (503, "unavailable")
        assert client.try_poll().problem == (503, "unavailable")


# J7


def test_thirty_at_once_are_all_stored_whatever_conflicts(tenant: Tenant, faults: ModuleType) -> None:
    log = LogClient(Process(), tenant.key).create(partitions=7)
    rng = random.Random(7)
    kinds = [faults.THROTTLED, faults.CONFLICT, faults.LOST, faults.SERVER_ERROR, faults.TIMEOUT, faults.THROTTLING]

    def choose(call: Any) -> Any:
        return rng.choice(kinds) if call.service == "dynamodb" and rng.random() < 0.3 else None

    def enqueue(n: int) -> Any:
        return log.try_enqueue({"key": str(n), "seq": n}, headers={"Idempotency-Key": str(n)} if n % 5 == 0 else None)

    log.enqueue({"key": "warm", "seq": -1})
    with faults.choosing(choose) as injection, ThreadPoolExecutor(30) as pool:
        replies = list(pool.map(enqueue, range(30)))
    assert {reply.status for reply in replies} <= {200, 503}
    accepted = {n for n, reply in enumerate(replies) if reply.status == 200}
    stored = [message["seq"] for partition in range(7) for message in log.poll(partition)["messages"]]
    assert accepted <= set(stored)
    assert len(set(stored)) == len(stored)
    assert len(accepted) >= 25
    assert len(injection.struck) > 5


@pytest.mark.parametrize("fault", ["CONFLICT", "LOST", "SERVER_ERROR_AFTER", "THROTTLED"])
def test_a_conflict_is_no_mismatch_and_a_lost_answer_no_conflict(
    tenant: Tenant, faults: ModuleType, fault: str
) -> None:
    log = LogClient(Process(), tenant.key)
    log.process.call("whoami_read", key=tenant.key)
    strike = getattr(faults, fault)
    with faults.failing(strike, operation="TransactWriteItems") as injection:
        log.create()
    assert injection.struck
    with faults.failing(strike, operation="UpdateItem"):
        assert log.call("log_disable").status == 200
    with faults.failing(strike, operation="TransactWriteItems"):
        assert log.call("log_delete").status == 204
    with faults.failing(strike, operation="TransactWriteItems"):
        log.create()
    assert log.seqs() == []


def test_thirty_definitions_at_once_make_one_log(process: Process, tenant: Tenant, world: World) -> None:
    def define(n: int) -> int:
        body = {"queue": "orders", "partitions": 1 + n % 3}
        return process.call("log_create", key=tenant.key, body=body).status

    with ThreadPoolExecutor(30) as pool:
        statuses = list(pool.map(define, range(30)))
    assert sorted(statuses) == [200] * 10 + [409] * 20
    assert len([row for row in world.rows(world.state_table) if "partitions" in row]) == 1


def in_turn(*kinds: Any) -> Any:
    """Strike the first BatchWriteItem by the first fault and so on, the rest by the last."""
    left = list(kinds)

    def choose(call: Any) -> Any:
        if call.operation != "BatchWriteItem":
            return None
        return left.pop(0) if len(left) > 1 else left[0]

    return choose
