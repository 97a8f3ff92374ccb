"""log_poll: order, bounds, and where a page may end."""

from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant

MIN, MAX = -(2**63), 2**63 - 1


def drained(log: LogClient, *, by: str, limit: int = 100) -> list[dict[str, Any]]:
    """Everything, poll and commit in turn as a consumer does."""
    found: list[dict[str, Any]] = []
    while True:
        page = log.poll(limit=limit)
        if not page["messages"]:
            return found
        found += page["messages"]
        if page["offset"] is None or by == "cursor":
            log.commit(cursor=page["cursor"])
        else:
            log.commit(offset=page["offset"])


def read(log: LogClient, *, by: str, limit: int = 100) -> list[dict[str, Any]]:
    """Everything, page after page without a commit. By offset as far as it leads, then by cursor."""
    found: list[dict[str, Any]] = []
    place: dict[str, Any] = {}
    while True:
        page = log.poll(limit=limit, **place)
        found += page["messages"]
        if not page["hasNext"]:
            return found
        inside_run = page["offset"] is None or page["offset"] < page["messages"][-1]["seq"]
        place = {"cursor": page["cursor"]} if by == "cursor" or inside_run else {"offset": page["offset"]}


def test_an_empty_partition(log: LogClient) -> None:
    assert log.poll() == {"messages": [], "offset": None, "hasNext": False, "cursor": None}
    assert log.poll(offset=5) == {"messages": [], "offset": 5, "hasNext": False, "cursor": None}


def test_the_sample_event(process: Process, tenant: Tenant) -> None:
    log = LogClient(process, tenant.key).create(partitions=30)
    assert log.call("log_enqueue").status == 200
    reply = log.call("log_poll", query="offset=1796032799999&limit=100")
    assert [message["seq"] for message in reply.json["messages"]] == [1796032800000]
    assert set(reply.json) == {"messages", "offset", "hasNext", "cursor"}
    assert set(reply.json["messages"][0]) == {"partition", "id", "seq", "value"}


def test_messages_come_by_seq_then_id_whoever_enqueued_them(process: Process, tenant: Tenant) -> None:
    log = LogClient(process, tenant.key).create()
    elsewhere = LogClient(Process(), tenant.key)
    for n, seq in enumerate([5, 3, 5, -1, 3, 9, 5]):
        (log, elsewhere)[n % 2].enqueue_seqs(seq)
    page = log.poll()["messages"]
    places = [(message["seq"], message["id"]) for message in page]
    assert places == sorted(places)
    assert [seq for seq, _ in places] == [-1, 3, 3, 5, 5, 5, 9]


def test_bounds_and_limit(log: LogClient) -> None:
    log.enqueue_seqs(*range(10))
    assert log.seqs(offset=3) == [4, 5, 6, 7, 8, 9]
    assert log.seqs(until=3) == [0, 1, 2, 3]
    assert log.seqs(offset=3, until=6) == [4, 5, 6]
    assert log.seqs(offset=3, until=3) == log.seqs(offset=7, until=3) == []
    page = log.poll(offset=3, until=7, limit=2)
    assert ([m["seq"] for m in page["messages"]], page["offset"], page["hasNext"]) == ([4, 5], 5, True)
    page = log.poll(cursor=page["cursor"], until=7)
    assert ([m["seq"] for m in page["messages"]], page["offset"], page["hasNext"]) == ([6, 7], 7, False)


def test_a_page_has_100_messages_unless_told_otherwise(log: LogClient) -> None:
    log.enqueue_seqs(*range(101))
    page = log.poll()
    assert (len(page["messages"]), page["offset"], page["hasNext"]) == (100, 99, True)
    assert log.poll(limit=101)["hasNext"] is False


def test_an_empty_page_keeps_the_place(log: LogClient) -> None:
    log.enqueue_seqs(1, 2)
    first = log.poll()
    empty = log.poll(cursor=first["cursor"])
    assert empty == {"messages": [], "offset": 2, "hasNext": False, "cursor": first["cursor"]}
    log.enqueue_seqs(3)
    assert log.seqs(cursor=empty["cursor"]) == [3]


