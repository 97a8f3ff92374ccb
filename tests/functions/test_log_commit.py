"""log_commit: by offset a prefix goes, by cursor what its polls returned and nothing that came later."""

from types import ModuleType
from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import World


def test_a_commit_deletes_for_real_and_may_be_repeated(log: LogClient, world: World) -> None:
    log.enqueue_seqs(1, 2, 3)
    expected = {"namespace": "shop", "queue": "orders", "partition": 0, "committed": 2}
    assert log.commit(offset=2) == expected
    assert log.commit(offset=2) == expected | {"committed": 0}
    assert len(world.rows(world.edges_table)) == 1
    assert log.seqs() == [3]


def test_the_sample_event(process: Process, tenant: Tenant) -> None:
    log = LogClient(process, tenant.key).create(partitions=30)
    log.call("log_enqueue")
    assert log.call("log_commit", query="offset=1796032800000").json["committed"] == 1
    assert log.poll(2)["messages"] == []
    assert len(log.poll(15)["messages"]) == 1


def test_other_partitions_and_logs_keep_theirs(process: Process, tenant: Tenant) -> None:
    log, other = (LogClient(process, tenant.key, name).create(partitions=30) for name in ("orders", "orders-2"))
    for each in (log, other):
        each.enqueue({"key": "a", "seq": 1}, {"key": "abc", "seq": 1})  # partitions 0 and 27
    assert log.committed(0, offset=9) == 1
    assert [log.seqs(27), other.seqs(0), other.seqs(27)] == [[1]] * 3


@pytest.mark.parametrize("count", [1, 24, 25, 26, 99, 250])
def test_any_number_goes(log: LogClient, count: int) -> None:
    log.enqueue_seqs(*range(count + 1))
    assert log.committed(offset=count - 1) == count
    assert log.seqs() == [count]


# By cursor


def test_a_cursor_covers_what_its_page_returned(log: LogClient) -> None:
    log.enqueue_seqs(1, 2, 3)
    page = log.poll(limit=2)
    assert log.committed(cursor=page["cursor"]) == 2
    assert log.committed(cursor=page["cursor"]) == 0
    assert log.seqs() == [3]


def test_what_arrives_after_the_poll_stays_wherever_it_sorts(log: LogClient) -> None:
    log.enqueue_seqs(10, 20, 30)
    page = log.poll(limit=2)
    log.enqueue_seqs(5, 10, 15, 20, 25)
    assert log.committed(cursor=page["cursor"]) == 2
    assert log.seqs() == [5, 10, 15, 20, 25, 30]


def test_a_late_message_of_a_process_whose_clock_is_behind_stays(log: LogClient, tenant: Tenant) -> None:
    behind = LogClient(Process(clock=lambda: 1_000), tenant.key)
    log.enqueue_seqs(10, 10)
    page = log.poll()
    late = behind.enqueue_seqs(10)
    assert late[0] < page["messages"][0]["id"]
    assert log.committed(cursor=page["cursor"]) == 2
    assert [message["id"] for message in log.poll()["messages"]] == late


def test_by_offset_a_late_message_within_goes_too_and_is_counted(log: LogClient) -> None:
    log.enqueue_seqs(10)
    page = log.poll()
    log.enqueue_seqs(5)
    assert log.committed(offset=page["offset"]) == 2


def test_the_last_cursor_of_a_chain_covers_the_whole_chain(log: LogClient) -> None:
    log.enqueue_seqs(*range(10))
    cursor = chain(log, pages=3, limit=3)
    assert log.committed(cursor=cursor) == 9
    assert log.seqs() == [9]


def test_a_chain_from_an_offset_begins_there(log: LogClient) -> None:
    log.enqueue_seqs(*range(10))
    first = log.poll(offset=1, limit=3)
    second = log.poll(cursor=first["cursor"], limit=3)
    assert log.committed(cursor=second["cursor"]) == 6
    assert log.seqs() == [0, 1, 8, 9]


