from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from edge import ConditionFailed, EdgeRejected, Row, StateTable
from tests.worlds import Engine
from tools.ledger import Ledger


def ranked(state: StateTable, pk: str, **ranks: str) -> None:
    for sk, rank in ranks.items():
        state.put({"pk": pk, "sk": sk, "rank": rank, "body": b"b"})


def names(rows: tuple[Row, ...]) -> list[Any]:
    return [row["sk"] for row in rows]


VALUES: Row = {
    "digits": 99999999999999999999999999999999999999,
    "negative": -99999999999999999999999999999999999999,
    "fraction": Decimal("0.1234567890123456789012345678901234567"),
    "tiny": Decimal("1E-100"),
    "huge": Decimal("1E+100"),
    "whole": Decimal("10"),
    "bytes": bytes(range(256)),
    "nothing": b"",
    "text": "line\nbreak \x00 Zürich \U0001f600",
    "empty": "",
    "flag": False,
    "none": None,
    "set": frozenset({"a", "b"}),
    "list": [1, "a", [b"x"], {}],
    "map": {"a.b": {"#": 1}},
    "status": "reserved",
    "size": 1,
    "name": "reserved too",
}


def test_a_row_comes_back_as_it_was(state: StateTable, source: str) -> None:
    row: Row = {"pk": source, "sk": "row", **VALUES}
    state.put(row)
    assert state.get(source, "row") == row
    assert state.get(source, "other") is None


def test_floats_are_no_values(state: StateTable, source: str) -> None:
    with pytest.raises(TypeError, match="float"):
        state.put({"pk": source, "sk": "row", "n": 0.5})  # type: ignore[dict-item] # the mistake under test
    assert state.get(source, "row") is None


def test_many_rows_are_read_in_the_order_asked(state: StateTable, source: str, ledger: Ledger) -> None:
    for n in range(0, 110, 2):
        state.put({"pk": source, "sk": f"{n}", "n": n})
    with ledger.operation("get") as cost:
        rows = state.get_many([(source, f"{n}") for n in reversed(range(110))])
    assert [row and row["n"] for row in rows] == [None if n % 2 else n for n in reversed(range(110))]
    assert cost.calls == {"dynamodb.BatchGetItem": 2}
    assert state.get_many([]) == []


def test_reads_are_consistent(state: StateTable, source: str, ledger: Ledger) -> None:
    state.put({"pk": source, "sk": "row", "rank": "r"})
    with ledger.operation("reads") as cost:
        state.get(source, "row")
        state.query(source)
        state.query(source, index="by_rank")
        state.get_many([(source, "row")])
    assert cost.read_units == 4, "an eventually consistent read would be half a unit"


def test_a_put_replaces_unless_its_condition_forbids_it(state: StateTable, source: str) -> None:
    state.put({"pk": source, "sk": "row", "n": 1, "extra": "e"})
    state.put({"pk": source, "sk": "row", "n": 2})
    assert state.get(source, "row") == {"pk": source, "sk": "row", "n": 2}
    with pytest.raises(ConditionFailed):
        state.put({"pk": source, "sk": "row", "n": 3}, condition="attribute_not_exists(#pk)")
    state.put({"pk": source, "sk": "row", "n": 4}, condition="#n = :seen", values={"seen": 2})
    assert state.get(source, "row") == {"pk": source, "sk": "row", "n": 4}


def test_an_update_changes_makes_and_returns_the_row(state: StateTable, source: str) -> None:
    made = state.update(
        source, "row", "ADD #n :one SET #status = if_not_exists(#status, :new)", values={"one": 1, "new": "a"}
    )
    assert made == {"pk": source, "sk": "row", "n": 1, "status": "a"} == state.get(source, "row")
    changed = state.update(
        source, "row", "ADD #n :two REMOVE #status", values={"two": 2, "seen": 1}, condition="#n = :seen"
    )
    assert changed == {"pk": source, "sk": "row", "n": 3}
    with pytest.raises(ConditionFailed):
        state.update(source, "row", "SET #n = :zero", values={"zero": 0, "seen": 1}, condition="#n = :seen")
    with pytest.raises(ConditionFailed):
        state.update(source, "none", "SET #n = :zero", values={"zero": 0}, condition="attribute_exists(#pk)")
    assert state.get(source, "row") == changed
    assert state.get(source, "none") is None


def test_a_delete_returns_what_was_there(state: StateTable, source: str) -> None:
    row: Row = {"pk": source, "sk": "row", "n": 1}
    state.put(row)
    with pytest.raises(ConditionFailed):
        state.delete(source, "row", condition="#n = :two", values={"two": 2})
    assert state.delete(source, "row", condition="#n = :one", values={"one": 1}) == row
    assert state.delete(source, "row") is None
    with pytest.raises(ConditionFailed):
        state.delete(source, "row", condition="attribute_exists(#pk)")


