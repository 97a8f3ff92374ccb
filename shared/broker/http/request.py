"""What a handler sees of an API Gateway event (HTTP API, payload version 2.0)."""

import base64
import binascii
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

from pydantic import BaseModel, ValidationError

from broker import jsontext
from broker.bodies import validation_failed
from broker.caller import Caller
from broker.errors import EncodingNotPreserved, MalformedJson, NotFound, PayloadTooLarge, ValidationFailed
from broker.ids import Ids, is_ulid
from broker.listing import PageRequest

M = TypeVar("M", bound=BaseModel)

_NAME = re.compile(r"[A-Za-z0-9._-]{1,80}", re.ASCII)
BODY_MOST = 5 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    """One request, its caller known.

    Attributes:
        event: The event as it came.
        route: The method and path template of the endpoint.
        caller: Who is asking.
        request_id: API Gateway's.
        ids: New ids; the same ones again when an Idempotency-Key is repeated.
    """

    event: Mapping[str, Any]
    route: str
    caller: Caller
    request_id: str
    ids: Ids

    @functools.cached_property
    def headers(self) -> dict[str, str]:
        """By name in lower case."""
        return read_headers(self.event)

    @functools.cached_property
    def path(self) -> dict[str, str]:
        """The parameters in the path, decoded once, whether the gateway hands over the raw path decoded or as it came.

        Raises:
            ValidationFailed: One is not percent-encoded UTF-8.
        """
        template = self.route.partition(" ")[2].split("/")
        parts = _raw_path(self.event).split("/")
        given = {name: str(value) for name, value in (self.event.get("pathParameters") or {}).items()}
        if len(parts) != len(template):
            return given
        named = {name[1:-1]: part for name, part in zip(template, parts, strict=True) if name.startswith("{")}
        return {name: _decode(part, given=given.get(name), field=name) for name, part in named.items()}

    @functools.cached_property
    def body(self) -> bytes:
        """The bytes of the body, none when there is none.

        Raises:
            MalformedJson: The event says base64 and the body is not.
            PayloadTooLarge: It is over 5 MiB.
        """
        body = read_body(self.event)
        if len(body) > BODY_MOST:
            raise PayloadTooLarge(f"The body is over {BODY_MOST} bytes.")
        return body

    @functools.cached_property
    def exact_body(self) -> bytes:
        """The body, made sure to be what was sent: the gateway hands text on as text, and replaces what is not UTF-8.

        Raises:
            EncodingNotPreserved: Its length is not the one it had, or it holds replacements and had no length.
        """
        body, length = self.body, self.headers.get("content-length")
        replaced = length is None and not self.event.get("isBase64Encoded") and "\ufffd".encode() in body
        if replaced or (length is not None and length.strip() != str(len(body))):
            raise EncodingNotPreserved
        return body

    def json(self, model: type[M], *, optional: bool = False) -> M:
        """The body as a model; an absent body is `{}` where everything in it is optional.

        Raises:
            MalformedJson, PayloadTooDeep: It is not JSON.
            ValidationFailed: It is not of the model.
        """
        return _validate(model, {} if optional and not self.body.strip() else self.json_object())

    def json_object(self) -> dict[str, Any]:
        """The body as a JSON object.

        Raises:
            MalformedJson, PayloadTooDeep: It is none.
        """
        value = jsontext.loads(self.body)
        if not isinstance(value, dict):
            raise MalformedJson("The body must be a JSON object.")
        return value

    def query(self, model: type[M]) -> M:
        """The query as a model.

        Raises:
            ValidationFailed: It is not of the model; unknown and repeated parameters included.
        """
        try:
            pairs = parse_qsl(str(self.event.get("rawQueryString") or ""), keep_blank_values=True, errors="strict")
        except ValueError as error:
            raise ValidationFailed.of("query", "must be percent-encoded UTF-8") from error
        values: dict[str, str] = {}
        for name, value in pairs:
            if not name:
                raise ValidationFailed.of("query", "has a parameter without a name")
            if name in values:
                raise ValidationFailed.of(name, "is given twice")
            values[name] = value
        return _validate(model, values)

    def page(self, model: type[M]) -> PageRequest:
        """The query of a list as the page it asks for."""
        query = self.query(model)
        return PageRequest(limit=query.limit, next_token=query.next_token)  # type: ignore[attr-defined]  # ListQuery

    def name(self, parameter: str) -> str:
        """A path parameter that is the name (or the id) of a queue, or of a namespace.

        Raises:
            ValidationFailed: It cannot be one.
        """
        name = self.path[parameter]
        if not _NAME.fullmatch(name) or name in {".", ".."}:
            raise ValidationFailed.of(parameter, "must be 1 to 80 characters of A-Z a-z 0-9 . _ -")
        return name

    def identifier(self, parameter: str) -> str:
        """A path parameter that is an id of ours.

        Raises:
            NotFound: It cannot be one, so there is nothing under it.
        """
        if not is_ulid(self.path[parameter]):
            raise NotFound
        return self.path[parameter]

    def path_integer(self, name: str) -> int:
        """A path parameter that is a whole number.

        Raises:
            ValidationFailed: It is none.
        """
        text = self.path[name]
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise ValidationFailed.of(name, "must be a whole number")
        return int(text)


def read_headers(event: Mapping[str, Any]) -> dict[str, str]:
    """The headers of an event by name in lower case."""
    return {str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()}


def read_body(event: Mapping[str, Any]) -> bytes:
    """The bytes of an event's body.

    Raises:
        MalformedJson: The event says base64 and the body is not.
    """
    body = event.get("body") or ""
    try:
        if event.get("isBase64Encoded"):
            return base64.b64decode(str(body), validate=True)
        return str(body).encode()
    except (binascii.Error, ValueError) as error:
        raise MalformedJson("The body cannot be decoded.") from error


def _raw_path(event: Mapping[str, Any]) -> str:
    path = str(event.get("rawPath") or "")
    stage = str((event.get("requestContext") or {}).get("stage") or "$default")
    return path.removeprefix(f"/{stage}") if stage != "$default" and path.startswith(f"/{stage}/") else path


def _decode(part: str, *, given: str | None, field: str) -> str:
    """One parameter from its part of the raw path and from the gateway's own decoding, which says what the part is."""
    if part == given:
        return part
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError as error:
        raise ValidationFailed.of(field, "must be percent-encoded UTF-8") from error


def _validate(model: type[M], value: Mapping[str, Any]) -> M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise validation_failed(error) from error
