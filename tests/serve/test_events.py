"""HTTP requests to payload version 2.0 events."""

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tools.serving.events import HttpRequest, is_text, make_event, with_stage
from tools.serving.routes import Match
from tools.serving.template import Function, Route

FUNCTION = Function("PetRead", Path("functions/pet_read"), "app.handler", 3, 128, {}, (), ())
REQUEST = HttpRequest(
    method="POST",
    path="/pets/space%20value",
    query="repeat=one&repeat=two&plus=a+b",
    protocol="HTTP/1.1",
    headers=(
        ("Host", "localhost:3000"),
        ("User-Agent", "curl/8"),
        ("Content-Type", "application/json"),
        ("X-Probe", "first"),
        ("Cookie", "session=abc; theme=dark"),
        ("x-probe", "second"),
        ("Cookie", "third=3"),
        ("Connection", "keep-alive"),
        ("Transfer-Encoding", "chunked"),
    ),
    body='{"unicode":"λ"}'.encode(),
    source_ip="127.0.0.1",
    port=3000,
)


def event_of(request: HttpRequest, *, match: Match | None = None, stage: str = "$default") -> dict[str, Any]:
    return make_event(
        request,
        match=match or Match(FUNCTION, Route("POST", "/pets/{pet}"), {"pet": "space value"}),
        path=with_stage("/pets/space value", stage=stage),
        stage=stage,
        request_id="ATfSmjLgPHcESJw=",
        trace_id="Root=1-0-0",
        now_ms=1_783_711_145_766,
    )


def test_the_whole_event() -> None:
    assert event_of(REQUEST) == {
        "version": "2.0",
        "routeKey": "POST /pets/{pet}",
        "rawPath": "/pets/space value",
        "rawQueryString": "repeat=one&repeat=two&plus=a+b",
        "cookies": ["session=abc", "theme=dark", "third=3"],
        "headers": {
            "host": "localhost:3000",
            "user-agent": "curl/8",
            "content-type": "application/json",
            "content-length": "16",
            "x-probe": "first,second",
            "x-amzn-trace-id": "Root=1-0-0",
            "x-forwarded-for": "127.0.0.1",
            "x-forwarded-port": "3000",
            "x-forwarded-proto": "http",
        },
        "queryStringParameters": {"repeat": "one,two", "plus": "a b"},
        "pathParameters": {"pet": "space value"},
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "local",
            "domainName": "localhost",
            "domainPrefix": "localhost",
            "http": {
                "method": "POST",
                "path": "/pets/space value",
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "curl/8",
            },
            "requestId": "ATfSmjLgPHcESJw=",
            "routeKey": "POST /pets/{pet}",
            "stage": "$default",
            "time": "10/Jul/2026:19:19:05 +0000",
            "timeEpoch": 1_783_711_145_766,
        },
        "body": '{"unicode":"λ"}',
        "isBase64Encoded": False,
    }


def test_members_that_hold_nothing_are_absent() -> None:
    bare = replace(REQUEST, headers=(("Host", "a.example.com"),), body=b"", query="")
    event = event_of(bare, match=Match(FUNCTION, Route("ANY", "$default"), {}))
    assert not {"cookies", "queryStringParameters", "pathParameters", "body"} & event.keys()
    assert (event["rawQueryString"], event["isBase64Encoded"]) == ("", False)
    assert event["headers"]["content-length"] == "0"
    assert event["routeKey"] == event["requestContext"]["routeKey"] == "$default"
    assert event["requestContext"]["http"]["userAgent"] == ""
    assert event["requestContext"]["domainPrefix"] == "a"


def test_a_named_stage_is_part_of_the_path() -> None:
    event = event_of(REQUEST, stage="v1")
    assert event["rawPath"] == event["requestContext"]["http"]["path"] == "/v1/pets/space value"
    assert event["requestContext"]["stage"] == "v1"


def test_forwarding_headers_of_the_client_are_kept() -> None:
    headers = (("X-Forwarded-For", "10.0.0.1"), ("X-Forwarded-Proto", "https"), ("X-Amzn-Trace-Id", "Root=1-2-3"))
    seen = event_of(replace(REQUEST, headers=headers))["headers"]
    assert seen["x-forwarded-for"] == "10.0.0.1, 127.0.0.1"
    assert seen["x-forwarded-proto"] == "http"
    assert seen["x-amzn-trace-id"] == "Root=1-2-3"


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        ("text/plain", True),
        ("TEXT/CSV; charset=utf-8", True),
        ("text/anything", True),
        ("application/json", True),
        ("Application/JSON;charset=UTF-8", True),
        ("application/xml", True),
        ("application/javascript", True),
        ("", False),
        ("application/x-www-form-urlencoded", False),
        ("application/problem+json", False),
        ("application/atom+xml", False),
        ("application/jsonl", False),
        ("application/octet-stream", False),
        ("multipart/form-data; boundary=text/plain", False),
        ("image/png", False),
        ("textual/plain", False),
    ],
)
def test_text_or_base64_is_decided_by_the_content_type(content_type: str, text: bool) -> None:
    assert is_text(content_type) is text
    headers = (("Content-Type", content_type),) if content_type else ()
    event = event_of(replace(REQUEST, headers=headers))
    assert event["isBase64Encoded"] is not text
    assert event["body"] == ('{"unicode":"λ"}' if text else base64.b64encode(REQUEST.body).decode())


def test_text_that_is_no_utf8_loses_its_bytes_as_it_does_on_the_gateway() -> None:
    assert event_of(replace(REQUEST, body=b'"\xff"'))["body"] == '"\ufffd"'
