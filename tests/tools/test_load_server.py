"""What the server of the load test notes of the calls that it lets fail."""

import json
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders

from tools.calls import Call
from tools.loading.server import written


def call(operation: str, document: dict[str, Any]) -> Call:
    request = AWSPreparedRequest(
        "POST", "http://127.0.0.1/b/k?x=1", HTTPHeaders(), json.dumps(document).encode(), False, {}
    )
    return Call("dynamodb" if document else "s3", operation, request, {})


ROW = {"pk": {"S": "key#Q#01"}, "sk": {"S": "key"}}
EDGE = {"source": {"S": "log#Q#0"}, "seq": {"S": "007#01"}}


def test_what_is_put_is_told_from_what_is_removed() -> None:
    put, delete = {"PutRequest": {"Item": {**EDGE, "body": {"B": ""}}}}, {"DeleteRequest": {"Key": EDGE}}
    assert written(call("BatchWriteItem", {"RequestItems": {"t": [put]}})) == {"put": ["log#Q#0#007#01"], "touched": []}
    assert written(call("BatchWriteItem", {"RequestItems": {"t": [delete]}})) == {
        "put": [],
        "touched": ["log#Q#0#007#01"],
    }


def test_all_of_a_transaction_is_noted() -> None:
    items = [{"Put": {"Item": ROW}}, {"Update": {"Key": EDGE, "UpdateExpression": "SET a = :a"}}]
    assert written(call("TransactWriteItems", {"TransactItems": items})) == {
        "put": ["key#Q#01#key"],
        "touched": ["log#Q#0#007#01"],
    }


def test_an_object_is_noted_by_its_address() -> None:
    assert written(call("PutObject", {})) == {"put": [], "touched": ["http://127.0.0.1/b/k"]}
