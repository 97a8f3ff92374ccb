"""A document without its bytes: what it is, and how that is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker import jsontext, times
from broker.crypto import Scope, Unreadable, Vault
from broker.documents import keys
from broker.documents.media import TYPES, Media, parse
from broker.documents.models import DocumentAnswer
from broker.ids import moment
from edge import Row, Value

_PURPOSE, _CONTENT = "document-entry", "document"


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a queue.

    Attributes:
        document_id: A ULID; its time is when the document was uploaded, or delivered.
        name: For people; no part of any key.
        description: Likewise.
        media: What it is.
        size: Bytes.
        sha256: Of its bytes, in hexadecimal digits.
        path: The queues it came through before this one, the first one first.
    """

    document_id: str
    name: str
    description: str
    media: Media
    size: int
    sha256: str
    path: tuple[str, ...] = ()

    def answer(self) -> DocumentAnswer:
        """As callers see it."""
        return {
            "document_id": self.document_id,
            "name": self.name,
            "description": self.description,
            "content_type": self.media.text,
            "size": self.size,
            "sha256": self.sha256,
            "uploaded_at": times.text(moment(self.document_id)),
        }


def content_scope(tenant_id: str, queue_id: str, document_id: str) -> Scope:
    """What the bytes of a document are sealed for."""
    return Scope(tenant_id, queue_id, _CONTENT, document_id)


def seal(document: Document, *, tenant_id: str, queue_id: str, vault: Vault) -> bytes:
    """All of a document but its bytes, for its row and for the outbox."""
    charset = document.media.charset
    entry = {
        "name": document.name,
        "description": document.description,
        "media": document.media.text,
        "charset": charset,
        "size": document.size,
        "sha256": document.sha256,
        "path": list(document.path),
    }
    scope = Scope(tenant_id, queue_id, _PURPOSE, document.document_id)
    return vault.seal(jsontext.dumps(entry), scope=scope)


def unseal(entry: Value, *, tenant_id: str, queue_id: str, document_id: str, vault: Vault) -> Document:
    """Back from what `seal` made.

    Raises:
        Unreadable: It was altered, or belongs elsewhere.
    """
    if not isinstance(entry, bytes):
        raise Unreadable("not an envelope")
    values: Mapping[str, Any] = jsontext.loads(
        vault.open(entry, scope=Scope(tenant_id, queue_id, _PURPOSE, document_id))
    )
    return Document(
        document_id=document_id,
        name=values["name"],
        description=values["description"],
        media=Media(TYPES[parse(values["media"])[0]], values["charset"]),
        size=values["size"],
        sha256=values["sha256"],
        path=tuple(values["path"]),
    )


def row_of(document: Document, *, queue_id: str, entry: bytes, watched: bool) -> Row:
    """The row of a document. `watched` says that a row of the outbox was written with it."""
    row: Row = {
        "pk": keys.documents(queue_id),
        "sk": document.document_id,
        "sort": sort_of(document.name, document_id=document.document_id),
        "entry": entry,
    }
    return {**row, "watched": True} if watched else row


def sort_of(name: str, *, document_id: str) -> str:
    """Where a document stands by name. No name has the character between its parts, so that no two are equal."""
    return f"{name}\0{document_id}"


def id_of_sort(sort: str) -> str:
    """The document that stands there."""
    return sort.rpartition("\0")[2]
