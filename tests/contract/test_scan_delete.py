import math

import pytest

from edge import Edge, EdgeTable, EdgeUnavailable, Position, Removed, time_limit
from tools import faults
from tools.faults import Killed, failing
from tools.ledger import Ledger


def store(edges: EdgeTable, source: str, *seqs: int, size: int = 0) -> list[Edge]:
    stored = [Edge(source, seq, f"{n:05d}", {"body": bytes(size), "blob": f"b{n}"}) for n, seq in enumerate(seqs)]
    assert edges.insert_many(stored) == [None] * len(stored)
    return stored


def left(edges: EdgeTable, source: str) -> list[int]:
    return [edge.seq for edge in edges.scan(source, limit=1000).edges]


def positions(removed: Removed) -> list[Position]:
    return [edge.position for edge in removed.edges]


def test_a_range_is_deleted_for_good(edges: EdgeTable, source: str) -> None:
    stored = store(edges, source, -5, -1, 0, 0, 3)
    removed = edges.scan_delete(source, until=0)
    assert (positions(removed), removed.finished) == ([edge.position for edge in stored[:4]], True)
    assert left(edges, source) == [3]
    assert edges.scan_delete(source, until=0) == Removed((), finished=True)
    assert len(edges.scan_delete(source).edges) == 1
    assert left(edges, source) == []


def test_the_ends_of_int64_are_deleted_too(edges: EdgeTable, source: str) -> None:
    store(edges, source, -(2**63), 2**63 - 1)
    assert len(edges.scan_delete(source, until=-(2**63)).edges) == 1
    assert left(edges, source) == [2**63 - 1]
    assert len(edges.scan_delete(source, until=2**63 - 1).edges) == 1


def test_exact_bounds_split_a_run(edges: EdgeTable, source: str) -> None:
    stored = store(edges, source, 7, 7, 7, 7)
    removed = edges.scan_delete(source, after=stored[0].position, through=stored[2].position)
    assert positions(removed) == [edge.position for edge in stored[1:3]]
    assert edges.positions(source) == [stored[0].position, stored[3].position]


def test_only_what_is_chosen_goes(edges: EdgeTable, source: str) -> None:
    stored = store(edges, source, 1, 2, 3, 4)
    removed = edges.scan_delete(source, only=lambda position: position.seq % 2 == 0)
    assert positions(removed) == [stored[1].position, stored[3].position]
    assert left(edges, source) == [1, 3]


def test_what_is_kept_comes_back_with_what_was_deleted(edges: EdgeTable, source: str) -> None:
    store(edges, source, 1, 2, size=100)
    removed = edges.scan_delete(source, keep=["blob"])
    assert [edge.attributes for edge in removed.edges] == [{"blob": "b0"}, {"blob": "b1"}]


def test_it_costs_its_reads_and_a_batch_for_25(edges: EdgeTable, source: str, ledger: Ledger) -> None:
    store(edges, source, *range(60), size=500)
    with ledger.operation("delete") as cost:
        assert len(edges.scan_delete(source).edges) == 60
    assert cost.calls == {"dynamodb.Query": 1, "dynamodb.BatchWriteItem": math.ceil(60 / 25)}
    assert cost.write_units == 60


def test_more_than_one_page_of_the_engine_is_deleted(edges: EdgeTable, source: str) -> None:
    store(edges, source, *range(30), size=50_000)
    removed = edges.scan_delete(source)
    assert (len(removed.edges), removed.finished) == (30, True)
    assert left(edges, source) == []


def test_it_stops_when_time_is_short_and_says_so(edges: EdgeTable, source: str) -> None:
    store(edges, source, *range(30), size=50_000)
    with time_limit(1.5):
        removed = edges.scan_delete(source)
    assert not removed.finished
    assert 0 < len(removed.edges) < 30
    assert left(edges, source) == list(range(len(removed.edges), 30))
    assert edges.scan_delete(source).finished


def test_a_failure_leaves_the_rest_and_it_can_be_repeated(edges: EdgeTable, source: str) -> None:
    store(edges, source, *range(60))
    with (
        failing(
            faults.THROTTLED, operation="BatchWriteItem", times=4, where=lambda call: "00030" in str(call.document)
        ),
        pytest.raises(EdgeUnavailable) as unavailable,
    ):
        edges.scan_delete(source)
    assert unavailable.value.throttled
    assert left(edges, source) == list(range(25, 50))
    assert len(edges.scan_delete(source).edges) == 25


def test_death_at_any_call_loses_nothing_of_the_rest(edges: EdgeTable, source: str) -> None:
    def prepare() -> None:
        edges.scan_delete(source)
        store(edges, source, *range(40))

    points = 0
    for point in faults.crash_points(lambda: edges.scan_delete(source, until=29), prepare=prepare):
        points += 1
        assert left(edges, source)[-10:] == list(range(30, 40)), str(point)
        edges.scan_delete(source, until=29)
        assert left(edges, source) == list(range(30, 40)), str(point)
    assert points == 2 * 3, "one query and two batches, each before and after"


def test_the_last_edge_is_found(edges: EdgeTable, source: str, ledger: Ledger) -> None:
    assert edges.last(source) is None
    stored = store(edges, source, 5, 5, -9)
    with ledger.operation("last") as cost:
        assert edges.last(source) == stored[1]
    assert (cost.calls, cost.read_units) == ({"dynamodb.Query": 1}, 1)


def test_positions_are_listed_without_their_bodies(edges: EdgeTable, source: str, ledger: Ledger) -> None:
    stored = [edge.position for edge in store(edges, source, *range(10), size=1000)]
    with ledger.operation("positions") as cost:
        assert edges.positions(source) == stored
    assert cost.calls == {"dynamodb.Query": 1}
    assert cost.bytes_received < 2000
    assert edges.positions(source, most=3) == stored[:3]
    assert edges.positions(source, after=stored[2], through=stored[5]) == stored[3:6]
    assert edges.positions(source, after=stored[2], most=2) == stored[3:5]
    assert edges.positions(source, after=stored[5], through=stored[2]) == []


def test_a_dead_process_deletes_nothing_more(edges: EdgeTable, source: str) -> None:
    store(edges, source, 1)
    with failing(faults.KILLED, operation="BatchWriteItem"), pytest.raises(Killed):
        edges.scan_delete(source)
    assert left(edges, source) == [1]
