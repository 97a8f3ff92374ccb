"""Field paths, and the identity of the values they lead to.

Two key values are the same exactly when their canonical texts are: strings as RFC 8785 writes them, numbers by their
exact decimal value, booleans as themselves. No Unicode normalisation, no joining of fields.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from broker.errors import KeyFieldInvalid
from broker.jsontext import Number, dumps

_ABSENT = object()


def key_values(payload: Mapping[str, Any], *, paths: Sequence[str]) -> list[Any]:
    """The values at all paths of a message as it was published, in the order of the paths.

    Raises:
        KeyFieldInvalid: One is absent, null, an object, an array, or a string that is not Unicode text.
    """
    return [key_value(payload, path=path) for path in paths]


def key_value(payload: Mapping[str, Any], *, path: str) -> Any:
    """The value at one path; see `key_values`."""
    value = field(payload, path=path)
    if _is_surrogate(value):
        raise KeyFieldInvalid(f"The key field {path} is not Unicode text: it has half of a surrogate pair.", field=path)
    if value is None or isinstance(value, (dict, list)):
        raise KeyFieldInvalid(f"The key field {path} is absent, null, or not a string, number or boolean.", field=path)
    return value


def field(payload: Mapping[str, Any], *, path: str) -> Any:
    """The value at a path, None when absent; dots descend objects, a member literally named so wins."""
    found = _find(payload, path.split("."))
    return None if found is _ABSENT else found


def present(payload: Mapping[str, Any], *, path: str) -> bool:
    """Whether there is a value at a path, null included."""
    return _find(payload, path.split(".")) is not _ABSENT


def digest(values: Sequence[Any]) -> str:
    """The identity of key values: SHA-256 over their canonical JSON array, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical(values)).hexdigest()


def canonical(values: Sequence[Any]) -> bytes:
    """The canonical JSON text of an array of key values."""
    return b"[" + b",".join(_canonical(value) for value in values) + b"]"


def number_text(value: int | Number) -> str:
    """A number's exact value as sign, digits without outer zeros and a power of ten, such as `-12e-1`; zero is `0`.

    Raises:
        KeyFieldInvalid: Its exponent has thousands of digits.
    """
    return _shortest(value.text if isinstance(value, Number) else str(value))


def _canonical(value: Any) -> bytes:
    return dumps(value) if isinstance(value, (bool, str)) else number_text(value).encode("ascii")


def _shortest(text: str) -> str:
    """An exact decimal as sign, digits without outer zeros, and a power of ten: 100 and 1e2 are both 1e2."""
    mantissa, _, exponent = text.lower().partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0"
    kept = digits.rstrip("0")
    return f"{sign}{kept}e{_plus(exponent or '0', len(digits) - len(kept) - len(fraction))}"


def _plus(exponent: str, shift: int) -> str:
    """The sum, of an exponent that may be longer than `int` reads."""
    try:
        return str(int(exponent) + shift)
    except ValueError:
        raise KeyFieldInvalid("A key field is a number with an exponent of thousands of digits.") from None


def _find(value: Mapping[str, Any], parts: Sequence[str]) -> Any:
    for size in range(len(parts), 0, -1):
        name = ".".join(parts[:size])
        if name not in value:
            continue
        if size == len(parts):
            return value[name]
        inner = value[name]
        if isinstance(inner, Mapping):
            found = _find(inner, parts[size:])
            if found is not _ABSENT:
                return found
    return _ABSENT


def _is_surrogate(value: Any) -> bool:
    return isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value)
