"""What happens between a failure of AWS and an answer of edge. No test sleeps: the pauses are remembered instead."""

import random
from collections.abc import Callable

import pytest

from edge import (
    ConditionFailed,
    Edge,
    EdgeRejected,
    EdgeTable,
    EdgeUnavailable,
    PartitionFull,
    Retry,
    Row,
    StateTable,
    time_limit,
)
from tests.contract.conftest import Clients, Pauses
from tests.worlds import Engine
from tools import faults
from tools.calls import Call
from tools.faults import failing
from tools.ledger import Ledger

PASSING = [
    faults.THROTTLED,
    faults.THROTTLING,
    faults.CONFLICT,
    faults.SERVER_ERROR,
    faults.SERVER_ERROR_AFTER,
    faults.TIMEOUT,
    faults.LOST,
]


def about(text: str) -> Callable[[Call], bool]:
    return lambda call: text in str(call.document)


@pytest.mark.parametrize("fault", PASSING, ids=str)
def test_what_passes_is_tried_again(state: StateTable, source: str, pauses: Pauses, fault: faults.Fault) -> None:
    with failing(fault, times=3) as injection:
        state.put({"pk": source, "sk": "row", "n": 1})
    assert len(injection.struck) == 3
    assert pauses.seconds == [0.03, 0.06, 0.12]
    assert state.get(source, "row") == {"pk": source, "sk": "row", "n": 1}


@pytest.mark.parametrize(
    ("fault", "throttled", "maybe_done", "stored"),
    [
        (faults.THROTTLED, True, False, False),
        (faults.CONFLICT, True, False, False),
        (faults.TIMEOUT, False, False, False),
        (faults.SERVER_ERROR, False, True, False),
        (faults.SERVER_ERROR_AFTER, False, True, True),
        (faults.LOST, False, True, True),
    ],
    ids=str,
)
def test_what_does_not_pass_is_told_honestly(
    state: StateTable, source: str, pauses: Pauses, fault: faults.Fault, throttled: bool, maybe_done: bool, stored: bool
) -> None:
    with failing(fault, times=None) as injection, pytest.raises(EdgeUnavailable) as unavailable:
        state.put({"pk": source, "sk": "row"})
    assert (unavailable.value.throttled, unavailable.value.maybe_done) == (throttled, maybe_done)
    assert (len(injection.struck), len(pauses.seconds)) == (4, 3)
    assert (state.get(source, "row") is not None) == stored


def test_every_operation_is_retried(edges: EdgeTable, state: StateTable, source: str, pauses: Pauses) -> None:
    operations: list[Callable[[], object]] = [
        lambda: edges.insert(Edge(source, 1, "A")),
        lambda: edges.insert_many([Edge(source, 2, "A")]),
        lambda: edges.scan(source),
        lambda: edges.last(source),
        lambda: edges.positions(source),
        lambda: edges.scan_delete(source),
        lambda: state.put({"pk": source, "sk": "row"}),
        lambda: state.update(source, "row", "SET #n = :n", values={"n": 1}),
        lambda: state.get(source, "row"),
        lambda: state.get_many([(source, "row")]),
        lambda: state.query(source),
        lambda: state.delete(source, "row"),
    ]
    for operation in operations:
        pauses.seconds.clear()
        with failing(faults.THROTTLED):
            operation()
        assert len(pauses.seconds) == 1


def test_pauses_are_drawn_from_all_of_a_growing_range(
    engine: Engine, clients: Clients, source: str, pauses: Pauses
) -> None:
    draw = random.Random(7).random
    retry = Retry(attempts=8, base_seconds=0.1, cap_seconds=1.0, sleep=pauses, draw=draw)
    state = StateTable(engine.state_table, client=clients(engine, "dynamodb"), retry=retry)
    for _ in range(20):
        with failing(faults.THROTTLED, times=7):
            state.get(source, "row")
    for attempt, top in enumerate([0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0]):
        drawn = pauses.seconds[attempt::7]
        assert len(drawn) == 20
        assert 0 <= min(drawn) < top * 0.3
        assert top * 0.7 < max(drawn) < top


