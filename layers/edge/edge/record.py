"""Edges as the program sees them, and as items."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from edge.values import KINDS, Value, decode_row

SEQ_MIN, SEQ_MAX = -(2**63), 2**63 - 1


class Position(NamedTuple):
    """The place of one edge inside its source."""

    seq: int
    id: str

    def text(self) -> str:
        """As the range key holds it."""
        return f"{self.seq + 2**63:020d}#{self.id}"

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Back from the range key."""
        seq, _, record = text.partition("#")
        return cls(int(seq) - 2**63, record)


@dataclass(frozen=True, slots=True)
class Edge:
    """One immutable record: where it is, and its attributes (kept few and narrow; `body` is one blob)."""

    source: str
    seq: int
    id: str
    attributes: Mapping[str, Value] = field(default_factory=dict)

    @property
    def position(self) -> Position:
        """The place inside the source."""
        return Position(self.seq, self.id)


@dataclass(frozen=True, slots=True)
class EdgePage:
    """Edges in (seq, id) order.

    Attributes:
        edges: What was read.
        offset: Everything stored before the call with a seq in (after, offset] is on this page or was on the pages
            that `resume` came from, so that range may be deleted. None while nothing may.
        has_next: More edges follow within the bounds.
        resume: The exact position after which reading goes on; None on an empty page.
    """

    edges: tuple[Edge, ...]
    offset: int | None
    has_next: bool
    resume: Position | None


@dataclass(frozen=True, slots=True)
class Removed:
    """What a scan-delete took away; `finished` is False when time ran out before the range was empty."""

    edges: tuple[Edge, ...]
    finished: bool


def edge_row(edge: Edge) -> dict[str, Value]:
    """The attributes of an edge, its key among them."""
    return {"source": edge.source, "seq": edge.position.text(), **edge.attributes}


def edge_key(source: str, position: Position) -> dict[str, Any]:
    """The key of an edge as DynamoDB wants it."""
    return {"source": {"S": source}, "seq": {"S": position.text()}}


def read_edge(item: Mapping[str, Any]) -> Edge:
    """An edge as it came from DynamoDB.

    Attributes of a kind that edges never hold are left out: one bad row must not hide the page that it is on.
    """
    row = decode_row({name: value for name, value in item.items() if not KINDS.isdisjoint(value)})
    source, text = str(row.pop("source")), str(row.pop("seq"))
    position = Position.parse(text)
    return Edge(source, position.seq, position.id, row)
