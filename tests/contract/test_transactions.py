from concurrent.futures import ThreadPoolExecutor

import pytest

from edge import Edge, EdgeTable, EdgeUnavailable, Row, StateTable, TransactionRefused
from tests.contract.conftest import Pauses
from tools import faults
from tools.faults import failing
from tools.ledger import Ledger


def rows(state: StateTable, pk: str) -> dict[str, Row]:
    return {str(row["sk"]): row for row in state.query(pk).rows}


def row(pk: str, sk: str, **attributes: int) -> Row:
    return {"pk": pk, "sk": sk, **attributes}


def test_both_tables_change_together(
    full_state: StateTable, full_edges: EdgeTable, source: str, ledger: Ledger
) -> None:
    full_state.put(row(source, "updated", n=1))
    full_state.put(row(source, "deleted", n=1))
    full_state.put(row(source, "checked", n=1))
    old, new = Edge(source, 1, "A", {"body": b"old"}), Edge(source, 2, "B", {"body": b"new"})
    full_edges.insert(old)
    operations = [
        full_state.put_operation(row(source, "put", n=1), condition="attribute_not_exists(#pk)"),
        full_state.update_operation(
            source, "updated", "ADD #n :one", values={"one": 1}, condition="attribute_exists(#pk)"
        ),
        full_state.delete_operation(source, "deleted", condition="#n = :one", values={"one": 1}),
        full_state.check_operation(source, "checked", condition="#n = :one", values={"one": 1}),
        full_edges.delete_operation(source, old.position, must_exist=True),
        full_edges.insert_operation(new, if_absent=True),
    ]
    with ledger.operation("transact") as cost:
        full_state.transact(operations)
    assert cost.calls == {"dynamodb.TransactWriteItems": 1}
    assert rows(full_state, source) == {
        "put": row(source, "put", n=1),
        "updated": row(source, "updated", n=2),
        "checked": row(source, "checked", n=1),
    }
    assert full_edges.scan(source).edges == (new,)


def test_one_failed_condition_refuses_everything(full_state: StateTable, full_edges: EdgeTable, source: str) -> None:
    held = row(source, "held", n=7)
    full_state.put(held)
    edge = Edge(source, 1, "A")
    full_edges.insert(edge)
    operations = [
        full_state.put_operation(row(source, "put", n=1)),
        full_state.put_operation(row(source, "held", n=1), condition="attribute_not_exists(#pk)"),
        full_edges.delete_operation(source, edge.position),
        full_state.check_operation(source, "absent", condition="attribute_exists(#pk)"),
        full_edges.insert_operation(edge.__class__(source, 2, "B"), if_absent=True),
    ]
    with pytest.raises(TransactionRefused) as refused:
        full_state.transact(operations)
    failures = refused.value.failures
    assert [failure is not None for failure in failures] == [False, True, False, True, False]
    assert refused.value.first == 1
    assert failures[1] is not None
    assert failures[1].old == held
    assert failures[3] is not None
    assert failures[3].old is None
    assert rows(full_state, source) == {"held": held}
    assert full_edges.scan(source).edges == (edge,)


def test_a_transaction_holds_100_operations(full_state: StateTable, source: str) -> None:
    full_state.transact([full_state.put_operation(row(source, f"{n:03d}", n=n)) for n in range(100)])
    assert len(rows(full_state, source)) == 100


def test_a_lost_answer_is_asked_for_again(full_state: StateTable, source: str, ledger: Ledger) -> None:
    put = full_state.put_operation(row(source, "row", n=1), condition="attribute_not_exists(#pk)")
    add = full_state.update_operation(source, "sum", "ADD #n :one", values={"one": 1})
    with ledger.operation("transact") as cost, failing(faults.LOST):
        full_state.transact([put, add])
    assert cost.calls == {"dynamodb.TransactWriteItems": 2}
    assert rows(full_state, source) == {"row": row(source, "row", n=1), "sum": row(source, "sum", n=1)}


def test_two_transactions_are_never_one(full_state: StateTable, source: str) -> None:
    for _ in range(2):
        full_state.transact([full_state.update_operation(source, "sum", "ADD #n :one", values={"one": 1})])
    assert rows(full_state, source)["sum"]["n"] == 2


@pytest.mark.parametrize("fault", [faults.CONFLICT, faults.cancellation("ThrottlingError"), faults.THROTTLED], ids=str)
def test_conflicts_pass_or_are_told(full_state: StateTable, source: str, pauses: Pauses, fault: faults.Fault) -> None:
    operations = [full_state.put_operation(row(source, sk, n=1)) for sk in ("a", "b")]
    with failing(fault, times=2):
        full_state.transact(operations)
    assert pauses.seconds == [0.03, 0.06]
    assert len(rows(full_state, source)) == 2
    with failing(fault, times=None), pytest.raises(EdgeUnavailable) as unavailable:
        full_state.transact([full_state.put_operation(row(source, "c", n=1))])
    assert (unavailable.value.throttled, unavailable.value.maybe_done) == (True, False)
    assert "c" not in rows(full_state, source)


def test_of_many_at_once_one_wins(full_state: StateTable, source: str) -> None:
    full_state.put(row(source, "version", n=0))

    def win(attempt: int) -> int:
        operations = [
            full_state.update_operation(
                source, "version", "SET #n = :next", values={"next": 1, "seen": 0}, condition="#n = :seen"
            ),
            full_state.put_operation(row(source, f"winner{attempt}", n=attempt)),
        ]
        try:
            full_state.transact(operations)
        except TransactionRefused:
            return 0
        return 1

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(win, range(6))) == 1
    assert len(rows(full_state, source)) == 2


def test_death_leaves_all_or_nothing(full_state: StateTable, source: str) -> None:
    operations = [full_state.put_operation(row(source, sk, n=1)) for sk in ("a", "b")]

    def empty() -> None:
        for sk in rows(full_state, source):
            full_state.delete(source, sk)

    seen = {
        point.after: len(rows(full_state, source))
        for point in faults.crash_points(lambda: full_state.transact(operations), prepare=empty)
    }
    assert seen == {False: 0, True: 2}