def test_no_retry_starts_that_cannot_end_in_time(engine: Engine, clients: Clients, source: str, pauses: Pauses) -> None:
    retry = Retry(attempts=8, base_seconds=4.0, cap_seconds=100.0, reserve_seconds=1.0, sleep=pauses, draw=lambda: 1.0)
    state = StateTable(engine.state_table, client=clients(engine, "dynamodb"), retry=retry)
    with failing(faults.THROTTLED, times=None) as injection, pytest.raises(EdgeUnavailable), time_limit(12):
        state.put({"pk": source, "sk": "row"})
    assert pauses.seconds == [4.0, 8.0], "nothing was slept in truth: 12 s are left each time, 16 + 1 do not fit"
    assert len(injection.struck) == 3
    with failing(faults.THROTTLED), pytest.raises(EdgeUnavailable), time_limit(0.5):
        state.put({"pk": source, "sk": "row"})
    assert len(pauses.seconds) == 2


def test_the_time_limit_holds_in_threads(edges: EdgeTable, source: str, pauses: Pauses) -> None:
    many = [Edge(source, n, "A") for n in range(75)]
    with failing(faults.THROTTLED, times=None) as injection, time_limit(0.5):
        answers = edges.insert_many(many)
    assert all(isinstance(answer, EdgeUnavailable) and answer.throttled for answer in answers)
    assert (len(injection.struck), pauses.seconds) == (3, [])


def test_only_what_was_left_is_written_again(edges: EdgeTable, source: str, ledger: Ledger, pauses: Pauses) -> None:
    many = [Edge(source, n, "A", {"body": b"b"}) for n in range(20)]
    with ledger.operation("insert") as cost, failing(faults.unprocessed(done=8), times=2):
        assert edges.insert_many(many) == [None] * 20
    assert cost.calls == {"dynamodb.BatchWriteItem": 3}
    assert cost.write_units == 20, "nothing is written twice"
    assert pauses.seconds == [0.03, 0.06]
    assert edges.scan(source).edges == tuple(many)


def test_what_is_left_for_good_is_told_for_each_edge(edges: EdgeTable, source: str) -> None:
    many = [Edge(source, n, "A") for n in range(30)]
    with failing(faults.unprocessed(done=3), times=None, where=about(many[24].position.text())):
        answers = edges.insert_many(many)
    failed = [edge.seq for edge, answer in zip(many, answers, strict=True) if answer is not None]
    stored = [edge.seq for edge in edges.scan(source, limit=1000).edges]
    assert sorted(failed + stored) == list(range(30)), "an edge is stored or told, never both and never neither"
    assert {type(answer) for answer in answers} == {EdgeUnavailable, type(None)}
    assert not any(answer.maybe_done for answer in answers if isinstance(answer, EdgeUnavailable))


def test_one_failing_batch_touches_no_other(edges: EdgeTable, source: str) -> None:
    many = [Edge(source, n, "A") for n in range(75)]
    with failing(faults.SERVER_ERROR, times=None, where=about(many[30].position.text())):
        answers = edges.insert_many(many)
    assert [answer is None for answer in answers] == [n < 25 or n >= 50 for n in range(75)]
    assert len(edges.scan(source, limit=1000).edges) == 50


def test_an_edge_that_may_be_stored_is_not_called_missing(edges: EdgeTable, source: str) -> None:
    many = [Edge(source, n, "A") for n in range(10)]
    plan = iter([faults.LOST, *[faults.unprocessed(done=1)] * 4])
    with faults.choosing(lambda call: next(plan) if call.operation == "BatchWriteItem" else None):
        answers = edges.insert_many(many)
    assert len(edges.scan(source).edges) == 10, "the first attempt stored them all"
    assert [answer is None for answer in answers] == [True] * 4 + [False] * 6
    assert all(isinstance(answer, EdgeUnavailable) and answer.maybe_done for answer in answers[4:])


def test_keys_that_were_left_are_read_again(state: StateTable, source: str, pauses: Pauses) -> None:
    for n in range(6):
        state.put({"pk": source, "sk": f"{n}"})
    keys = [(source, f"{n}") for n in range(6)]
    with failing(faults.unprocessed(done=2), times=2):
        assert [row and row["sk"] for row in state.get_many(keys)] == list("012345")
    assert pauses.seconds == [0.03, 0.06]
    with failing(faults.unprocessed(done=1), times=None), pytest.raises(EdgeUnavailable) as unavailable:
        state.get_many(keys)
    assert unavailable.value.throttled


