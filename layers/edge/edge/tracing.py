"""AWS X-Ray: a subsegment for every AWS call, below the segment that Lambda itself makes of an invocation.

Imported only where a deployment has tracing switched on. X-Ray's SDK would bring a second botocore into the layer, in
place of the one that Lambda has; all that is needed of it is this: a JSON document by UDP to the daemon beside the
function. What is sent names the operation and the table, never a key, an item or a body.
"""

import contextlib
import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from typing import Any

HEADER = b'{"format":"json","version":1}\n'
_STARTED = "edge_started_at"


def trace(client: Any, *, send: Callable[[bytes], None] | None = None, clock: Callable[[], float] = time.time) -> None:
    """Report every attempt of a boto3 client from now on, as far as the invocation it belongs to is sampled.

    Args:
        client: The client.
        send: Takes one datagram; by default to the daemon that `AWS_XRAY_DAEMON_ADDRESS` names. A failure is ignored.
        clock: Seconds since the epoch.
    """
    report = send or _to_daemon

    def started(model: Any, context: dict[str, Any], params: dict[str, Any], **_: Any) -> None:
        context[_STARTED] = clock(), {"operation": str(model.name), **_resource(params)}

    def ended(context: dict[str, Any], http_response: Any = None, parsed: Any = None, **_: Any) -> None:
        parent = _sampled(os.environ.get("_X_AMZN_TRACE_ID", ""))
        if parent is None or _STARTED not in context:
            return
        begun_at, call = context.pop(_STARTED)
        status = 0 if http_response is None else int(http_response.status_code)
        code = "" if parsed is None else str(parsed.get("Error", {}).get("Code", ""))
        document = {
            "name": str(client.meta.service_model.service_id),
            "id": secrets.token_hex(8),
            "trace_id": parent[0],
            "parent_id": parent[1],
            "type": "subsegment",
            "namespace": "aws",
            "start_time": begun_at,
            "end_time": clock(),
            "aws": {"region": client.meta.region_name, **call},
            "http": {"response": {"status": status}},
            "error": 400 <= status < 500,
            "throttle": status == 429 or "Throughput" in code or "Throttling" in code or code == "SlowDown",
            "fault": status == 0 or status >= 500,
        }
        with contextlib.suppress(OSError):
            report(HEADER + json.dumps(document).encode())

    events = client.meta.events
    service = client.meta.service_model.service_id.hyphenize()
    events.register(f"before-call.{service}", started)
    events.register(f"after-call.{service}", ended)
    events.register(f"after-call-error.{service}", ended)


def _resource(params: dict[str, Any]) -> dict[str, str]:
    """The table of a DynamoDB request that names one, from its body before it is sent."""
    body = params.get("body")
    if not isinstance(body, bytes):
        return {}
    with contextlib.suppress(ValueError):
        document = json.loads(body)
        if isinstance(document, dict) and isinstance(document.get("TableName"), str):
            return {"table_name": document["TableName"]}
    return {}


def _sampled(header: str) -> tuple[str, str] | None:
    """Trace and parent of a sampled invocation: `Root=1-…;Parent=…;Sampled=1`."""
    parts = dict(part.strip().split("=", 1) for part in header.split(";") if "=" in part)
    if parts.get("Sampled") != "1" or not parts.get("Root") or not parts.get("Parent"):
        return None
    return parts["Root"], parts["Parent"]


def _to_daemon(datagram: bytes) -> None:
    host, _, port = os.environ.get("AWS_XRAY_DAEMON_ADDRESS", "169.254.79.129:2000").rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.sendto(datagram, (host, int(port)))
