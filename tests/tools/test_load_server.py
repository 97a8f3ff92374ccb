"""The server of the load test: what it makes of a storage that promises less than DynamoDB."""

import json
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders

from tools.calls import Call, Outcome
from tools.loading.server import Tokens


def call(token: str, operation: str = "TransactWriteItems") -> Call:
    body = json.dumps({"ClientRequestToken": token}).encode()
    request = AWSPreparedRequest("POST", "http://127.0.0.1/", HTTPHeaders(), body, False, {})
    return Call("dynamodb", operation, request, {})


class Engine:
    """Answers, and counts how often it was asked."""

    def __init__(self, **parsed: Any) -> None:
        self.asked = 0
        self.parsed = parsed

    def __call__(self, one: Call) -> Outcome:
        self.asked += 1
        return (AWSResponse(one.request.url, 200, HTTPHeaders(), None), self.parsed), None


def test_a_transaction_whose_answer_was_lost_is_not_carried_out_again() -> None:
    tokens, engine = Tokens(), Engine()
    first = tokens.attempt(call("a"), engine)
    assert tokens.attempt(call("a"), engine) == first
    assert engine.asked == 1
    tokens.attempt(call("b"), engine)
    assert engine.asked == 2


def test_a_transaction_that_was_refused_may_be_tried_again() -> None:
    tokens, engine = Tokens(), Engine(Error={"Code": "TransactionCanceledException"})
    tokens.attempt(call("a"), engine)
    tokens.attempt(call("a"), engine)
    assert engine.asked == 2


def test_other_calls_pass() -> None:
    tokens, engine = Tokens(), Engine()
    tokens.attempt(call("a", "PutItem"), engine)
    tokens.attempt(call("a", "PutItem"), engine)
    assert engine.asked == 2