def test_each_page_of_a_chain_may_be_committed_in_turn(log: LogClient) -> None:
    log.enqueue_seqs(*range(10))
    place: dict[str, Any] = {}
    counts = []
    for _ in range(4):
        page = log.poll(limit=3, **place)
        place = {"cursor": page["cursor"]}
        counts.append(log.committed(**place))
    assert counts == [3, 3, 3, 1]
    assert log.seqs() == []


def test_a_late_message_among_earlier_pages_is_never_lost(log: LogClient) -> None:
    log.enqueue_seqs(*range(0, 100, 10))
    cursor = chain(log, pages=3, limit=3)
    late = log.enqueue_seqs(5)
    assert log.committed(cursor=cursor) == 3  # the last page; what came before is delivered again
    assert log.seqs() == [0, 5, 10, 20, 30, 40, 50, 90]
    assert late[0] in [message["id"] for message in log.poll()["messages"]]


def test_an_earlier_page_that_is_partly_gone_and_refilled_is_left_alone(log: LogClient) -> None:
    log.enqueue_seqs(*range(0, 100, 10))
    cursor = chain(log, pages=3, limit=3)
    log.commit(offset=0)
    log.enqueue_seqs(1)  # the number of messages is the same as before
    assert log.committed(cursor=cursor) == 3
    assert log.seqs() == [1, 10, 20, 30, 40, 50, 90]


def test_a_late_message_beyond_the_last_returned_stays(log: LogClient) -> None:
    log.enqueue_seqs(1, 2)
    page = log.poll()
    log.enqueue_seqs(3)
    assert log.committed(cursor=page["cursor"]) == 2
    assert log.seqs() == [3]


def test_a_cursor_inside_a_split_run_covers_the_part_returned(log: LogClient) -> None:
    ids = log.enqueue_seqs(*[7] * 1000) + log.enqueue_seqs(*[7] * 100)
    page = log.poll()
    assert len(page["cursor"]) < 6_000  # fits a request line
    assert log.committed(cursor=page["cursor"]) == 1000
    assert [message["id"] for message in log.poll()["messages"]] == ids[1000:]


# Too long for one call, and failures


@pytest.mark.parametrize("by", ["offset", "cursor"])
def test_a_commit_without_time_says_so_and_is_repeated(log: LogClient, tenant: Tenant, by: str) -> None:
    hurried = LogClient(Process(seconds=2.0), tenant.key)
    for start in range(3):
        log.enqueue(*({"key": "k", "seq": 40 * start + n, "value": "x" * 40_000} for n in range(40)))
    first = log.poll(limit=60)
    place = {by: log.poll(cursor=first["cursor"], limit=59)[by]}
    total, calls = 0, 0
    while True:
        answer = hurried.commit(**place)
        total, calls = total + answer["committed"], calls + 1
        if not answer.get("hasNext"):
            break
        if by == "cursor":
            place = {"cursor": answer["cursor"]}
    assert (total, log.seqs()) == (119, [119])
    assert calls > 2


def test_a_throttled_commit_is_503_and_can_be_repeated(log: LogClient, tenant: Tenant, faults: ModuleType) -> None:
    log.enqueue_seqs(*range(60))
    hurried = LogClient(Process(), tenant.key)
    with faults.failing(faults.THROTTLED, at=3, times=None, operation="BatchWriteItem"):
        assert hurried.try_commit(offset=58).problem == (503, "throttled")
    with faults.failing(faults.TIMEOUT, times=None, operation="Query"):
        assert hurried.try_commit(offset=58).problem == (503, "unavailable")
    assert hurried.committed(offset=58) <= 59
    assert log.seqs() == [59]


def chain(log: LogClient, *, pages: int, limit: int) -> str:
    """The cursor that a number of pages lead to."""
    cursor = log.poll(limit=limit)["cursor"]
    for _ in range(pages - 1):
        cursor = log.poll(cursor=cursor, limit=limit)["cursor"]
    return str(cursor)