def test_a_failed_condition_shows_the_row(full_state: StateTable, source: str) -> None:
    row: Row = {"pk": source, "sk": "row", "n": 10**37, "b": b"\x00"}
    full_state.put(row)
    attempts: list[Callable[[], object]] = [
        lambda: full_state.put({"pk": source, "sk": "row"}, condition="attribute_not_exists(#pk)"),
        lambda: full_state.update(source, "row", "SET #m = :m", values={"m": 1}, condition="attribute_exists(#m)"),
        lambda: full_state.delete(source, "row", condition="attribute_exists(#m)"),
    ]
    for attempt in attempts:
        with pytest.raises(ConditionFailed) as failed:
            attempt()
        assert (failed.value.old, failed.value.maybe_done) == (row, False)
    with pytest.raises(ConditionFailed) as failed:
        full_state.delete(source, "none", condition="attribute_exists(#pk)")
    assert failed.value.old is None


def test_rows_are_queried_by_key(state: StateTable, source: str) -> None:
    for sk in ("a", "b1", "b2", "b3", "c"):
        state.put({"pk": source, "sk": sk})
    assert names(state.query(source).rows) == ["a", "b1", "b2", "b3", "c"]
    assert names(state.query(source, low="b2").rows) == ["b2", "b3", "c"]
    assert names(state.query(source, high="b2").rows) == ["a", "b1", "b2"]
    assert names(state.query(source, low="b1", high="b2").rows) == ["b1", "b2"]
    assert names(state.query(source, prefix="b").rows) == ["b1", "b2", "b3"]
    assert names(state.query(source, prefix="b", forward=False).rows) == ["b3", "b2", "b1"]
    assert state.query(f"{source}none").rows == ()


def test_pages_follow_one_another(state: StateTable, source: str) -> None:
    for sk in "abcde":
        state.put({"pk": source, "sk": sk, "rank": "same"})
    for index in (None, "by_rank"):
        page, seen = state.query(source, index=index, limit=2), []
        while True:
            seen += names(page.rows)
            if page.next is None:
                break
            page = state.query(source, index=index, limit=2, start=page.next)
        assert sorted(seen) == list("abcde"), f"{index}"


def test_an_index_holds_what_has_its_attribute_in_its_order(state: StateTable, source: str) -> None:
    ranked(state, source, a="30", b="10", c="20")
    state.put({"pk": source, "sk": "unranked", "sort": "x"})
    assert names(state.query(source, index="by_rank").rows) == ["b", "c", "a"]
    assert names(state.query(source, index="by_rank", forward=False).rows) == ["a", "c", "b"]
    assert names(state.query(source, index="by_rank", high="20").rows) == ["b", "c"]
    assert names(state.query(source, index="by_rank", low="20").rows) == ["c", "a"]
    assert names(state.query(source, index="by_rank", low="15", high="25").rows) == ["c"]
    assert names(state.query(source, index="by_rank", limit=1).rows) == ["b"]
    assert names(state.query(source, index="by_sort").rows) == ["unranked"]


def test_an_index_follows_every_change(state: StateTable, source: str) -> None:
    ranked(state, source, a="10", b="20", c="30")
    state.update(source, "a", "SET #rank = :rank", values={"rank": "25"})
    state.update(source, "b", "REMOVE #rank")
    state.delete(source, "c")
    assert names(state.query(source, index="by_rank").rows) == ["a"]
    assert state.query(source, index="by_rank").rows[0]["rank"] == "25"


def test_the_head_of_an_index_costs_the_same_at_any_depth(state: StateTable, source: str, ledger: Ledger) -> None:
    costs = []
    for depth in (5, 80):
        for n in range(depth):
            state.put({"pk": source, "sk": f"{n:03d}", "rank": f"{n:03d}"})
        with ledger.operation("head") as cost:
            assert names(state.query(source, index="by_rank", high="~", limit=3).rows) == ["000", "001", "002"]
        costs.append((cost.calls, cost.read_units))
    assert costs[0] == costs[1] == ({"dynamodb.Query": 1}, 1)


def test_what_the_service_calls_invalid_is_not_retried(
    engine: Engine, state: StateTable, source: str, ledger: Ledger
) -> None:
    with ledger.operation("invalid") as cost, pytest.raises(EdgeRejected):
        state.put({"pk": source, "n": 1})
    assert cost.calls == {"dynamodb.PutItem": 1}
    assert cost.resources == {engine.state_table}
