"""Writes that must never take effect twice: after a lost answer they are looked for, not repeated.

A message may be consumed and acked between an attempt whose answer was lost and the next one; repeated then, it would
come back.
"""

import pytest

from edge import Edge, EdgeTable, EdgeUnavailable, Position, Row, StateTable
from tools import faults
from tools.faults import failing
from tools.ledger import Ledger


def test_a_row_whose_answer_was_lost_is_there_however_it_has_changed(state: StateTable, source: str) -> None:
    row: Row = {"pk": source, "sk": "a", "message_id": "m1", "n": 1}
    with failing(faults.LOST, operation="PutItem"):
        state.put(row, condition="attribute_not_exists(#pk)", once="message_id")
    assert state.get(source, "a") == row


def test_a_row_that_was_used_up_meanwhile_does_not_come_back(state: StateTable, source: str, ledger: Ledger) -> None:
    row: Row = {"pk": source, "sk": "a", "message_id": "m1"}
    fault = failing(faults.SERVER_ERROR, operation="PutItem")  # as if stored, taken and removed before it was missed
    with ledger.operation("put") as cost, fault, pytest.raises(EdgeUnavailable) as raised:
        state.put(row, condition="attribute_not_exists(#pk)", once="message_id")
    assert raised.value.maybe_done
    assert state.get(source, "a") is None
    assert cost.calls["dynamodb.PutItem"] == 1


def test_throttling_is_retried_all_the_same(state: StateTable, edges: EdgeTable, source: str) -> None:
    with failing(faults.THROTTLED, times=2, operation="PutItem"):
        state.put({"pk": source, "sk": "a", "message_id": "m1"}, once="message_id")
    with failing(faults.THROTTLED, times=2, operation="PutItem"):
        edges.insert(Edge(source, 1, "m1", {"body": b"x"}), once=True)
    assert edges.positions(source) == [Position(1, "m1")]


def test_an_edge_whose_answer_was_lost_is_found(edges: EdgeTable, source: str) -> None:
    with failing(faults.LOST, operation="PutItem"):
        edges.insert(Edge(source, 7, "m1", {"body": b"x"}), once=True)
    assert edges.positions(source) == [Position(7, "m1")]


def test_an_edge_that_is_not_there_is_not_stored_again(edges: EdgeTable, source: str) -> None:
    edges.insert(Edge(source, 7, "m0", {"body": b"x"}))
    with failing(faults.SERVER_ERROR, operation="PutItem"), pytest.raises(EdgeUnavailable) as raised:
        edges.insert(Edge(source, 7, "m1", {"body": b"x"}), once=True)
    assert raised.value.maybe_done
    assert edges.positions(source) == [Position(7, "m0")]


def test_an_update_whose_answer_was_lost_is_not_made_again(state: StateTable, source: str) -> None:
    with failing(faults.LOST, operation="UpdateItem"), pytest.raises(EdgeUnavailable) as raised:
        state.update(source, "a", "ADD #n :one", values={"one": 1}, once=True)
    assert raised.value.maybe_done
    assert state.get(source, "a") == {"pk": source, "sk": "a", "n": 1}
    with failing(faults.THROTTLED, times=2, operation="UpdateItem"):
        assert state.update(source, "a", "ADD #n :one", values={"one": 1}, once=True)["n"] == 2
