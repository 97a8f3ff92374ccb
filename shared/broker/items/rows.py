"""Items and tombstones as rows, and back.

A row of a live item has `item_id`; one without is a tombstone. What both indexes project is named `item...`, so that no
other row of the table pays for it: `item`, the sealed key and, up to 4 KB, the payload; `item_id`, the version;
`item_at`, when it was written; `item_size`, for a payload that is an object in the bucket; and for tombstones
`item_gone`, the version that went, and `item_gone_at`.
"""

from dataclasses import dataclass

from broker import keys
from broker.crypto import OVERHEAD, Scope, Unreadable, Vault
from edge import Row

INLINE_MOST = 4096
"""Bytes of a payload up to which it stands in the row; every index entry holds it once more."""

TOMBSTONE_SECONDS = 7 * 24 * 3600
_MARGIN_SECONDS = 3600
_LENGTH = 4
_PURPOSE, _BODY_PURPOSE = "item", "item body"
_GONE = "gone"


@dataclass(frozen=True, slots=True)
class Stored:
    """A row, still sealed.

    Attributes:
        digest: The hash of its key.
        version: The id of the publish that wrote it; None for a tombstone.
        at: When it was written, for a tombstone when the item went; milliseconds since the epoch.
        rank: Its place among what has changed; never the same twice.
        gone: For a tombstone the version that went, else None.
        size: Bytes of a payload kept in the bucket, 0 for one in the row.
        sealed: The envelope.
    """

    digest: str
    version: str | None
    at: int
    rank: str
    gone: str | None
    size: int
    sealed: bytes

    def lives(self, cutoff: int | None) -> bool:
        """Whether it is an item that has not expired."""
        return self.version is not None and (cutoff is None or self.at > cutoff)

    @property
    def weight(self) -> int:
        """Bytes that it adds to an answer, about."""
        return len(self.sealed) - OVERHEAD + self.size


@dataclass(frozen=True, slots=True)
class Opened:
    """What was sealed: the JSON array of the key's values, and the payload's JSON text if it stands in the row."""

    key: bytes
    payload: bytes | None


@dataclass(frozen=True, slots=True)
class Place:
    """A queue, as its rows need to know it."""

    tenant_id: str
    queue_id: str
    partitions: int

    def pk(self, digest: str) -> str:
        """The hash key of an item."""
        return self.shard(keys.item_shard(digest, partitions=self.partitions))

    def shard(self, number: int) -> str:
        """The hash key of a shard."""
        return keys.items(self.queue_id, shard=number)


class ItemRows:
    """Seals and opens rows."""

    def __init__(self, *, vault: Vault) -> None:
        self._vault = vault

    def seal(self, place: Place, *, digest: str, version: str, key: bytes, payload: bytes) -> bytes:
        """The envelope of a live item's row."""
        body = b"" if outside(payload) else payload
        return self._vault.seal(_join(key, body), scope=_scope(place, digest, version))

    def seal_body(self, place: Place, *, version: str, payload: bytes) -> tuple[str, bytes] | None:
        """The object of a payload that is too long for the row, None for one that is not."""
        if not outside(payload):
            return None
        scope = Scope(place.tenant_id, place.queue_id, _BODY_PURPOSE, version)
        return body_blob(place, version=version), self._vault.seal(payload, scope=scope)

    def tombstone(self, place: Place, *, digest: str, key: bytes, gone: str, gone_at: int, now: int) -> Row:
        """The row of an item that went: deleted, evicted or expired.

        Args:
            place: The queue.
            digest: The hash of its key.
            key: The JSON array of its key's values.
            gone: The version that went.
            gone_at: When it went.
            now: When this is written, its place among what has changed.
        """
        return {
            "pk": place.pk(digest),
            "sk": digest,
            "rank": rank_text(now, gone),
            "item": self._vault.seal(_join(key, b""), scope=_scope(place, digest, _GONE)),
            "item_gone": gone,
            "item_gone_at": gone_at,
            "ttl": now // 1000 + TOMBSTONE_SECONDS + _MARGIN_SECONDS,
        }

    def open(self, place: Place, stored: Stored) -> Opened | None:
        """What is in a row; None when it does not open, which concerns no other row.

        Raises:
            EdgeUnavailable: The tenant's key cannot be had now.
        """
        try:
            plain = self._vault.open(stored.sealed, scope=_scope(place, stored.digest, stored.version or _GONE))
        except Unreadable:
            return None
        end = _LENGTH + int.from_bytes(plain[:_LENGTH], "big")
        inline = stored.version is not None and not stored.size
        return Opened(plain[_LENGTH:end], plain[end:] if inline else None)

    def open_body(self, place: Place, *, version: str, envelope: bytes) -> bytes | None:
        """The payload in an object; None when it does not open."""
        try:
            scope = Scope(place.tenant_id, place.queue_id, _BODY_PURPOSE, version)
            return self._vault.open(envelope, scope=scope)
        except Unreadable:
            return None


def read_row(row: Row) -> Stored:
    """A row of an item or a tombstone, from the table or one of its indexes."""
    sealed = row["item"]
    version = str(row["item_id"]) if "item_id" in row else None
    at = int(str(row["item_at" if version else "item_gone_at"]))
    return Stored(
        digest=str(row["sk"]),
        version=version,
        at=at,
        rank=rank_text(at, version) if version else str(row["rank"]),
        gone=None if version else str(row["item_gone"]),
        size=int(str(row.get("item_size", 0))),
        sealed=sealed if isinstance(sealed, bytes) else b"",
    )


def outside(payload: bytes) -> int:
    """The size of a payload that is too long for its row, 0 for one that is not."""
    return len(payload) if len(payload) > INLINE_MOST else 0


def rank_text(at: int, record_id: str = "") -> str:
    """A place among what has changed; without an id the first one of its millisecond."""
    return f"{max(at, 0):015d}#{record_id}"


def rank_moment(rank: str) -> int:
    """The moment in a rank, in milliseconds since the epoch."""
    return int(rank.partition("#")[0])


def body_blob(place: Place, *, version: str) -> str:
    """The object key of a payload that is too long for its row."""
    return keys.payload_blob(place.queue_id, record_id=version)


def _join(key: bytes, body: bytes) -> bytes:
    return len(key).to_bytes(_LENGTH, "big") + key + body


def _scope(place: Place, digest: str, record: str) -> Scope:
    return Scope(place.tenant_id, place.queue_id, _PURPOSE, f"{digest}#{record}")
