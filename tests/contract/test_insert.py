import math
from decimal import Decimal

import pytest

from edge import ConditionFailed, Edge, EdgeTable, Position
from tests.worlds import Engine
from tools.ledger import Ledger

INT64 = [-(2**63), -1000, -2, -1, 0, 9, 10, 2**63 - 1]


def everything(edges: EdgeTable, source: str) -> list[Edge]:
    page = edges.scan(source, limit=1000)
    assert not page.has_next
    return list(page.edges)


def test_an_edge_comes_back_as_it_was(edges: EdgeTable, source: str) -> None:
    edge = Edge(
        source,
        7,
        "A",
        {
            "body": b"\x00\xff" * 40,
            "at": 1_796_032_800_000,
            "key": "Zürich \U0001f600",
            "empty": "",
            "share": Decimal("0.1"),
            "big": 10**37 + 1,
            "yes": True,
            "none": None,
            "list": ["a", 1, None],
            "map": {"a": {"b": b"c"}},
        },
    )
    edges.insert(edge)
    assert everything(edges, source) == [edge]


def test_order_is_numeric_over_all_of_int64(edges: EdgeTable, source: str) -> None:
    shuffled = sorted(INT64, key=lambda seq: str(seq)[::-1])
    edges.insert_many([Edge(source, seq, "A") for seq in shuffled])
    assert [edge.seq for edge in everything(edges, source)] == INT64


def test_equal_seqs_stand_side_by_side_in_the_order_of_their_ids(edges: EdgeTable, source: str) -> None:
    for name in ("C", "A", "B"):
        edges.insert(Edge(source, 7, name, {"body": name.encode()}))
    assert [(edge.id, edge.attributes["body"]) for edge in everything(edges, source)] == [
        ("A", b"A"),
        ("B", b"B"),
        ("C", b"C"),
    ]


def test_positions_are_text_that_sorts_as_they_do() -> None:
    positions = [Position(seq, name) for seq in INT64 for name in ("0", "Z")]
    texts = [position.text() for position in positions]
    assert sorted(texts) == texts
    assert [Position.parse(text) for text in texts] == positions


def test_sources_do_not_mix(edges: EdgeTable, source: str) -> None:
    edges.insert(Edge(source, 1, "A"))
    edges.insert(Edge(f"{source}0", 2, "A"))
    assert [edge.seq for edge in everything(edges, source)] == [1]


@pytest.mark.parametrize("count", [0, 1, 25, 26, 60])
def test_many_are_written_in_batches_of_25(edges: EdgeTable, source: str, ledger: Ledger, count: int) -> None:
    many = [Edge(source, n, "A", {"body": bytes(500)}) for n in range(count)]
    with ledger.operation("insert") as cost:
        assert edges.insert_many(many) == [None] * count
    batches = math.ceil(count / 25)
    assert cost.calls == ({"dynamodb.BatchWriteItem": batches} if batches else {})
    assert cost.write_units == count
    assert everything(edges, source) == many


def test_what_stands_is_not_replaced(edges: EdgeTable, source: str) -> None:
    edges.insert(Edge(source, 1, "A", {"body": b"first"}), if_absent=True)
    for second in (b"second", b"first"):
        with pytest.raises(ConditionFailed) as failed:
            edges.insert(Edge(source, 1, "A", {"body": second}), if_absent=True)
        assert not failed.value.maybe_done
    assert [edge.attributes["body"] for edge in everything(edges, source)] == [b"first"]


def test_a_failed_insert_shows_what_stands(full_edges: EdgeTable, source: str) -> None:
    full_edges.insert(Edge(source, 1, "A", {"body": b"first"}))
    with pytest.raises(ConditionFailed) as failed:
        full_edges.insert(Edge(source, 1, "A", {"body": b"second"}), if_absent=True)
    assert failed.value.old is not None
    assert failed.value.old["body"] == b"first"


def test_an_insert_costs_one_write(engine: Engine, edges: EdgeTable, source: str, ledger: Ledger) -> None:
    with ledger.operation("insert") as cost:
        edges.insert(Edge(source, 1, "A", {"body": bytes(2000)}))
    assert (cost.calls, cost.write_units) == ({"dynamodb.PutItem": 1}, 2)
    assert cost.resources == {engine.edges_table}
