"""Messages of a log as edges: sealed in the edge itself, or, when big, in an object beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

from broker import keys
from broker.crypto import OVERHEAD, Scope, Unreadable, Vault
from edge import BlobStore, Edge, EdgeUnavailable

INLINE_MOST = 64 * 1024
"""Bytes of an envelope up to which it stands in the edge; above, an object is cheaper to write and to keep."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """An edge ready to be stored, and the object that must be stored before it, if any."""

    edge: Edge
    blob: tuple[str, bytes] | None


class Records:
    """Seals and opens the messages of one kind of record."""

    def __init__(self, *, vault: Vault, blobs: BlobStore, purpose: str) -> None:
        self._vault = vault
        self._blobs = blobs
        self._purpose = purpose

    def seal(self, value: bytes, *, tenant_id: str, queue_id: str, source: str, seq: int, record_id: str) -> Sealed:
        """The edge of a value.

        Raises:
            EdgeUnavailable: The tenant's key cannot be had now.
        """
        envelope = self._vault.seal(value, scope=Scope(tenant_id, queue_id, self._purpose, record_id))
        if len(envelope) <= INLINE_MOST:
            return Sealed(Edge(source, seq, record_id, {"body": envelope}), None)
        blob = keys.payload_blob(queue_id, record_id=record_id)
        return Sealed(Edge(source, seq, record_id, {"blob": blob, "size": len(value)}), (blob, envelope))

    def open_all(self, edges: Sequence[Edge], *, tenant_id: str, queue_id: str) -> list[bytes | None]:
        """The values of edges, in order; None for one that does not open, which stops none of the others.

        Raises:
            EdgeUnavailable: Storage or the tenant's key cannot be had now.
        """
        found = dict(zip(blobs, self._blobs.get_many(blobs), strict=True)) if (blobs := blob_keys(edges)) else {}
        values: list[bytes | None] = []
        for edge in edges:
            body = edge.attributes.get("body")
            envelope = body if isinstance(body, bytes) else found.get(str(edge.attributes.get("blob")))
            try:
                scope = Scope(tenant_id, queue_id, self._purpose, edge.id)
                values.append(None if envelope is None else self._vault.open(envelope, scope=scope))
            except Unreadable:
                values.append(None)
        return values


def store_blobs(records: Sequence[Sealed], *, blobs: BlobStore) -> dict[str, EdgeUnavailable]:
    """Store the objects of records, side by side; returns the failures by record id."""
    waiting = [(record.edge.id, record.blob) for record in records if record.blob is not None]
    answers = blobs.put_many([blob for _, blob in waiting]) if waiting else []
    return {record_id: error for (record_id, _), error in zip(waiting, answers, strict=True) if error is not None}


def blob_keys(edges: Sequence[Edge]) -> list[str]:
    """The objects that edges point to."""
    return [str(edge.attributes["blob"]) for edge in edges if "blob" in edge.attributes]


def weigh(edge: Edge) -> int:
    """Bytes of a message's value; nothing where the edge does not say."""
    body, size = edge.attributes.get("body"), edge.attributes.get("size")
    if isinstance(body, bytes):
        return max(0, len(body) - OVERHEAD)
    return size if isinstance(size, int) else 0
