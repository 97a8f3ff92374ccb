"""One request through the gateway: route, event, function, answer. Knows no sockets.

The gateway's own answers are JSON with a `message`. What fails in a function is 500 `Internal Server Error`, a function
still running after 30 seconds is 503 `Service Unavailable`, an event larger than Lambda takes is 413.
"""

import base64
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from tools.serving.answers import PAYLOAD_BYTES, HttpAnswer, gateway_answer, http_answer, internal_error
from tools.serving.events import HttpRequest, make_event, with_stage
from tools.serving.functions import Failed, Outcome, Runtime, TimedOut
from tools.serving.paths import BadPathError, gateway_path
from tools.serving.routes import RouteTable

INTEGRATION_TIMEOUT_SECONDS = 30


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class Served:
    """An answer, the id the gateway gave the request, and the name of the function that was called ('' if none)."""

    answer: HttpAnswer
    request_id: str
    function: str = ""


@dataclass(frozen=True)
class Gateway:
    """An HTTP API with one stage in front of the functions."""

    routes: RouteTable
    runtime: Runtime
    stage: str
    now_ms: Callable[[], int] = _now_ms
    timeout_seconds: float = INTEGRATION_TIMEOUT_SECONDS

    def serve(self, request: HttpRequest) -> Served:
        """Answer one request."""
        request_id = base64.urlsafe_b64encode(secrets.token_bytes(11)).decode()
        now_ms = self.now_ms()
        try:
            path = gateway_path(request.path)
        except BadPathError:
            return Served(gateway_answer(400, message="Bad Request"), request_id)
        root = with_stage("", stage=self.stage)
        match = self.routes.match(request.method, path=path.removeprefix(root)) if path.startswith(root) else None
        if match is None:
            return Served(gateway_answer(404, message="Not Found"), request_id)
        event = make_event(
            request,
            match=match,
            path=path,
            stage=self.stage,
            request_id=request_id,
            trace_id=f"Root=1-{now_ms // 1000:08x}-{secrets.token_hex(12)}",
            now_ms=now_ms,
        )
        name = match.function.name
        # An event is longer than its body: what surely fits is not measured.
        if 2 * len(request.body) > PAYLOAD_BYTES and len(json.dumps(event).encode()) > PAYLOAD_BYTES:
            return Served(gateway_answer(413, message="Request Entity Too Large"), request_id, name)
        outcome = self.runtime.invoke(match.function, event=event, wait_seconds=self.timeout_seconds)
        return Served(self._answer(outcome), request_id, name)

    def _answer(self, outcome: Outcome) -> HttpAnswer:
        if isinstance(outcome, Failed):
            return internal_error(outcome.trace)
        if isinstance(outcome, TimedOut):
            problem = f"no answer within {outcome.seconds:g} s"
            if outcome.seconds < self.timeout_seconds:
                return internal_error(problem)  # the function's own time limit: Lambda reports a failure
            return gateway_answer(503, message="Service Unavailable", problem=problem)
        return http_answer(outcome.value)
