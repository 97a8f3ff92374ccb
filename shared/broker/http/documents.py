"""Answers that carry a document."""

from broker.documents import naming
from broker.documents.service import Shown
from broker.http.answer import Answer

_UNCHANGED = 304


def shown(document: Shown) -> Answer:
    """The answer to GET or HEAD: the document's bytes as base64, its headers, or 304 where the caller has it."""
    headers = {"etag": document.etag, "vary": "Accept"}
    if document.unchanged:
        return Answer(_UNCHANGED, None, headers)
    about = document.document
    headers |= {
        "content-type": document.content_type,
        "content-disposition": naming.disposition(about.name, original=about.media.format, shown=document.format),
        "x-document-name": naming.encoded(about.name),
        "x-document-description": naming.encoded(about.description),
        "x-content-type-options": "nosniff",
    }
    if document.content is None:
        headers["content-length"] = str(document.size)
    return Answer(200, document.content, headers, binary=True)