# A1: equal seqs across the edge of a page


@pytest.mark.parametrize("by", ["offset", "cursor"])
def test_a_page_never_ends_inside_a_run(log: LogClient, by: str) -> None:
    log.enqueue_seqs(7, 7, 7, 8)
    page = log.poll(limit=2)
    assert [message["seq"] for message in page["messages"]] == [7, 7, 7]
    assert (page["offset"], page["hasNext"]) == (7, True)
    assert log.committed(**{by: page[by]}) == 3
    assert log.seqs(limit=2) == [8]


def test_a_page_stops_before_a_run_that_does_not_fit(log: LogClient) -> None:
    log.enqueue_seqs(6, 7, 7, 8)
    page = log.poll(limit=2)
    assert ([message["seq"] for message in page["messages"]], page["offset"]) == ([6], 6)


@pytest.mark.parametrize("by", ["offset", "cursor"])
def test_1200_messages_of_one_seq_are_all_delivered_before_they_go(log: LogClient, by: str) -> None:
    ids = log.enqueue_seqs(*[7] * 800) + log.enqueue_seqs(*[7] * 400) + log.enqueue_seqs(8)
    first = log.poll(limit=2)
    assert len(first["messages"]) == 1000
    assert (first["offset"], first["hasNext"]) == (None, True)
    second = log.poll(cursor=first["cursor"])
    assert [message["seq"] for message in second["messages"]] == [7] * 200  # the run ends past the limit of 100
    assert (second["offset"], second["hasNext"]) == (7, True)
    assert [message["id"] for message in read(log, by=by)] == ids
    assert [message["id"] for message in drained(log, by=by, limit=2)] == ids


def test_the_offset_before_a_split_run_deletes_nothing_of_it(log: LogClient) -> None:
    log.enqueue_seqs(5, *[7] * 700)
    log.enqueue_seqs(*[7] * 500)
    page = log.poll(limit=1000)
    assert ([message["seq"] for message in page["messages"]], page["offset"]) == ([5], 5)
    inside = log.poll(offset=5, limit=1000)
    assert (len(inside["messages"]), inside["offset"], inside["hasNext"]) == (1000, 5, True)
    assert log.committed(offset=inside["offset"]) == 1
    assert len(read(log, by="cursor")) == 1200


@pytest.mark.parametrize("by", ["offset", "cursor"])
@pytest.mark.parametrize(("size", "count"), [(300_000, 8), (60_000, 25)])
def test_a_run_beyond_a_megabyte_is_delivered_whole(log: LogClient, by: str, size: int, count: int) -> None:
    ids = [log.enqueue({"key": "k", "seq": 7, "value": "x" * size})["results"][0]["id"] for _ in range(count)]
    ids += log.enqueue_seqs(8)
    page = log.poll(limit=2)
    assert [message["id"] for message in page["messages"]] == ids[:-1]
    assert [message["id"] for message in drained(log, by=by, limit=2)] == ids


# Pages of 4 MiB


def test_a_page_ends_before_four_mebibytes(log: LogClient) -> None:
    for seq in range(10):
        log.enqueue({"key": "k", "seq": seq, "value": "x" * (1024 * 1024 - 2)})
    first = log.try_poll()
    assert (log.seqs(), first.json["offset"], first.json["hasNext"]) == ([0, 1, 2, 3], 3, True)
    assert len(first.body) < 4_200_000
    assert log.seqs(offset=3) == [4, 5, 6, 7]
    assert log.seqs(offset=7) == [8, 9]


def test_a_run_beyond_four_mebibytes_is_split(log: LogClient) -> None:
    log.enqueue_seqs(6)
    ids = [log.enqueue({"key": "k", "seq": 7, "value": "x" * 1_000_000})["results"][0]["id"] for _ in range(6)]
    before = log.poll()
    assert ([message["seq"] for message in before["messages"]], before["offset"]) == ([6], 6)
    inside = log.poll(offset=6)
    assert [message["id"] for message in inside["messages"]] == ids[:4]
    assert (inside["offset"], inside["hasNext"]) == (6, True)
    rest = log.poll(cursor=inside["cursor"])
    assert [message["id"] for message in rest["messages"]] == ids[4:]
    assert (rest["offset"], rest["hasNext"]) == (7, False)


