"""The order of items in lists, as texts that DynamoDB compares byte by byte.

Numbers come by exact value, then strings by code point, then the rest; what ties comes by key. A range key holds 1,024
bytes, so each part counts with its first 480: longer values that agree so far tie.
"""

from collections.abc import Sequence
from typing import Any

from broker.errors import KeyFieldInvalid
from broker.identity import number_text
from broker.jsontext import Number

PART_MOST = 480
_HASH_MOST = 40
_ABSENT: Any = object()
_MINUS, _ZERO, _PLUS, _TEXT, _REST = "n0", "n1", "n2", "s", "t"
_END = "\x00\x01"
"""Ends a string. It sorts before whatever may follow in a longer one, as a NUL inside is written `_NUL`."""
_NUL = "\x00\x02"
_MIRROR = str.maketrans("0123456789np-", "9876543210pn~")

FIRST, LAST = "a", "}"
"""Bounds around every sort text."""
NO_CHARACTER = "\U0010ffff"
"""Sorts after whatever continues a prefix, as far as characters go."""


def sort_text(key: Sequence[Any], *, digest: str, by: Any = _ABSENT) -> str:
    """The place of an item: unique, as it ends in the hash of the key.

    Args:
        key: The values of its primary key.
        digest: Their hash.
        by: The value of the queue's sort key, None when the message has none; not given for a queue without one.
    """
    first = "" if by is _ABSENT else _cut(_rank(by))
    return f"{first}{_cut(''.join(_component(value) for value in key))}\x00{digest[:_HASH_MOST]}"


def prefix_text(prefix: str) -> str:
    """What the sort texts of keys that begin with a string begin with, in a queue without a sort key."""
    return _cut(_TEXT + _escape(prefix))


def number_order(value: int | Number) -> str:
    """A number as text, such that texts compare as the numbers do."""
    digits, _, exponent = number_text(value).lstrip("-").partition("e")
    if not exponent:
        return _ZERO
    magnitude = f"{_exponent(int(exponent) + len(digits))}{digits}-"
    negative = number_text(value).startswith("-")
    return _MINUS + magnitude.translate(_MIRROR) if negative else _PLUS + magnitude


def _rank(value: Any) -> str:
    """A sort key's value; booleans, null, lists and objects are one tie after all others."""
    if isinstance(value, bool) or not isinstance(value, (int, Number, str)):
        return _REST
    return _component(value)


def _component(value: Any) -> str:
    if isinstance(value, bool):
        return f"{_REST}{int(value)}"
    if isinstance(value, str):
        return f"{_TEXT}{_escape(value)}{_END}"
    try:
        return number_order(value)
    except (KeyFieldInvalid, ValueError):  # an exponent of thousands of digits, which only a sort key can have
        return _REST


def _escape(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", _NUL)


def _exponent(value: int) -> str:
    size = f"{len(str(abs(value))):04d}{abs(value)}"
    return f"n{size.translate(_MIRROR)}" if value < 0 else f"p{size}"


def _cut(text: str) -> str:
    return text.encode()[:PART_MOST].decode("utf-8", "ignore")
