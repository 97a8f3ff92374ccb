"""What a function returned to HTTP answers."""

import base64
import datetime

import pytest

from tools.serving.answers import PAYLOAD_BYTES, HttpAnswer, gateway_answer, http_answer

JSON = (("content-type", "application/json"),)
PLAIN = (("content-type", "text/plain; charset=utf-8"),)


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        # Complete answers.
        (
            {"statusCode": 201, "headers": {"Content-Type": "application/json", "X-A": "1"}, "body": '{"a":"ü"}'},
            HttpAnswer(201, (("content-type", "application/json"), ("x-a", "1")), '{"a":"ü"}'.encode()),
        ),
        ({"statusCode": 204}, HttpAnswer(204, (), b"")),
        ({"statusCode": 204, "headers": None, "body": None, "cookies": None}, HttpAnswer(204, (), b"")),
        ({"statusCode": "202", "body": "a"}, HttpAnswer(202, PLAIN, b"a")),
        ({"statusCode": 200, "body": "a", "multiValueHeaders": {"x": ["1"]}}, HttpAnswer(200, PLAIN, b"a")),
        (
            {"statusCode": 200, "headers": {"x": 1, "y": True, "z": None}},
            HttpAnswer(200, (("x", "1"), ("y", "true"), ("z", "")), b""),
        ),
        (
            {"statusCode": 200, "headers": {"Content-Length": "9", "Connection": "close", "x": "1"}},
            HttpAnswer(200, (("x", "1"),), b""),
        ),
        (
            {"statusCode": 200, "cookies": ["a=1; HttpOnly", "b=2"]},
            HttpAnswer(200, (("set-cookie", "a=1; HttpOnly"), ("set-cookie", "b=2")), b""),
        ),
        (
            {
                "statusCode": 200,
                "headers": {"content-type": "image/png"},
                "body": base64.b64encode(b"\x89PNG\x00").decode(),
                "isBase64Encoded": True,
            },
            HttpAnswer(200, (("content-type", "image/png"),), b"\x89PNG\x00"),
        ),
        ({"statusCode": 200, "body": "YQ==", "isBase64Encoded": False}, HttpAnswer(200, PLAIN, b"YQ==")),
        # Anything else is the body of a 200.
        ({"message": "hi"}, HttpAnswer(200, JSON, b'{"message": "hi"}')),
        ("Hello from Lambda!", HttpAnswer(200, JSON, b"Hello from Lambda!")),
        ([1, "ü"], HttpAnswer(200, JSON, '[1, "ü"]'.encode())),
        (7, HttpAnswer(200, JSON, b"7")),
        (None, HttpAnswer(200, JSON, b"null")),
    ],
)
def test_what_a_function_returns_becomes(result: object, answer: HttpAnswer) -> None:
    assert http_answer(result) == answer


@pytest.mark.parametrize(
    "result",
    [
        {"statusCode": "ok"},
        {"statusCode": 0},
        {"statusCode": 700},
        {"statusCode": 101},
        {"statusCode": True},
        {"statusCode": None},
        {"statusCode": 200.5},
        {"statusCode": 200, "body": {"a": 1}},
        {"statusCode": 200, "body": "no base64!", "isBase64Encoded": True},
        {"statusCode": 200, "headers": ["x"]},
        {"statusCode": 200, "headers": {"x": ["1"]}},
        {"statusCode": 200, "headers": {"x": "a\r\nset-cookie: b"}},
        {"statusCode": 200, "headers": {"x y": "a"}},
        {"statusCode": 200, "headers": {"x": "λ"}},
        {"statusCode": 200, "cookies": "a=1"},
        {"statusCode": 200, "body": b"bytes"},
        {"when": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)},
        {"number": float("nan")},
        {"statusCode": 200, "body": "a" * PAYLOAD_BYTES},
    ],
)
def test_what_cannot_be_sent_is_an_internal_error_and_says_why_on_the_console_only(result: object) -> None:
    answer = http_answer(result)
    assert (answer.status, answer.headers) == (500, JSON)
    assert answer.body == b'{"message":"Internal Server Error"}'
    assert answer.problem


def test_an_answer_as_large_as_lambda_gives_back_is_sent() -> None:
    around = len('{"statusCode": 200, "body": ""}')
    assert http_answer({"statusCode": 200, "body": "a" * (PAYLOAD_BYTES - around)}).status == 200
    assert http_answer({"statusCode": 200, "body": "a" * (PAYLOAD_BYTES - around + 1)}).status == 500


def test_the_gateway_speaks_json_too() -> None:
    assert gateway_answer(404, message="Not Found") == HttpAnswer(404, JSON, b'{"message":"Not Found"}')