def test_errors_that_no_retry_helps_are_told_at_once(state: StateTable, source: str, pauses: Pauses) -> None:
    full = faults.refusal("ItemCollectionSizeLimitExceededException")
    with failing(full), pytest.raises(PartitionFull):
        state.put({"pk": source, "sk": "row"})
    with failing(faults.refusal("AccessDeniedException")), pytest.raises(EdgeRejected):
        state.put({"pk": source, "sk": "row"})
    assert pauses.seconds == []


@pytest.mark.parametrize("fault", [faults.LOST, faults.SERVER_ERROR_AFTER], ids=str)
class TestLostAnswersOfConditionalWrites:
    """The write happened, its answer was lost, and the repetition fails on the condition that it itself broke."""

    def test_a_put_knows_its_own_row(self, full_state: StateTable, source: str, fault: faults.Fault) -> None:
        row: Row = {"pk": source, "sk": "row", "id": "mine", "n": 1}
        with failing(fault):
            full_state.put(row, condition="attribute_not_exists(#pk)")
        assert full_state.get(source, "row") == row

    def test_a_put_knows_the_row_of_another(self, full_state: StateTable, source: str, fault: faults.Fault) -> None:
        theirs: Row = {"pk": source, "sk": "row", "id": "theirs"}
        full_state.put(theirs)
        with failing(fault, times=1), pytest.raises(ConditionFailed) as failed:
            full_state.put({"pk": source, "sk": "row", "id": "mine"}, condition="attribute_not_exists(#pk)")
        assert failed.value.old == theirs

    def test_an_insert_knows_its_own_edge(self, full_edges: EdgeTable, source: str, fault: faults.Fault) -> None:
        edge = Edge(source, 1, "A", {"body": b"mine"})
        with failing(fault):
            full_edges.insert(edge, if_absent=True)
        assert full_edges.scan(source).edges == (edge,)
        with failing(fault), pytest.raises(ConditionFailed):
            full_edges.insert(Edge(source, 1, "A", {"body": b"other"}), if_absent=True)

    def test_an_update_knows_itself_by_what_it_sets(
        self, full_state: StateTable, source: str, fault: faults.Fault
    ) -> None:
        full_state.put({"pk": source, "sk": "row", "rank": "r1", "n": 1})
        lease: Row = {"rank": "r2", "lease": "mine"}
        change = "SET #rank = :rank, #lease = :lease ADD #n :one"
        values: Row = {**lease, "seen": "r1", "one": 1}
        with failing(fault):
            row = full_state.update(source, "row", change, values=values, condition="#rank = :seen", done_if=lease)
        assert row == {"pk": source, "sk": "row", **lease, "n": 2} == full_state.get(source, "row")

    def test_an_update_that_cannot_know_says_so(self, full_state: StateTable, source: str, fault: faults.Fault) -> None:
        full_state.put({"pk": source, "sk": "row", "n": 1})
        values = {"next": 2, "seen": 1}
        with failing(fault), pytest.raises(ConditionFailed) as failed:
            full_state.update(source, "row", "SET #n = :next", values=values, condition="#n = :seen")
        assert failed.value.maybe_done
        assert failed.value.old == {"pk": source, "sk": "row", "n": 2}

    def test_a_delete_that_may_be_its_own_says_so(
        self, full_state: StateTable, source: str, fault: faults.Fault
    ) -> None:
        full_state.put({"pk": source, "sk": "row", "lease": "mine"})
        values = {"lease": "mine"}
        with failing(fault), pytest.raises(ConditionFailed) as failed:
            full_state.delete(source, "row", condition="#lease = :lease", values=values)
        assert (failed.value.maybe_done, failed.value.old) == (True, None)
        assert full_state.get(source, "row") is None


def test_an_engine_that_does_not_show_the_row_leaves_it_open(engine: Engine, state: StateTable, source: str) -> None:
    row: Row = {"pk": source, "sk": "row", "id": "mine"}
    if engine.name != "dynalite":
        with failing(faults.LOST):
            state.put(row, condition="attribute_not_exists(#pk)")
        return
    with failing(faults.LOST), pytest.raises(ConditionFailed) as failed:
        state.put(row, condition="attribute_not_exists(#pk)")
    assert (failed.value.maybe_done, failed.value.old) == (True, None)
