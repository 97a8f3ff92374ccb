"""An HTTP request to the event an HTTP API gives its function, payload format version 2.0.

The shape is the one of "Create AWS Lambda proxy integrations for HTTP APIs in API Gateway". Members that have nothing
to hold (`cookies`, `queryStringParameters`, `pathParameters`, `body`) are absent, as the gateway leaves them out.

Which bodies are base64 the manual leaves open ("if the content type is binary"). Measured on the real gateway
(github.com/ministackorg/ministack, pull request 766): text is only `text/*`, `application/json`,
`application/javascript` and `application/xml`. Everything else is base64, among it a missing content type,
`application/x-www-form-urlencoded`, and so every `+json` and `+xml`.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tools.serving.paths import query_parameters
from tools.serving.routes import Match
from tools.serving.template import DEFAULT_ROUTE

ACCOUNT_ID = "123456789012"
API_ID = "local"
TEXT_TYPES = frozenset({"application/json", "application/javascript", "application/xml"})
# Of one connection only, consumed by the gateway; it measures the body itself.
_CONNECTION_HEADERS = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect"}
)


@dataclass(frozen=True)
class HttpRequest:
    """A request off the wire: headers in order as sent (latin-1), the body without its transfer coding."""

    method: str
    path: str  # as sent
    query: str  # as sent, without the question mark
    protocol: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    source_ip: str
    port: int  # of the server


def is_text(content_type: str) -> bool:
    """Whether a body of this content type (parameters ignored, any case) reaches the function as text."""
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type.startswith("text/") or media_type in TEXT_TYPES


def folded_headers(request: HttpRequest, *, trace_id: str) -> dict[str, str]:
    """The headers by lower-cased name, repeated ones joined with commas, with what the gateway adds; no cookies."""
    folded: dict[str, str] = {}
    for name, value in request.headers:
        key = name.lower()
        if key == "cookie" or key in _CONNECTION_HEADERS:
            continue
        folded[key] = f"{folded[key]},{value}" if key in folded else value
    client = f"{folded['x-forwarded-for']}, " if "x-forwarded-for" in folded else ""
    return folded | {
        "content-length": str(len(request.body)),
        "x-amzn-trace-id": folded.get("x-amzn-trace-id", trace_id),
        "x-forwarded-for": client + request.source_ip,
        "x-forwarded-port": str(request.port),
        "x-forwarded-proto": "http",
    }


def make_event(
    request: HttpRequest,
    *,
    match: Match,
    path: str,
    stage: str,
    request_id: str,
    trace_id: str,
    now_ms: int,
) -> dict[str, Any]:
    """The event for a function.

    Args:
        request: What came in.
        match: The route it takes.
        path: The decoded path, with the stage if it is a named one.
        stage: The stage's name.
        request_id: The gateway's id of this request.
        trace_id: The X-Ray trace header, used if the client sent none.
        now_ms: When it arrived, epoch milliseconds.
    """
    headers = folded_headers(request, trace_id=trace_id)
    host = headers.get("host", "").rsplit(":", 1)[0]
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": match.route.key,
        "rawPath": path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": {
            "accountId": ACCOUNT_ID,
            "apiId": API_ID,
            "domainName": host,
            "domainPrefix": host.partition(".")[0],
            "http": {
                "method": request.method,
                "path": path,
                "protocol": request.protocol,
                "sourceIp": request.source_ip,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": request_id,
            "routeKey": match.route.key,
            "stage": stage,
            "time": datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": now_ms,
        },
        "isBase64Encoded": False,
    }
    cookies = [
        part.strip()
        for name, value in request.headers
        if name.lower() == "cookie"
        for part in value.split(";")
        if part.strip()
    ]
    optional: Mapping[str, object] = {
        "cookies": cookies,
        "queryStringParameters": query_parameters(request.query),
        "pathParameters": dict(match.path_parameters),
    }
    event.update({name: value for name, value in optional.items() if value})
    if request.body:
        text = is_text(headers.get("content-type", ""))
        event["body"] = request.body.decode("utf-8", "replace") if text else base64.b64encode(request.body).decode()
        event["isBase64Encoded"] = not text
    return event


def with_stage(path: str, *, stage: str) -> str:
    """The path as `rawPath` shows it: a named stage is its first segment, `$default` is not."""
    return path if stage == DEFAULT_ROUTE else f"/{stage}{path}"
