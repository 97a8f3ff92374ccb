"""From one format to another. The bytes that were uploaded are what every conversion starts from."""

import codecs
from collections.abc import Callable, Mapping
from typing import Any

from broker.documents.formats import json_in_xml, json_text, tables, xml_in_json, xml_tree
from broker.documents.media import Format, Media
from broker.errors import NotConvertible

CONVERTED_MOST = 4_500_000
"""Bytes of an answer: in base64 they are nearly all that Lambda hands back."""

MAPPING = 2
"""Changes when the same document converts to other bytes than before; entity tags carry it."""

_UNLABELLED = "windows-1252"
_BOMS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


class Unshowable(Exception):
    """This document cannot be shown in that format; says why."""


def check(content: bytes, media: Media) -> Media:
    """Make sure that a document is what its type says, so that it can be converted later.

    Returns:
        The media type, with the charset that was found out when bytes that are not UTF-8 came without one.

    Raises:
        NotConvertible: It is not; the detail says where.
    """
    found = media if media.format == "xml" else Media(media.format, _charset(content, media))
    _CHECKS[media.format](content, found.charset)
    return found


def convert(content: bytes, media: Media, *, to: Format) -> bytes:
    """The document in another format, in UTF-8.

    Raises:
        Unshowable: It cannot be shown in that format.
    """
    try:
        value = _READERS[media.format](content, media.charset)
        shown = _WRITERS[to](value)
    except (tables.NotATable, NotConvertible) as error:
        raise Unshowable(str(error)) from error
    except UnicodeEncodeError as error:
        raise Unshowable("A string in the document is not Unicode text.") from error
    if len(shown) > CONVERTED_MOST:
        raise Unshowable(f"It would be {len(shown)} bytes long; at most {CONVERTED_MOST} can be sent.")
    return shown


def _charset(content: bytes, media: Media) -> str:
    if media.charset is not None:
        return media.charset
    marked = next((charset for bom, charset in _BOMS if content.startswith(bom)), None)
    if marked is not None:
        return marked
    try:
        content.decode()
    except UnicodeDecodeError as error:
        if media.format != "csv":
            raise NotConvertible(
                f"The document is not UTF-8 at byte {error.start}; name the charset in its content type."
            ) from error
        return _UNLABELLED
    return "utf-8"


def _decode(content: bytes, charset: str | None) -> str:
    try:
        return content.decode(charset or "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise NotConvertible(f"The document is not {charset or 'utf-8'} at byte {error.start}.") from error


def _read_json(content: bytes, charset: str | None) -> Any:
    return json_text.read(_decode(content, charset))


def _read_csv(content: bytes, charset: str | None) -> Any:
    return tables.read_csv(_decode(content, charset))


def _check_csv(content: bytes, charset: str | None) -> None:
    tables.check_csv(_decode(content, charset))


def _check_xml(content: bytes, charset: str | None) -> None:
    text, encoding = _xml_text(content, charset)
    xml_tree.check(text, encoding=encoding)


def _xml_text(content: bytes, charset: str | None) -> tuple[bytes, str | None]:
    """What the parser gets: a charset in the content type overrides what the document says of itself (RFC 7303)."""
    return (content, None) if charset is None else (_decode(content, charset).encode(), "utf-8")


def _read_xml(content: bytes, charset: str | None) -> Any:
    text, encoding = _xml_text(content, charset)
    root = xml_tree.read(text, encoding=encoding)
    found = json_in_xml.read(root)
    return xml_in_json.value_of(root) if found is None else found[0]


_READERS: Mapping[Format, Callable[[bytes, str | None], Any]] = {
    "json": _read_json,
    "csv": _read_csv,
    "xml": _read_xml,
    "text": _decode,
}
_CHECKS: Mapping[Format, Callable[[bytes, str | None], object]] = {
    **_READERS,
    "csv": _check_csv,
    "xml": _check_xml,
}
_WRITERS: Mapping[Format, Callable[[Any], bytes]] = {
    "json": json_text.write,
    "csv": lambda value: tables.write_csv(value).encode(),
    "xml": json_in_xml.write,
}
