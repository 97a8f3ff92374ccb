"""Answers, and their form on the way to API Gateway."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from broker import jsontext
from broker.listing import Listing

PLAIN_MOST = 1024 * 1024
"""Bytes of a body that go as text. Lambda escapes text, which may double it; above this, base64 adds just a third."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a body and headers.

    Attributes:
        status: The HTTP status.
        body: The bytes of the body; None for none.
        headers: Names in lower case.
        binary: The body is bytes of any kind, and goes as base64 so that they arrive as they are.
    """

    status: int
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    binary: bool = False

    def event(self, *, request_id: str) -> dict[str, Any]:
        """As a Lambda function answers API Gateway, payload version 2.0."""
        headers = {**self.headers, "x-request-id": request_id}
        if self.body is None:
            return {"statusCode": self.status, "headers": headers}
        if len(self.body) <= PLAIN_MOST and not self.binary:
            return {"statusCode": self.status, "headers": headers, "body": self.body.decode(), "isBase64Encoded": False}
        encoded = base64.b64encode(self.body).decode("ascii")
        return {"statusCode": self.status, "headers": headers, "body": encoded, "isBase64Encoded": True}


def json_answer(status: int, value: Any, *, content_type: str = "application/json") -> Answer:
    """An answer of JSON."""
    return Answer(status, jsontext.dumps(value), {"content-type": content_type})


def ok(value: Any) -> Answer:
    """200 with JSON."""
    return json_answer(200, value)


def created(value: Any) -> Answer:
    """201 with JSON."""
    return json_answer(201, value)


def accepted() -> Answer:
    """202: begun, and finished in the background."""
    return Answer(202)


def no_content() -> Answer:
    """204."""
    return Answer(204)


def listing(name: str, page: Listing[Any]) -> Answer:
    """200 with a page of a list; no `next_token` on the last one."""
    token = {} if page.next_token is None else {"next_token": page.next_token}
    return ok({name: page.items, **token})
