"""JSON in and out without changing a digit.

Python's own parser turns 0.10 into 0.1 and 1e400 into infinity, and drops one of two members of the same name. Here a
number that `int` does not hold exactly stays the text it was, as a `Number`; JSON text made elsewhere is spliced in as
`Raw`; a name given twice is an error.
"""

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from broker.errors import MalformedJson, PayloadTooDeep

MAX_DEPTH = 64
_SAFE_DIGITS = 4000
_SURROGATE = re.compile("[\ud800-\udfff]")
_string = json.encoder.encode_basestring


@dataclass(frozen=True, slots=True)
class Number:
    """A JSON number as it was written."""

    text: str

    def decimal(self) -> Decimal | None:
        """Its exact value; None when its exponent passes what `Decimal` holds."""
        try:
            return Decimal(self.text)
        except InvalidOperation:
            return None

    def integer(self) -> int | None:
        """Its value when that is whole and has less than 40 digits, else None."""
        value = self.decimal()
        if value is None or (value and value.adjusted() > 40) or value != value.to_integral_value():
            return None
        return int(value)


@dataclass(frozen=True, slots=True)
class Raw:
    """JSON text that is written as it stands."""

    text: str


def loads(data: bytes) -> Any:
    """Parse JSON text in UTF-8; numbers become `int` or `Number`.

    Raises:
        MalformedJson: It is not JSON; the detail says where.
        PayloadTooDeep: It is nested so deep that it cannot be read at all.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedJson(f"The body is not UTF-8: byte {error.start}.") from error
    if not text.strip():
        raise MalformedJson("The body is empty; JSON is needed.")
    try:
        return json.loads(
            text, parse_float=Number, parse_int=_integer, parse_constant=_refuse, object_pairs_hook=_object
        )
    except json.JSONDecodeError as error:
        raise MalformedJson(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from error
    except RecursionError as error:
        raise PayloadTooDeep from error


def dumps(value: Any) -> bytes:
    """JSON text of plain values, `Number` and `Raw`, compact, in UTF-8.

    Raises:
        TypeError: Something else is in it, such as a Decimal. (Floats pass, but no number of ours is one.)
        ValueError: A float in it is not finite.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_not_plain)
    except _NotPlain:
        text = _write(value)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text).encode("utf-8")


def check_depth(value: Any, *, most: int = MAX_DEPTH) -> None:
    """Refuse a value nested deeper than `most` levels; a scalar has none, `[]` has one.

    Raises:
        PayloadTooDeep: It is.
    """
    level, depth = [value], 0
    while level:
        level = [item for item in level if isinstance(item, (dict, list))]
        if not level:
            return
        depth += 1
        if depth > most:
            raise PayloadTooDeep
        level = [member for item in level for member in (item.values() if isinstance(item, dict) else item)]


class _NotPlain(Exception):
    """There is a `Number` or a `Raw` in the value."""


def _not_plain(value: Any) -> Any:
    if isinstance(value, (Number, Raw)):
        raise _NotPlain
    raise TypeError(f"{type(value).__name__} is not JSON")


def _write(value: Any) -> str:
    match value:
        case Number() | Raw():
            return value.text
        case dict():
            return "{" + ",".join(f"{_string(name)}:{_write(member)}" for name, member in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join([_write(member) for member in value]) + "]"
        case str():
            return _string(value)
        case _:
            return json.dumps(value, allow_nan=False, default=_not_plain)


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) != len(members):
        seen: set[str] = set()
        for name, _ in members:
            if name in seen:
                raise MalformedJson(f"An object has the member {json.dumps(name)} twice.")
            seen.add(name)
    return value


def _integer(text: str) -> int | Number:
    return Number(text) if len(text) > _SAFE_DIGITS or text == "-0" else int(text)


def _refuse(name: str) -> Any:
    raise MalformedJson(f"{name} is not JSON.")
