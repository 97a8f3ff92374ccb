"""What queue/v1 costs: calls and capacity units, and that neither grows with what is stored."""

import threading
from typing import Any

import pytest

from tests.processes import Process
from tests.worlds import ManualClock, World
from tools.calls import Call, Outcome, Proceed, Watcher, watching
from tools.ledger import Ledger

PATH = {"namespace": "shop", "queue": "orders", "partition": "0"}
KIBIBYTE_FITS = 700
"""Bytes of a value with which a message, its key and its envelope stay within 1 KB: one write unit."""


class Log:
    """A log of one partition, used by a warm process."""

    def __init__(self, world: World, clock: ManualClock) -> None:
        self.process = Process(clock=clock)
        self.key = self.process.tenant(platform_key=f"platform.{world.platform_key}").key
        self.call("log_create", body={"queue": "orders", "partitions": 1})
        self.enqueue(1)
        self.poll()
        self.commit(offset=0)

    def call(self, function: str, **request: Any) -> Any:
        path = {name: PATH[name] for name in ("namespace", "queue", "partition")}
        reply = self.process.call(function, key=self.key, path=path, **request)
        assert reply.status == 200, reply
        return reply.json

    def enqueue(self, count: int, *, size: int = 10, start: int = 0, **request: Any) -> Any:
        messages = [{"key": "k", "seq": start + n, "value": "x" * size} for n in range(count)]
        answer = self.call("log_enqueue", body={"messages": messages}, **request)
        assert answer["accepted"] == count
        return answer

    def poll(self, **query: Any) -> Any:
        return self.call("log_poll", query=query)

    def commit(self, **query: Any) -> int:
        return int(self.call("log_commit", query=query)["committed"])


@pytest.fixture
def log(world: World, clock: ManualClock) -> Log:
    return Log(world, clock)


