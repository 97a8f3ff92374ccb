"""Names and descriptions of documents in headers: percent-encoded UTF-8 in both directions."""

import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import quote, unquote_to_bytes

from broker.documents.media import Format
from broker.errors import ValidationFailed

NAME_BYTES, DESCRIPTION_BYTES = 900, 4000
ENCODED_BYTES = 8500
"""Of what a download carries in headers: the gateway takes 10,240 bytes of them, and a name is in two."""

NAME_HEADER, DESCRIPTION_HEADER = "X-Document-Name", "X-Document-Description"

_BROKEN = re.compile("%(?![0-9A-Fa-f]{2})")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 !#$&+.^_`|~()=@,{}\[\]-]")
_SEPARATORS = str.maketrans({"/": "_", "\\": "_"})
_ENDINGS: Mapping[Format, str] = {"json": ".json", "csv": ".csv", "xml": ".xml", "text": ".txt"}


def read(headers: Mapping[str, str]) -> tuple[str, str]:
    """Name and description from the headers of an upload (by name in lower case).

    Raises:
        ValidationFailed: One is missing, blank, too long, not percent-encoded UTF-8, or has a control character.
    """
    name = _read(headers, NAME_HEADER, most=NAME_BYTES)
    description = _read(headers, DESCRIPTION_HEADER, most=DESCRIPTION_BYTES)
    if 2 * len(encoded(name)) + len(encoded(description)) > ENCODED_BYTES:
        raise ValidationFailed.of(
            DESCRIPTION_HEADER,
            f"must be shorter: with twice the name it is over {ENCODED_BYTES} bytes percent-encoded",
        )
    return name, description


def encoded(text: str) -> str:
    """As a header value that `read` gives back exactly."""
    return quote(text, safe="")


def disposition(name: str, *, original: Format, shown: Format) -> str:
    """`Content-Disposition` with the name for a file (RFC 6266), in ASCII and exact, ending as the format does."""
    if shown != original:
        name = name.removesuffix(_ENDINGS[original]) + _ENDINGS[shown]
    name = name.translate(_SEPARATORS)
    return f"attachment; filename=\"{_NOT_PLAIN.sub('_', name)}\"; filename*=UTF-8''{encoded(name)}"


def _read(headers: Mapping[str, str], header: str, *, most: int) -> str:
    value = headers.get(header.lower())
    if value is None:
        raise ValidationFailed.of(header, "is required")
    if not value.isascii() or _BROKEN.search(value):
        raise ValidationFailed.of(header, "must be percent-encoded UTF-8; a percent sign is %25")
    try:
        text = unquote_to_bytes(value).decode()
    except UnicodeDecodeError as error:
        raise ValidationFailed.of(header, "must be percent-encoded UTF-8") from error
    if not text.strip():
        raise ValidationFailed.of(header, "must not be blank")
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise ValidationFailed.of(header, "must not have control characters")
    if len(text.encode()) > most:
        raise ValidationFailed.of(header, f"must not be longer than {most} bytes of UTF-8")
    return text