# A3: negative and extreme seqs, and the default start


def test_seqs_of_all_of_int64_in_numeric_order(log: LogClient) -> None:
    seqs = [MIN, -1000, -2, -1, 0, 9, 10, MAX]
    log.enqueue_seqs(*reversed(seqs))
    assert log.seqs() == seqs
    assert log.seqs(offset=-2) == [-1, 0, 9, 10, MAX]
    assert log.poll(offset=MAX) == {"messages": [], "offset": MAX, "hasNext": False, "cursor": None}
    assert log.seqs(offset=MIN) == seqs[1:]
    assert log.seqs(until=MIN) == [MIN]
    assert log.committed(offset=-2) == 3
    assert log.seqs() == [-1, 0, 9, 10, MAX]
    for seq in (2**63, -(2**63) - 1):
        assert log.try_enqueue({"key": "k", "seq": seq}).problem == (400, "validation_failed")
        assert log.try_poll(offset=seq).problem == log.try_commit(offset=seq).problem == (400, "validation_failed")
    assert log.committed(offset=MAX) == 5


BAD_QUERIES = {
    "limit=0": "limit",
    "limit=1001": "limit",
    "limit=-1": "limit",
    "limit=": "limit",
    "limit=1.0": "limit",
    "limit=x": "limit",
    "limit=%D9%A3": "limit",
    "limit=1&limit=1": "limit",
    "limit=99999999999999999999999": "limit",
    "offset=x": "offset",
    "offset=1.5": "offset",
    "offset=": "offset",
    "offset=+1": "offset",
    "offset=--1": "offset",
    "offset=null": "offset",
    "until=9223372036854775808": "until",
    "ofset=1": "ofset",
    "Offset=1": "Offset",
    "cursor=%ff": "query",
}


@pytest.mark.parametrize("query", BAD_QUERIES)
def test_a_bad_query_is_refused(log: LogClient, query: str) -> None:
    reply = log.call("log_poll", path={"partition": "0"}, query=query)
    assert reply.problem == (400, "validation_failed")
    assert reply.fields == [BAD_QUERIES[query]]


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "%00", "a" * 3000, "=", "é"])
def test_a_cursor_that_is_none_is_refused(log: LogClient, cursor: str) -> None:
    assert log.try_poll(cursor=cursor).problem == (400, "invalid_token")
    assert log.try_commit(cursor=cursor).problem == (400, "invalid_token")


def test_cursor_and_offset_do_not_mix(log: LogClient) -> None:
    log.enqueue_seqs(1, 2)
    page = log.poll(limit=1)
    assert log.try_poll(cursor=page["cursor"], offset=1).problem == (400, "validation_failed")
    assert log.try_commit(cursor=page["cursor"], offset=1).problem == (400, "validation_failed")
    assert log.try_commit().problem == (400, "validation_failed")
    assert log.seqs() == [1, 2]


@pytest.mark.parametrize("partition", ["1", "30", "-1", "x", "0.0", "", " ", "\u0663", "9" * 30])
def test_a_partition_that_is_not_there_is_refused(log: LogClient, partition: str) -> None:
    assert log.try_poll(partition).problem == (400, "validation_failed")
    assert log.try_commit(partition, offset=1).problem == (400, "validation_failed")


@pytest.mark.parametrize("name", ["", "x" * 81, "a b", "a/b", "é", "a%2Fb", "\x00", "*"])
def test_a_name_that_can_be_none_is_refused_everywhere(log: LogClient, name: str) -> None:
    for member in ("queue", "namespace"):
        for function in ("log_read", "log_enable", "log_disable", "log_delete", "log_partitions", "log_stats"):
            assert log.call(function, path={member: name}).problem == (400, "validation_failed")
        for function in ("log_enqueue", "log_poll", "log_commit"):
            reply = log.call(function, path={member: name}, query="" if function != "log_commit" else "offset=1")
            assert reply.problem == (400, "validation_failed")
