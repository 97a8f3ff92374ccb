"""A message of a stream as an edge: its number is its place, its id stands beside its body."""

from collections.abc import Mapping
from dataclasses import dataclass

from broker.queues.contents import weight
from broker.streams.tail import ONLY_ID
from edge import Edge, Value


@dataclass(frozen=True, slots=True)
class Stored:
    """A message, or a tombstone.

    Attributes:
        number: Its place in the partition.
        message_id: Its id; empty for a tombstone.
        at: When it was published, or the tombstone was put there, in milliseconds since the epoch.
        claims: The digests of the keys that it holds.
        attributes: The edge's, its body among them.
    """

    number: int
    message_id: str
    at: int
    claims: tuple[str, ...]
    attributes: Mapping[str, Value]

    @property
    def is_message(self) -> bool:
        """False for a tombstone."""
        return bool(self.message_id)

    def expired(self, cutoff: int | None) -> bool:
        """Whether it was published at or before a moment; nothing was, before None."""
        return cutoff is not None and self.at <= cutoff


def stored_edge(
    source: str, *, number: int, message_id: str, at: int, claims: tuple[str, ...], body: Mapping[str, Value]
) -> Edge:
    """The edge of a message."""
    held: dict[str, Value] = {"claims": list(claims)} if claims else {}
    return Edge(source, number, ONLY_ID, {"id": message_id, "at": at, **held, **body})


def read_stored(edge: Edge) -> Stored:
    """Back from the edge, of a stream or of what was redriven to one consumer."""
    claims = edge.attributes.get("claims")
    return Stored(
        number=edge.seq,
        message_id=str(edge.attributes.get("id", "")),
        at=int(str(edge.attributes["at"])),
        claims=tuple(str(claim) for claim in claims) if isinstance(claims, list) else (),
        attributes=edge.attributes,
    )


def weigh(edge: Edge) -> int:
    """Bytes of a message's body, wherever it is."""
    return weight(edge.attributes)


def cutoff(now: int, *, age_seconds: int | None) -> int | None:
    """The moment up to which what was published has expired, None where nothing expires."""
    return None if age_seconds is None else now - age_seconds * 1000
