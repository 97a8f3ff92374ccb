"""JSON values as XML, in the representation that the W3C gave them, and back without a difference.

The representation is that of XPath and XQuery Functions and Operators 3.1, section 17.4, `json-to-xml`: `map`, `array`,
`string`, `number`, `boolean`, `null`, names of members in `key`. Where XML cannot hold a character, the string is
written with JSON's escapes and `escaped="true"`, the name of a member with `escaped-key="true"`.
"""

import re
from collections.abc import Mapping
from typing import Any

from broker.documents.formats.json_text import Members
from broker.documents.formats.xml_tree import Element
from broker.jsontext import Number

NAMESPACE = "http://www.w3.org/2005/xpath-functions"
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<exponent>(?:[eE][+-]?[0-9]+)?)", re.ASCII
)
_UNHELD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_TO_ESCAPE = re.compile("[\\\\\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_LETTERS = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = _TEXT | str.maketrans({'"': "&quot;", "\t": "&#9;", "\n": "&#10;"})
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_BLANKS = " \t\r\n"
_XML = {"xml": "http://www.w3.org/XML/1998/namespace"}


class _OtherForm(Exception):
    """This XML is no JSON value in the W3C's form."""


def write(value: Any) -> bytes:
    """The XML document of a JSON value, in UTF-8."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n']
    _write(value, f' xmlns="{NAMESPACE}"', parts)
    return "".join([*parts, "\n"]).encode()


def read(root: Element) -> tuple[Any] | None:
    """The JSON value of an XML document in this form, in a tuple; None when it is any other XML.

    What the W3C's schema for it allows is read: comments and instructions anywhere, attributes of other namespaces,
    `1` and `0` for `true` and `false`, numbers as XML Schema writes them. A name may come twice, as in JSON.
    """
    try:
        value, attributes = _read(root, spaces=_XML)
    except _OtherForm:
        return None
    return None if attributes else (value,)


def _write(value: Any, attributes: str, parts: list[str]) -> None:
    if isinstance(value, str):
        if _UNHELD.search(value):
            attributes += ' escaped="true"'
            value = _escaped(value)
        parts.append(f"<string{attributes}>{value.translate(_TEXT)}</string>")
    elif isinstance(value, Number):
        parts.append(f"<number{attributes}>{value.text}</number>")
    elif isinstance(value, Members):
        parts.append(f"<map{attributes}>")
        for name, member in value:
            _write(member, _key(name), parts)
        parts.append("</map>")
    elif isinstance(value, list):
        parts.append(f"<array{attributes}>")
        for member in value:
            _write(member, "", parts)
        parts.append("</array>")
    elif value is None:
        parts.append(f"<null{attributes}/>")
    else:
        parts.append(f"<boolean{attributes}>{str(value).lower()}</boolean>")


def _key(name: str) -> str:
    if _UNHELD.search(name):
        return f' escaped-key="true" key="{_escaped(name).translate(_ATTRIBUTE)}"'
    return f' key="{name.translate(_ATTRIBUTE)}"'


def _escaped(text: str) -> str:
    return _TO_ESCAPE.sub(lambda match: "\\\\" if match[0] == "\\" else f"\\u{ord(match[0]):04x}", text)


def _read(element: Element, *, spaces: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    """An element's value, and of its attributes those that are its parent's business; `spaces` are by their prefix."""
    spaces = {**spaces, **_declared(element)}
    kind = _local(element.name, spaces)
    attributes = _attributes(element, spaces)
    if kind in ("map", "array"):
        return _read_members(element, spaces=spaces, named=kind == "map"), attributes
    text = _text(element)
    if kind == "string":
        escaped = _boolean(attributes.pop("escaped", "false"))
        return _unescaped(text) if escaped else text, attributes
    if kind == "boolean":
        return _boolean(text), attributes
    if kind == "number":
        return _number(text), attributes
    if kind == "null" and not text:
        return None, attributes
    raise _OtherForm


def _read_members(element: Element, *, spaces: Mapping[str, str], named: bool) -> Any:
    values: list[Any] = []
    members = Members()
    for child in element.children:
        if isinstance(child, str) and child.strip(_BLANKS):
            raise _OtherForm
        if not isinstance(child, Element):
            continue
        value, attributes = _read(child, spaces=spaces)
        if named and "key" in attributes:
            key, escaped = attributes.pop("key"), _boolean(attributes.pop("escaped-key", "false"))
            members.append((_unescaped(key) if escaped else key, value))
        else:
            values.append(value)
        if attributes:
            raise _OtherForm
    if named and values:
        raise _OtherForm
    return members if named else values


def _declared(element: Element) -> dict[str, str]:
    return {name[6:]: value for name, value in element.attributes if name == "xmlns" or name.startswith("xmlns:")}


def _local(name: str, spaces: Mapping[str, str]) -> str:
    """The name of an element without the prefix of this form."""
    prefix, _, local = name.rpartition(":")
    if spaces.get(prefix) != NAMESPACE:
        raise _OtherForm
    return local


def _attributes(element: Element, spaces: Mapping[str, str]) -> dict[str, str]:
    """The attributes without a prefix; those of other namespaces mean nothing here."""
    own: dict[str, str] = {}
    for name, value in element.attributes:
        prefix, colon, _ = name.rpartition(":")
        if not colon and name != "xmlns":
            own[name] = value
        elif colon and prefix != "xmlns" and spaces.get(prefix, NAMESPACE) == NAMESPACE:
            raise _OtherForm
    return own


def _text(element: Element) -> str:
    if any(isinstance(child, Element) for child in element.children):
        raise _OtherForm
    return "".join(child for child in element.children if isinstance(child, str))


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.strip(_BLANKS)]
    except KeyError:
        raise _OtherForm from None


def _number(text: str) -> Number:
    match = _NUMBER.fullmatch(text.strip(_BLANKS))
    if match is None or not (match["whole"] or match["fraction"]):
        raise _OtherForm
    fraction = f".{match['fraction']}" if match["fraction"] else ""
    sign = "-" if match["sign"] == "-" else ""
    return Number(f"{sign}{match['whole'].lstrip('0') or '0'}{fraction}{match['exponent']}")


def _unescaped(text: str) -> str:
    if "\\" in _ESCAPE.sub("", text):
        raise _OtherForm
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _LETTERS[match[2]], text)
