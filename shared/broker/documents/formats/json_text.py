"""JSON text without losing anything: numbers stay the text they are, members keep their order, repeated names too."""

import json
import re
from typing import Any, NoReturn

from broker.errors import NotConvertible
from broker.jsontext import MAX_DEPTH, Number

_SURROGATE = re.compile("[\ud800-\udfff]")
_string = json.encoder.encode_basestring
_WORDS = {None: "null", True: "true", False: "false"}


class Members(list[tuple[str, Any]]):
    """The members of a JSON object in their order; a name may come twice."""


def read(text: str) -> Any:
    """The value of a JSON text: `Members`, lists, strings, `Number`, booleans and None.

    Raises:
        NotConvertible: It is not JSON, or nested more than 64 levels deep; the detail says where.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=Members, parse_float=Number, parse_int=Number, parse_constant=_refuse
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise NotConvertible(f"The document is not JSON: {error.msg} at {where}.") from error
    except RecursionError:
        raise _too_deep() from None
    _check_depth(value)
    return value


def write(value: Any) -> bytes:
    """The JSON text of a value, compact, in UTF-8."""
    parts: list[str] = []
    _write(value, parts)
    text = "".join(parts)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text).encode()


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(_string(value))
    elif isinstance(value, Number):
        parts.append(value.text)
    elif isinstance(value, Members):
        mark = "{"
        for name, member in value:
            parts.append(f"{mark}{_string(name)}:")
            _write(member, parts)
            mark = ","
        parts.append("}" if value else "{}")
    elif isinstance(value, list):
        mark = "["
        for member in value:
            parts.append(mark)
            _write(member, parts)
            mark = ","
        parts.append("]" if value else "[]")
    else:
        parts.append(_WORDS[value])


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [item for item in level if isinstance(item, list)]
        if not level:
            return
        level = [
            member
            for item in level
            for member in ([pair[1] for pair in item] if isinstance(item, Members) else item)
            if isinstance(member, list)
        ]
    raise _too_deep()


def _too_deep() -> NotConvertible:
    return NotConvertible(f"The document is nested more than {MAX_DEPTH} levels deep.")


def _refuse(name: str) -> NoReturn:
    raise NotConvertible(f"The document is not JSON: {name} is not a value.")
