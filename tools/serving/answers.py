"""What a function returned to an HTTP answer, as an HTTP API does for payload format version 2.0.

- An object with `statusCode` says everything: `headers`, `cookies` (one `set-cookie` each), `body`, `isBase64Encoded`.
  Without a content type it is `text/plain; charset=utf-8`. `multiValueHeaders` is not of this format and is ignored.
- Any other JSON value is the body of a 200 of type `application/json`; text goes out without quotes.
- What cannot be sent (a status that is none, a body that is no text, broken base64, what JSON cannot hold, more than
  Lambda's 6 MB) is `{"message":"Internal Server Error"}` with 500.
"""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

PAYLOAD_BYTES = 6_291_556  # what Lambda takes and gives in one synchronous call, the JSON around it included
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OWN = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding", "upgrade", "date"})


@dataclass(frozen=True)
class HttpAnswer:
    """An answer ready for the wire, but for length and date; `problem` tells the console why the gateway made it up."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    problem: str = ""


class MalformedError(Exception):
    """The function's result is no answer the gateway could send."""


def gateway_answer(status: int, *, message: str, problem: str = "") -> HttpAnswer:
    """An answer of the gateway itself, such as `{"message":"Not Found"}`."""
    body = json.dumps({"message": message}, separators=(",", ":")).encode()
    return HttpAnswer(status, (("content-type", "application/json"),), body, problem)


def internal_error(problem: str) -> HttpAnswer:
    """The 500 that hides a function's failure from the client; `problem` goes to the console."""
    return gateway_answer(500, message="Internal Server Error", problem=problem)


def http_answer(result: object) -> HttpAnswer:
    """The HTTP answer for what a handler returned."""
    try:
        text = json.dumps(result, ensure_ascii=False, allow_nan=False)
        if len(text.encode()) > PAYLOAD_BYTES:
            return internal_error(f"the answer is larger than the {PAYLOAD_BYTES} bytes Lambda gives back")
        if isinstance(result, dict) and "statusCode" in result:
            return _complete(result)
    except MalformedError as error:
        return internal_error(f"malformed answer: {error}")
    except (TypeError, ValueError, RecursionError) as error:
        return internal_error(f"the answer is not JSON: {error}")
    body = result if isinstance(result, str) else text
    return HttpAnswer(200, (("content-type", "application/json"),), body.encode())


def _complete(result: dict[str, Any]) -> HttpAnswer:
    body = _body(result.get("body"), encoded=result.get("isBase64Encoded", False))
    headers = [h for name, value in _object(result.get("headers"), "headers").items() for h in _header(name, value)]
    cookies = result.get("cookies") or []
    if not isinstance(cookies, list):
        raise MalformedError("cookies is no list")
    headers += [h for cookie in cookies for h in _header("set-cookie", cookie)]
    if body and not any(name == "content-type" for name, _ in headers):
        headers.append(("content-type", "text/plain; charset=utf-8"))
    return HttpAnswer(_status(result["statusCode"]), tuple(headers), body)


def _status(value: object) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if not isinstance(number, int) or isinstance(number, bool) or not 200 <= number <= 599:
        raise MalformedError(f"statusCode {value!r}")
    return number


def _body(value: object, *, encoded: object) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, str):
        raise MalformedError(f"body is {type(value).__name__}, not text")
    if encoded is not True:
        return value.encode()
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise MalformedError(f"body is not base64: {error}") from error


def _object(value: object, name: str) -> dict[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise MalformedError(f"{name} is no object")
    return value or {}


def _header(name: str, value: object) -> list[tuple[str, str]]:
    if isinstance(value, list | dict):
        raise MalformedError(f"header {name} is no text")
    text = "" if value is None else json.dumps(value) if isinstance(value, bool) else str(value)
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(text):
        raise MalformedError(f"header {name!r} cannot be sent")
    return [] if name.lower() in _OWN else [(name.lower(), text)]
