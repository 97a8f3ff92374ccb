"""Media types of documents: what a `Content-Type` says, and what a format is called in one."""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from broker.errors import UnsupportedMediaType

Format: TypeAlias = Literal["json", "csv", "xml", "text"]

TYPES: Mapping[str, Format] = {
    "application/json": "json",
    "text/csv": "csv",
    "application/xml": "xml",
    "text/xml": "xml",
    "text/plain": "text",
}
NAMES: Mapping[Format, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "xml": "application/xml",
    "text": "text/plain",
}
OCTETS = "application/octet-stream"

_MEDIA = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*(;.*)?", re.ASCII | re.DOTALL)
_PARAMETER = re.compile(r';\s*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))\s*', re.ASCII)
_CHARSETS = re.compile(
    r"utf-?8|utf-?(16|32)([_-]?[lb]e)?|us-ascii|ascii|iso-?8859-?\d{1,2}|latin-?[1-9]|(windows|cp)-?125\d|koi8-[ru]"
    r"|shift[_-]jis|euc-(jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5|macintosh|mac-?roman",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Media:
    """The format of a document, and its charset, if its type names one or it was found out."""

    format: Format
    charset: str | None = None

    @property
    def header(self) -> str:
        """As the `Content-Type` of its own bytes; for XML the charset only where the upload named it."""
        name = NAMES[self.format]
        plain = self.charset is None or (self.format == "json" and self.charset == "utf-8")
        return name if plain else f"{name}; charset={self.charset}"

    @property
    def text(self) -> str:
        """As `content_type` in JSON: the charset only where it is not UTF-8."""
        name = NAMES[self.format]
        return name if self.charset in (None, "utf-8") else f"{name}; charset={self.charset}"


def parse(content_type: str) -> tuple[str, dict[str, str]]:
    """The media type in lower case, empty when there is none, and its parameters by name in lower case."""
    match = _MEDIA.fullmatch(content_type)
    if match is None:
        return "", {}
    parameters = {
        name.lower(): re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
        for name, quoted, plain in _PARAMETER.findall(match[2] or "")
    }
    return match[1].lower(), parameters


def of_upload(headers: Mapping[str, str], *, takes: frozenset[Format]) -> Media:
    """What an upload says it is.

    Args:
        headers: By name in lower case.
        takes: The formats of the queue.

    Raises:
        UnsupportedMediaType: The queue takes no such content, or the charset is unknown.
    """
    name, parameters = parse(headers.get("content-type", ""))
    if name == OCTETS:
        name, parameters = parse(headers.get("x-document-content-type", ""))
    format_ = TYPES.get(name)
    if format_ is None or format_ not in takes:
        taken = ", ".join(sorted(NAMES[one] for one in takes))
        raise UnsupportedMediaType(
            f"This queue takes {taken}, or {OCTETS} with one of them in X-Document-Content-Type for bytes that are not "
            "UTF-8."
        )
    return Media(format_, _charset(parameters.get("charset")))


def _charset(name: str | None) -> str | None:
    if not name:
        return None
    try:
        if _CHARSETS.fullmatch(name):
            codecs.lookup(name)
            return "utf-8" if name.lower() == "utf8" else name.lower()
    except LookupError:
        pass
    raise UnsupportedMediaType("The charset of the content type is unknown.")
