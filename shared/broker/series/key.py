"""Which series of a queue: the values of its primary key, and how a caller names them in a URL."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from broker import identity, jsontext
from broker.errors import BrokerError, ValidationFailed
from broker.jsontext import Number


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """The key of a series.

    Attributes:
        id: SHA-256 of the canonical key values, 43 characters of URL-safe base64; equal keys have equal ids.
        text: The JSON array of the values, as they were first published.
    """

    id: str
    text: bytes = field(compare=False)

    @classmethod
    def of(cls, values: Sequence[Any]) -> "SeriesKey":
        """The key of these values; none where the queue has no primary key."""
        digest = bytes.fromhex(identity.digest(values))
        return cls(base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii"), jsontext.dumps(list(values)))


def readings(text: str | None, *, paths: Sequence[str]) -> list[SeriesKey]:
    """The keys that a `primary_key` parameter can mean, the likeliest first.

    The text of a single field is that string; or the number, `true` or `false` that it reads as; or the JSON array of
    its one value. A composite key is the JSON array of its values.

    Args:
        text: The parameter, None when it is absent.
        paths: The fields of the queue's primary key.

    Raises:
        ValidationFailed: It is missing, given where there is none, or cannot be a key of the queue.
    """
    if not paths:
        if text is not None:
            raise ValidationFailed.of("primary_key", "the queue has no primary key")
        return [SeriesKey.of([])]
    if text is None:
        raise ValidationFailed.of("primary_key", "is required: the queue has a primary key")
    found = [SeriesKey.of([text])] if len(paths) == 1 else []
    try:
        value = jsontext.loads(text.encode())
    except (BrokerError, UnicodeEncodeError):
        value = None
    if len(paths) == 1 and isinstance(value, (bool, int, Number)):
        found.append(SeriesKey.of([value]))
    if isinstance(value, list) and len(value) == len(paths) and all(map(_is_key_value, value)):
        found.append(SeriesKey.of(value))
    if not found:
        raise ValidationFailed.of("primary_key", f"must be a JSON array of {len(paths)} strings, numbers or booleans")
    return found


def _is_key_value(value: Any) -> bool:
    return isinstance(value, (str, bool, int, Number))
