"""Upload, list, show, delete: what callers do with documents."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from broker.caller import Action, Caller
from broker.crypto import Unreadable
from broker.documents import conversion, naming, negotiation
from broker.documents.conversion import Unshowable
from broker.documents.document import Document
from broker.documents.listing import DocumentLists
from broker.documents.media import NAMES, Format, Media, of_upload
from broker.documents.models import DocumentAnswer, DocumentQuery, UnreadableAnswer
from broker.documents.store import Store, digest
from broker.documents.uploads import Uploads
from broker.errors import NotAcceptable, NotFound, PayloadTooLarge, ValidationFailed, WrongQueueType
from broker.ids import Ids, is_ulid, repeat_of
from broker.listing import Listing
from broker.metrics import count
from broker.queues.queue import Queue
from broker.queues.registry import Registry
from broker.queues.settings import DOCUMENTS
from edge import BlobMissing

DOCUMENT_MOST = 1024 * 1024
_TAKES: Mapping[str, frozenset[Format]] = {
    "document": frozenset({"json", "csv", "xml"}),
    "text_document": frozenset({"text"}),
}
_CONVERTED: tuple[Format, ...] = ("json", "xml", "csv")


@dataclass(frozen=True, slots=True)
class Shown:
    """A document in one of its formats.

    Attributes:
        document: What it is.
        format: The format it is shown in.
        content_type: The media type of that.
        etag: The entity tag of that.
        content: The bytes; None where the caller has them.
    """

    document: Document
    format: Format
    content_type: str
    etag: str
    content: bytes | None


class DocumentService:
    """The documents of all queues."""

    def __init__(self, *, registry: Registry, store: Store, uploads: Uploads, lists: DocumentLists) -> None:
        self._registry = registry
        self._store = store
        self._uploads = uploads
        self._lists = lists

    def uploadable(self, caller: Caller, reference: str) -> Queue:
        """The queue that a caller may upload to.

        Raises:
            NotFound, Forbidden, QueueDisabled: As `Registry.find_enabled`.
            WrongQueueType: It does not take documents.
        """
        return _of_documents(self._registry.find_enabled(caller, reference, action="publish"))

    def upload(
        self, caller: Caller, reference: str, *, headers: Mapping[str, str], content: bytes, ids: Ids
    ) -> DocumentAnswer:
        """Store a document as it is; durable when this returns.

        Args:
            caller: Who.
            reference: The queue's name or id.
            headers: Name, description and type of the document; names of headers in lower case.
            content: The bytes, exactly as they were sent.
            ids: Gives the id.

        Raises:
            PayloadTooLarge: It is over 1 MiB.
            ValidationFailed: A name is missing or malformed, or a text is not UTF-8.
            UnsupportedMediaType: The queue takes no such content.
            NotConvertible: It is not what its type says.
            QueueFull: There is no room, and the queue's policy makes none.
        """
        queue = self.uploadable(caller, reference)
        if len(content) > DOCUMENT_MOST:
            raise PayloadTooLarge(f"The document is over {DOCUMENT_MOST} bytes.")
        media = of_upload(headers, takes=_TAKES[queue.type])
        name, description = naming.read(headers)
        media = _checked_text(content) if media.format == "text" else conversion.check(content, media)
        document = Document(
            document_id=ids(),
            name=name,
            description=description,
            media=media,
            size=len(content),
            sha256=digest(content),
        )
        self._uploads.add(queue, document, content, repeat=repeat_of(ids))
        return document.answer()

    def listed(
        self, caller: Caller, reference: str, query: DocumentQuery
    ) -> Listing[DocumentAnswer | UnreadableAnswer]:
        """One page of a queue's documents, newest last."""
        return self._lists.page(self._find(caller, reference, "consume"), query)

    def show(self, caller: Caller, reference: str, document_id: str, *, accept: str | None, held: str | None) -> Shown:
        """A document in the best format that the caller accepts and that it can be shown in.

        Args:
            caller: Who.
            reference: The queue's name or id.
            document_id: The document.
            accept: The `Accept` header.
            held: The `If-None-Match` header: entity tags of what the caller has.

        Raises:
            NotFound: There is no such document.
            NotAcceptable: It cannot be shown in any format that the caller accepts.
        """
        queue = self._find(caller, reference, "consume")
        if not is_ulid(document_id):
            raise NotFound("There is no such document.")
        with _counted(queue):
            return self._shown(queue, self._store.load(queue, document_id), accept=accept, held=held)

    def _shown(self, queue: Queue, document: Document, *, accept: str | None, held: str | None) -> Shown:
        original = document.media.format
        if original == "text":
            return self._original(queue, document, "text/plain", held=held)
        faults: dict[Format, str] = {}
        for shown, content_type in negotiation.choices(accept, original=original):
            if shown == original:
                return self._original(queue, document, content_type, held=held)
            etag = f'"{document.sha256[:32]}-{shown}{conversion.MAPPING}"'
            if _has(held, etag):
                return Shown(document, shown, _typed(content_type), etag, None)
            try:
                content = conversion.convert(self._content(queue, document), document.media, to=shown)
            except Unshowable as fault:
                faults[shown] = str(fault)
            else:
                return Shown(document, shown, _typed(content_type), etag, content)
        raise self._not_acceptable(queue, document, faults)

    def delete(self, caller: Caller, reference: str, document_id: str) -> None:
        """Remove a document.

        Raises:
            NotFound: There is no such document.
        """
        queue = self._find(caller, reference, "consume")
        if not is_ulid(document_id):
            raise NotFound("There is no such document.")
        self._store.remove(queue, document_id)

    def _find(self, caller: Caller, reference: str, action: Action) -> Queue:
        return _of_documents(self._registry.find(caller, reference, action=action))

    def _original(self, queue: Queue, document: Document, name: str, *, held: str | None) -> Shown:
        etag = f'"{document.sha256[:32]}"'
        header = document.media.header
        content_type = header.replace(NAMES[document.media.format], name, 1)
        content = None if _has(held, etag) else self._content(queue, document)
        return Shown(document, document.media.format, content_type, etag, content)

    def _not_acceptable(self, queue: Queue, document: Document, faults: Mapping[Format, str]) -> NotAcceptable:
        content = self._content(queue, document)
        available = [
            NAMES[one]
            for one in _CONVERTED
            if one == document.media.format or (one not in faults and _converts(content, document.media, to=one))
        ]
        reasons = " ".join(f"{NAMES[one]}: {fault}" for one, fault in faults.items())
        detail = "The document cannot be shown in any format that Accept allows."
        return NotAcceptable(f"{detail} {reasons}".strip(), available=available)

    def _content(self, queue: Queue, document: Document) -> bytes:
        try:
            return self._store.content(document.document_id, tenant_id=queue.tenant_id, queue_id=queue.queue_id)
        except BlobMissing:
            self._store.load(queue, document.document_id)  # deleted at this very moment: there is no such document
            raise


@contextlib.contextmanager
def _counted(queue: Queue) -> Iterator[None]:
    """Count what does not open; the caller is told of a defect."""
    try:
        yield
    except Unreadable:
        count("Unreadable", kind=queue.type, tenant_id=queue.tenant_id, queue_id=queue.queue_id)
        raise


def _of_documents(queue: Queue) -> Queue:
    if queue.type not in DOCUMENTS:
        raise WrongQueueType(f"A {queue.type} queue holds no documents.")
    return queue


def _checked_text(content: bytes) -> Media:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise ValidationFailed.of("body", f"is not UTF-8 at byte {error.start}") from error
    return Media("text", "utf-8")


def _typed(content_type: str) -> str:
    return content_type if content_type == "application/json" else f"{content_type}; charset=utf-8"


def _has(held: str | None, etag: str) -> bool:
    """Whether an `If-None-Match` names this tag, weakly compared (RFC 9110, section 13.1.2)."""
    tags = [] if held is None else [tag.strip().removeprefix("W/") for tag in held.split(",")]
    return etag in tags or tags == ["*"]


def _converts(content: bytes, media: Media, *, to: Format) -> bool:
    try:
        conversion.convert(content, media, to=to)
    except Unshowable:
        return False
    return True