@pytest.mark.parametrize("count", [1, 25, 26, 100, 1000])
def test_enqueue_is_a_batch_for_25_and_a_write_unit_for_each(log: Log, ledger: Ledger, count: int) -> None:
    with ledger.operation("enqueue") as cost:
        log.enqueue(count, size=KIBIBYTE_FITS)
    assert cost.calls == {"dynamodb.BatchWriteItem": -(-count // 25)}
    assert cost.write_units == count
    assert cost.read_units == 0


def test_the_batches_of_an_enqueue_go_side_by_side(log: Log) -> None:
    class Together(Watcher):
        """Lets no batch go before the second has come."""

        def __init__(self) -> None:
            self.meeting = threading.Barrier(4, timeout=10)

        def attempt(self, call: Call, proceed: Proceed) -> Outcome:
            if call.operation == "BatchWriteItem":
                self.meeting.wait()
            return proceed(call)

    with watching(Together()):
        log.enqueue(100)


def test_big_values_cost_an_object_each(log: Log, ledger: Ledger) -> None:
    with ledger.operation("enqueue") as cost:
        log.enqueue(3, size=100_000)
    assert cost.calls == {"dynamodb.BatchWriteItem": 1, "s3.PutObject": 3}
    assert cost.write_units == 3
    with ledger.operation("poll") as cost:
        log.poll()
    assert cost.calls == {"dynamodb.Query": 1, "s3.GetObject": 3}
    with ledger.operation("commit") as cost:
        log.commit(offset=9)
    assert cost.calls == {"dynamodb.Query": 1, "dynamodb.BatchWriteItem": 1, "s3.DeleteObjects": 1}


@pytest.mark.parametrize(("stored", "limit"), [(1, 100), (100, 100), (300, 100), (300, 1), (1000, 1000)])
def test_a_poll_of_a_page_within_a_megabyte_is_one_query(log: Log, ledger: Ledger, stored: int, limit: int) -> None:
    log.enqueue(stored)
    with ledger.operation("poll") as cost:
        page = log.poll(limit=limit)
    assert len(page["messages"]) == min(stored, limit)
    assert cost.calls == {"dynamodb.Query": 1}
    assert cost.write_units == 0


def test_a_poll_reads_no_more_than_its_page_and_one_message(log: Log, ledger: Ledger) -> None:
    log.enqueue(200, size=8_000)
    with ledger.operation("poll") as cost:
        log.poll(limit=10)
    assert cost.calls == {"dynamodb.Query": 1}
    assert cost.read_units <= 11 * 8_200 / 4096 + 1  # consistent: a unit for 4 KB


def test_a_poll_by_cursor_and_an_empty_one_are_one_query(log: Log, ledger: Ledger) -> None:
    log.enqueue(20)
    cursor = log.poll(limit=20)["cursor"]
    for query in ({"cursor": cursor}, {"offset": 100}, {"cursor": log.poll(limit=5)["cursor"]}):
        with ledger.operation("poll") as cost:
            log.poll(**query)
        assert cost.calls == {"dynamodb.Query": 1}


@pytest.mark.parametrize("by", ["offset", "cursor"])
@pytest.mark.parametrize("count", [1, 25, 26, 250])
def test_a_commit_is_its_queries_and_a_batch_for_25(log: Log, ledger: Ledger, by: str, count: int) -> None:
    log.enqueue(count, size=KIBIBYTE_FITS)
    page = log.poll(limit=count)
    with ledger.operation("commit") as cost:
        assert log.commit(**{by: page[by]}) == count
    assert cost.calls == {"dynamodb.Query": 1, "dynamodb.BatchWriteItem": -(-count // 25)}
    assert cost.write_units == count
    assert cost.bytes_received < count * 250 + 2_000  # keys are read, not values


def test_a_commit_beyond_a_megabyte_takes_one_query_for_each(log: Log, ledger: Ledger) -> None:
    log.enqueue(50, size=50_000)  # 2.5 MB
    with ledger.operation("commit") as cost:
        assert log.commit(offset=100) == 50
    assert cost.calls["dynamodb.Query"] == 3
    assert cost.calls["dynamodb.BatchWriteItem"] <= 2 + 3  # each page ends with a batch that may not be full


def test_a_commit_of_nothing_is_one_query(log: Log, ledger: Ledger) -> None:
    log.enqueue(5)
    with ledger.operation("commit") as cost:
        assert log.commit(offset=-1) == 0
    assert cost.calls == {"dynamodb.Query": 1}


def test_keys_and_definitions_are_read_once_within_their_time(log: Log, ledger: Ledger, clock: ManualClock) -> None:
    extra = {0.0: {}, 4.9: {}, 5.0: {"dynamodb.GetItem": 1}, 9.9: {}, 59.0: {"dynamodb.GetItem": 1}}
    extra |= {60.0: {"dynamodb.GetItem": 1}, 64.0: {"dynamodb.GetItem": 1}}
    start = clock.now
    for seconds, reads in extra.items():
        clock.now = start
        clock.advance(seconds=seconds)
        with ledger.operation("poll") as cost:
            log.poll()
        assert cost.calls == {"dynamodb.Query": 1, **reads}
    clock.now = start
    clock.advance(seconds=300)
    with ledger.operation("poll") as cost:
        log.enqueue(1)
    assert cost.calls == {"dynamodb.GetItem": 3, "kms.Decrypt": 1, "dynamodb.BatchWriteItem": 1}


def test_an_idempotent_enqueue_adds_what_it_takes_to_remember(log: Log, ledger: Ledger) -> None:
    headers = {"Idempotency-Key": "a"}
    with ledger.operation("first") as cost:
        log.enqueue(10, headers=headers)
    assert cost.calls == {"dynamodb.PutItem": 1, "dynamodb.UpdateItem": 2, "dynamodb.BatchWriteItem": 1}
    with ledger.operation("again") as cost:
        log.enqueue(10, headers=headers)
    assert cost.calls == {"dynamodb.PutItem": 1}


def test_nothing_grows_with_depth(log: Log, ledger: Ledger) -> None:
    costs = []
    depth = 0
    for target in (50, 400, 1600):
        while depth < target:
            more = min(target - depth, 1000)
            log.enqueue(more, start=depth)
            depth += more
        figures: list[object] = []
        with ledger.operation("enqueue") as cost:
            log.enqueue(10, start=10**6)
        figures += [dict(cost.calls), cost.write_units]
        with ledger.operation("poll") as cost:
            page = log.poll(limit=10)
        figures += [dict(cost.calls), cost.read_units]
        with ledger.operation("commit by cursor") as cost:
            assert log.commit(cursor=page["cursor"]) == 10
        figures += [dict(cost.calls), cost.read_units, cost.write_units]
        with ledger.operation("commit by offset") as cost:
            assert log.commit(offset=page["offset"] + 5) == 5
        figures += [dict(cost.calls), cost.read_units, cost.write_units]
        costs.append(figures)
        log.enqueue(15)
    assert costs[0] == costs[1] == costs[2]
