"""What a message carries, as one sealed body: its payload, and beside it what its type must remember.

A body up to `inline_most` bytes stands in the row or edge of its message, a longer one in an object beside it. The
seal is bound to the message's id and to nothing else that may change, so that a body can be moved from a queue to its
dead letters and back as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker import jsontext, keys
from broker.crypto import OVERHEAD, Scope, Unreadable, Vault
from broker.jsontext import Raw
from edge import BlobStore, Value

INLINE_MOST = 64 * 1024
PURPOSE = "message"
_LENGTH = 4


ANSWER_MOST = 4 * 1024 * 1024
"""Bytes of payloads that one answer may hold: in base64, as Lambda hands on what is long, they stay below its 6 MB."""


@dataclass(frozen=True, slots=True)
class Content:
    """A message's content.

    Attributes:
        payload: The JSON text that consumers get.
        original: The JSON text as it was published, where that is not the payload (enriched messages).
        meta: What is delivered or needed beside the payload: JSON values such as `lookup` and `visibility_key`.
    """

    payload: bytes
    original: bytes | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def published(self) -> bytes:
        """The JSON text as it was published."""
        return self.payload if self.original is None else self.original

    @property
    def raw(self) -> Raw:
        """The payload, to be spliced into an answer."""
        return Raw(self.payload.decode())


@dataclass(frozen=True, slots=True)
class SealedContent:
    """A body ready to be stored.

    Attributes:
        attributes: `body`, or `blob` and `size`: what the row or edge of the message carries.
        blob: The object that must be stored before it, if any: key and bytes.
    """

    attributes: Mapping[str, Value]
    blob: tuple[str, bytes] | None

    @property
    def size(self) -> int:
        """Bytes of the sealed body."""
        body = self.attributes.get("body")
        return len(body) if isinstance(body, bytes) else int(str(self.attributes["size"])) + OVERHEAD


class Contents:
    """Seals and opens the contents of messages."""

    def __init__(self, *, vault: Vault, blobs: BlobStore) -> None:
        self._vault = vault
        self._blobs = blobs

    def seal(
        self, content: Content, *, tenant_id: str, queue_id: str, message_id: str, inline_most: int = INLINE_MOST
    ) -> SealedContent:
        """The sealed body of a message; nothing is stored.

        Args:
            content: What is in it.
            tenant_id: Whose it is.
            queue_id: The queue.
            message_id: The message.
            inline_most: Bytes of an envelope up to which it stands in the row or edge.

        Raises:
            EdgeUnavailable: The tenant's key cannot be had now.
        """
        plain = _join(content)
        envelope = self._vault.seal(plain, scope=Scope(tenant_id, queue_id, PURPOSE, message_id))
        if len(envelope) <= inline_most:
            return SealedContent({"body": envelope}, None)
        blob = keys.payload_blob(queue_id, record_id=message_id)
        return SealedContent({"blob": blob, "size": len(plain)}, (blob, envelope))

    def store(self, sealed: SealedContent) -> None:
        """Store the object of a body, if it has one; before its row or edge is.

        Raises:
            EdgeUnavailable: It may not be stored.
        """
        if sealed.blob is not None:
            self._blobs.put(*sealed.blob)

    def discard(self, attributes: Sequence[Mapping[str, Value]]) -> None:
        """Remove the objects of bodies whose rows or edges are gone."""
        doomed = [str(one["blob"]) for one in attributes if "blob" in one]
        if doomed:
            self._blobs.delete(doomed)

    def open(
        self, attributes: Mapping[str, Value], *, tenant_id: str, queue_id: str, message_id: str
    ) -> Content | None:
        """The content of one message, None when it does not open; see `open_all`."""
        return self.open_all([(message_id, attributes)], tenant_id=tenant_id, queue_id=queue_id)[0]

    def open_all(
        self, stored: Sequence[tuple[str, Mapping[str, Value]]], *, tenant_id: str, queue_id: str
    ) -> list[Content | None]:
        """The contents of messages, in order; None for one that does not open, which stops none of the others.

        Args:
            stored: Message ids with the attributes that `seal` made.
            tenant_id: Whose they are.
            queue_id: The queue.

        Raises:
            EdgeUnavailable: Storage or the tenant's key cannot be had now.
        """
        wanted = [str(attributes["blob"]) for _, attributes in stored if "blob" in attributes]
        found = dict(zip(wanted, self._blobs.get_many(wanted), strict=True)) if wanted else {}
        contents: list[Content | None] = []
        for message_id, attributes in stored:
            body = attributes.get("body")
            envelope = body if isinstance(body, bytes) else found.get(str(attributes.get("blob")))
            try:
                scope = Scope(tenant_id, queue_id, PURPOSE, message_id)
                contents.append(None if envelope is None else _split(self._vault.open(envelope, scope=scope)))
            except Unreadable:
                contents.append(None)
        return contents


def weight(attributes: Mapping[str, Value]) -> int:
    """Bytes of a sealed body, wherever it stands."""
    body = attributes.get("body")
    return len(body) if isinstance(body, bytes) else int(str(attributes.get("size", 0))) + OVERHEAD


def stored_body(attributes: Mapping[str, Value]) -> dict[str, Value]:
    """Of the attributes of a row or edge those that are the body, to store it elsewhere under the same message id."""
    return {name: attributes[name] for name in ("body", "blob", "size") if name in attributes}


def _join(content: Content) -> bytes:
    """Length and text of the metadata, length and text of the payload, then the original if there is one."""
    meta = jsontext.dumps(dict(content.meta)) if content.meta else b""
    parts = [meta, content.payload]
    head = b"".join(len(part).to_bytes(_LENGTH, "big") + part for part in parts)
    return head if content.original is None else head + content.original


def _split(plain: bytes) -> Content:
    meta, rest = _take(plain)
    payload, original = _take(rest)
    return Content(payload, original or None, jsontext.loads(meta) if meta else {})


def _take(data: bytes) -> tuple[bytes, bytes]:
    end = _LENGTH + int.from_bytes(data[:_LENGTH], "big")
    return data[_LENGTH:end], data[end:]
