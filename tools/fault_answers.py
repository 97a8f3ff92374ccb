"""The answers of AWS that `tools.faults` makes up, whatever protocol a service speaks."""

import io
from collections.abc import Iterator
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from tools.calls import Call, Outcome, Proceed


class _Body(io.BytesIO):
    """The empty body of an answer that no server sent."""

    def stream(self, **_: object) -> Iterator[bytes]:
        yield from ()


def error(call: Call, code: str, *, status: int = 400, **members: Any) -> Outcome:
    """An error answer with this code, HTTP status and further members."""
    parsed = {
        "Error": {"Code": code, "Message": "injected"},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {}, "RequestId": "injected"},
        **members,
    }
    return (AWSResponse(call.request.url, status, HTTPHeaders(), _Body()), parsed), None


def cancelled(call: Call, reason: str) -> Outcome:
    """A cancelled transaction whose first item is the reason."""
    reasons = [{"Code": "None"} for _ in call.document["TransactItems"]]
    reasons[0] = {"Code": reason, "Message": "injected"}
    return error(call, "TransactionCanceledException", CancellationReasons=reasons)


def partly(call: Call, proceed: Proceed, *, done: int) -> Outcome:
    """Carry out the first `done` requests of a batch and hand the others back; with none of them, throttle it all."""
    document = call.document
    doing: dict[str, Any] = {}
    leaving: dict[str, Any] = {}
    left = done
    for table, asked in document["RequestItems"].items():
        requests = asked["Keys"] if call.operation == "BatchGetItem" else asked
        for part, some in ((doing, requests[:left]), (leaving, requests[left:])):
            if some:
                part[table] = {**asked, "Keys": some} if call.operation == "BatchGetItem" else some
        left = max(0, left - len(requests))
    if not doing:
        return throttle(call, proceed)
    answer, failure = proceed(call.rewritten({**document, "RequestItems": doing}))
    if answer is not None and "Error" not in answer[1]:
        answer[1]["UnprocessedKeys" if call.operation == "BatchGetItem" else "UnprocessedItems"] = leaving
    return answer, failure


def drop(outcome: Outcome) -> None:
    """Give the connection of an unwanted answer back."""
    answer, _ = outcome
    if answer is not None and "Body" in answer[1]:
        answer[1]["Body"].close()


def throttle(call: Call, _: Proceed) -> Outcome:
    """The word for too many requests of the service that was called."""
    match call.service:
        case "dynamodb":
            return error(call, "ProvisionedThroughputExceededException")
        case "s3":
            return error(call, "SlowDown", status=503)
    return error(call, "ThrottlingException")
