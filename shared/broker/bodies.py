"""Types for the members of request bodies and queries, shared by the models of every package."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from broker import times
from broker.errors import ValidationFailed
from broker.jsontext import Number

_ERRORS_MOST = 20
# Where pydantic would name classes of this program.
_MESSAGES = dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "must be a JSON object")


def _whole(value: Any) -> Any:
    if isinstance(value, Number):
        whole = value.integer()
        return value.text if whole is None else whole
    return value


def _digits(value: Any) -> Any:
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit() and len(value) <= 20:
        return int(value)
    return value


def _moment(value: Any) -> int:
    return times.parse(_whole(value))


def _query_moment(value: Any) -> int:
    return times.parse(_digits(value))


def _addressable(value: str) -> str:
    if value in {".", ".."}:
        raise ValueError("cannot stand in a path")
    return value


def _printable(value: str) -> str:
    if not value.isprintable() or not value.strip():
        raise ValueError("must be printable characters, not only blanks")
    return value


Int = Annotated[int, BeforeValidator(_whole)]
"""A whole JSON number; 1.0 is one, "1" and true are not."""

QueryInt = Annotated[int, BeforeValidator(_digits)]
"""A whole number in a query, in decimal digits."""

Moment = Annotated[int, BeforeValidator(_moment)]
"""A time in a body, as milliseconds since the epoch."""

QueryMoment = Annotated[int, BeforeValidator(_query_moment)]
"""A time in a query, as milliseconds since the epoch."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,80}\z"), AfterValidator(_addressable)]
"""The name of a queue, a namespace or a log."""

Title = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_printable)]
"""A name for people."""


class Body(BaseModel):
    """A body or a query: nothing unknown, nothing converted from another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True, defer_build=True)


class ListQuery(Body):
    """The query of a list."""

    limit: QueryInt = Field(default=50, ge=1, le=200)
    next_token: str | None = None


def validation_failed(error: ValidationError, *, prefix: str = "") -> ValidationFailed:
    """What pydantic found, as callers are told: each fault with the path of its member."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    errors = [
        {
            "field": ".".join([prefix] * bool(prefix) + [str(part) for part in fault["loc"]]) or "body",
            "message": _MESSAGES.get(fault["type"], fault["msg"].removeprefix("Value error, ")),
        }
        for fault in faults[:_ERRORS_MOST]
    ]
    return ValidationFailed(f"{errors[0]['field']}: {errors[0]['message']}", errors=errors)
