"""How callers name an item, by a text in the path or the JSON array of its key's values; and versions of it."""

from typing import Any

from broker import jsontext
from broker.errors import MalformedJson, PayloadTooDeep, ValidationFailed
from broker.jsontext import Number

VERSIONS_MOST = 100


def path_keys(text: str) -> list[list[Any]]:
    """The keys that a text in a path may mean: the string, and second, if it reads so, a number, true or false."""
    keys: list[list[Any]] = [[text]]
    try:
        value = jsontext.loads(text.encode("utf-8", "surrogatepass")) if text == text.strip() else None
    except (MalformedJson, PayloadTooDeep):
        return keys
    return [*keys, [value]] if isinstance(value, (bool, int, Number)) else keys


def array_key(text: str, *, size: int) -> list[Any]:
    """A key from the JSON text of its array.

    Raises:
        ValidationFailed: It is not a JSON array of as many strings, numbers and booleans as the key has fields.
    """
    try:
        value = jsontext.loads(text.encode("utf-8", "surrogatepass"))
    except (MalformedJson, PayloadTooDeep):
        value = None
    return checked_key(value, size=size, name="key")


def named_versions(if_match: str) -> frozenset[str]:
    """The versions that an `If-Match` names, `*` among them for any.

    Raises:
        ValidationFailed: There are more than a condition can have.
    """
    versions = frozenset(version.strip().removeprefix("W/").strip('"') for version in if_match.split(","))
    if len(versions) > VERSIONS_MOST:
        raise ValidationFailed.of("If-Match", f"may name at most {VERSIONS_MOST} versions")
    return versions


def checked_key(value: Any, *, size: int, name: str) -> list[Any]:
    """A key from its array; see `array_key`."""
    plain = isinstance(value, list) and all(isinstance(one, (bool, int, Number, str)) for one in value)
    if not plain or len(value) != size:
        raise ValidationFailed.of(name, f"must be a JSON array of {size} strings, numbers or booleans")
    try:
        "".join(one for one in value if isinstance(one, str)).encode()
    except UnicodeEncodeError as error:
        raise ValidationFailed.of(name, "must be Unicode text") from error
    return list(value)
