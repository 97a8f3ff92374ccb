"""Answers that carry a document."""

from broker.documents import naming
from broker.documents.service import Shown
from broker.http.answer import Answer

_UNCHANGED = 304


def shown(document: Shown) -> Answer:
    """The answer to GET or HEAD: the document's bytes and headers, or 304 where the caller has it.

    Of a HEAD the gateway takes the length and leaves the bytes out.
    """
    headers = {"etag": document.etag, "vary": "Accept"}
    if document.content is None:
        return Answer(_UNCHANGED, None, headers)
    about = document.document
    headers |= {
        "content-type": document.content_type,
        "content-disposition": naming.disposition(about.name, original=about.media.format, shown=document.format),
        "x-document-name": naming.encoded(about.name),
        "x-document-description": naming.encoded(about.description),
        "x-content-type-options": "nosniff",
    }
    return Answer(200, document.content, headers, binary=True)
