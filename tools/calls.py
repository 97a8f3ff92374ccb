"""Every attempt that any boto3 client of this process makes to reach AWS, seen and changed at one place.

botocore's own events do not suffice. It asks *every* before-send handler and takes the first answer, so a handler that
refuses a call cannot keep moto, which is another such handler, from executing it. This module stands one step further
out, around the method that makes one attempt: what a watcher does not let through has not happened, whatever the
engine. An attempt that the SDK makes again by itself is seen again.

    with watching(MyWatcher()):
        ...

Watchers see the calls of all clients and of all threads, whenever those were made, as long as the block is open.
"""

import base64
import contextlib
import copy
import dataclasses
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.endpoint import Endpoint

Answer = tuple[AWSResponse, dict[str, Any]]
"""The HTTP response and what botocore parsed out of it. An error answer is an answer: `parsed["Error"]` tells."""

Outcome = tuple[Answer | None, Exception | None]
"""What an attempt came to: an answer, or the exception that stood in its way (a timeout, a refused connection)."""


@dataclasses.dataclass(frozen=True)
class Call:
    """One attempt at one operation.

    Attributes:
        service: The client's service name, such as `dynamodb`.
        operation: The operation as AWS spells it, such as `BatchWriteItem`.
        request: The signed HTTP request.
        context: botocore's notes on the call.
    """

    service: str
    operation: str
    request: AWSPreparedRequest
    context: dict[str, Any]

    @property
    def name(self) -> str:
        """`service.operation`."""
        return f"{self.service}.{self.operation}"

    @property
    def document(self) -> dict[str, Any]:
        """The JSON body of the request, DynamoDB's binary values as bytes; empty for S3, which speaks no JSON."""
        body = self.request.body
        if self.service == "s3" or not isinstance(body, str | bytes | bytearray) or not body:
            return {}
        parsed: dict[str, Any] = json.loads(body, object_hook=with_bytes)
        return parsed

    def rewritten(self, document: dict[str, Any]) -> "Call":
        """The same call with another body. Its signature no longer fits, which no local engine minds."""
        old, body = self.request, json.dumps(document, default=as_base64).encode()
        headers = copy.copy(old.headers)
        headers["Content-Length"] = str(len(body))
        request = AWSPreparedRequest(old.method, old.url, headers, body, old.stream_output, {})
        return dataclasses.replace(self, request=request)


def as_base64(binary: bytes) -> str:
    """How JSON carries a binary value."""
    return base64.b64encode(binary).decode()


def with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    """A decoded JSON object of DynamoDB's, as `object_hook`: binary values and sets of them as bytes."""
    match value:
        case {"B": str(text)} if len(value) == 1:
            return {"B": base64.b64decode(text)}
        case {"BS": list(texts)} if len(value) == 1:
            return {"BS": [base64.b64decode(text) for text in texts]}
    return value


Proceed = Callable[[Call], Outcome]


class Watcher:
    """What wants to see calls. Both methods run in the thread that makes the call."""

    def prepare(self, service: str, operation: str, request: dict[str, Any]) -> None:
        """Change a request that is not signed yet; `request["body"]` is its serialised body."""

    def attempt(self, call: Call, proceed: Proceed) -> Outcome:
        """Make the call by `proceed(call)`, or answer something else instead."""
        return proceed(call)


_lock = threading.Lock()
_watchers: tuple[Watcher, ...] = ()
_patches = contextlib.ExitStack()


@contextlib.contextmanager
def watching(watcher: Watcher, *, outermost: bool = False) -> Iterator[None]:
    """Show every call to `watcher` while the block is open.

    Args:
        watcher: What looks at the calls.
        outermost: Stand before the watchers already there, and so see what they do, rather than behind them.
    """
    _enter(watcher, outermost=outermost)
    try:
        yield
    finally:
        _leave(watcher)


def _enter(watcher: Watcher, *, outermost: bool) -> None:
    global _watchers
    with _lock:
        if not _watchers:
            _patches.enter_context(patch.object(Endpoint, "create_request", _create_request(Endpoint.create_request)))
            _patches.enter_context(patch.object(Endpoint, "_do_get_response", _attempt(Endpoint._do_get_response)))  # type: ignore[attr-defined] # private
        _watchers = (watcher, *_watchers) if outermost else (*_watchers, watcher)


def _leave(watcher: Watcher) -> None:
    global _watchers
    with _lock:
        _watchers = tuple(one for one in _watchers if one is not watcher)
        if not _watchers:
            _patches.close()


def _create_request(original: Any) -> Any:
    def create_request(self: Any, params: dict[str, Any], operation_model: Any = None) -> Any:
        if operation_model is not None:
            for watcher in _watchers:
                watcher.prepare(operation_model.service_model.service_name, operation_model.name, params)
        return original(self, params, operation_model)

    return create_request


def _attempt(original: Any) -> Any:
    def attempt(self: Any, request: AWSPreparedRequest, operation_model: Any, context: dict[str, Any]) -> Outcome:
        def last(call: Call) -> Outcome:
            outcome: Outcome = original(self, call.request, operation_model, call.context)
            return outcome

        proceed: Proceed = last
        for watcher in reversed(_watchers):
            proceed = _through(watcher, proceed)
        return proceed(Call(operation_model.service_model.service_name, operation_model.name, request, context))

    return attempt


def _through(watcher: Watcher, proceed: Proceed) -> Proceed:
    return lambda call: watcher.attempt(call, proceed)
