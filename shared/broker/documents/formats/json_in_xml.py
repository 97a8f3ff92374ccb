"""JSON values as XML, in the representation that the W3C gave them, and back without a difference.

The representation is that of XPath and XQuery Functions and Operators 3.1, section 17.4, `json-to-xml`: `map`, `array`,
`string`, `number`, `boolean`, `null`, names of members in `key`. Where XML cannot hold a character, the string is
written with JSON's escapes and `escaped="true"`, the name of a member with `escaped-key="true"`.
"""

import re
from typing import Any

from broker.documents.formats.json_text import Members
from broker.documents.formats.xml_tree import Element
from broker.jsontext import Number

NAMESPACE = "http://www.w3.org/2005/xpath-functions"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_UNHELD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_TO_ESCAPE = re.compile("[\\\\\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_LETTERS = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE = _TEXT | str.maketrans({'"': "&quot;", "\t": "&#9;", "\n": "&#10;"})
_KINDS = {"map", "array", "string", "number", "boolean", "null"}
_BOOLEANS = {"true": True, "false": False}


class _OtherForm(Exception):
    """This XML is no JSON value in the W3C's form."""


def write(value: Any) -> bytes:
    """The XML document of a JSON value, in UTF-8."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n']
    _write(value, f' xmlns="{NAMESPACE}"', parts)
    return "".join([*parts, "\n"]).encode()


def read(root: Element) -> tuple[Any] | None:
    """The JSON value of an XML document in this form, in a tuple; None when it is any other XML."""
    prefix, colon, _ = root.name.rpartition(":")
    declaration = f"xmlns:{prefix}" if colon else "xmlns"
    if (declaration, NAMESPACE) not in root.attributes:
        return None
    try:
        own = Element(root.name, [pair for pair in root.attributes if pair[0] != declaration], root.children)
        return (_read(own, prefix=prefix + colon),)
    except _OtherForm:
        return None


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


def _read(element: Element, *, prefix: str) -> Any:
    kind = element.name.removeprefix(prefix)
    if not element.name.startswith(prefix) or kind not in _KINDS:
        raise _OtherForm
    attributes = dict(element.attributes)
    escaped = attributes.pop("escaped", "false") if kind == "string" else "false"
    if attributes or escaped not in _BOOLEANS:
        raise _OtherForm
    if kind in ("map", "array"):
        return _read_members(element, prefix=prefix, named=kind == "map")
    if len(element.children) > 1 or not all(isinstance(child, str) for child in element.children):
        raise _OtherForm
    text = str(element.children[0]) if element.children else ""
    if kind == "string":
        return _unescaped(text) if _BOOLEANS[escaped] else text
    if kind == "null" and not text:
        return None
    if kind == "boolean" and text.strip() in _BOOLEANS:
        return _BOOLEANS[text.strip()]
    if kind == "number" and _NUMBER.fullmatch(text.strip()):
        return Number(text.strip())
    raise _OtherForm


def _read_members(element: Element, *, prefix: str, named: bool) -> Any:
    values: list[Any] = []
    members = Members()
    for child in element.children:
        if isinstance(child, str) and not child.strip():
            continue
        if not isinstance(child, Element):
            raise _OtherForm
        attributes = dict(child.attributes)
        key, escaped = attributes.pop("key", None), attributes.pop("escaped-key", "false")
        if (key is not None) != named or escaped not in _BOOLEANS or (escaped == "true" and not named):
            raise _OtherForm
        value = _read(Element(child.name, list(attributes.items()), child.children), prefix=prefix)
        if key is None:
            values.append(value)
        else:
            members.append((_unescaped(key) if _BOOLEANS[escaped] else key, value))
    return members if named else values


def _unescaped(text: str) -> str:
    if "\\" in _ESCAPE.sub("", text):
        raise _OtherForm
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _LETTERS[match[2]], text)
