"""What benches share: the functions on a local engine, a transport that answers at once, small honest statistics."""

import contextlib
import importlib
import io
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders


@dataclass(frozen=True)
class Context:
    """As much of a Lambda context as the functions read."""

    aws_request_id: str = "bench"
    function_name: str = "bench"

    def get_remaining_time_in_millis(self) -> int:
        """Time enough."""
        return 29_000


class Api:
    """Calls the functions as the gateway would, without HTTP."""

    def __init__(self, key: str) -> None:
        self._key = key

    def call(
        self, function: str, route: str, *, body: Any = None, query: str = "", **path: str
    ) -> Callable[[], dict[str, Any]]:
        """A call, ready to be made any number of times; it raises if the answer is not 2xx.

        Args:
            function: The folder under functions/.
            route: Method and path template.
            body: What is sent as JSON; None for no body.
            query: The raw query string.
            path: The path parameters.
        """
        handler = importlib.import_module(f"functions.{function}.app").handler
        event = {
            "rawPath": route.partition(" ")[2].format(**path),
            "rawQueryString": query,
            "headers": {"authorization": f"Bearer {self._key}"},
            "requestContext": {"requestId": "bench", "stage": "$default"},
            "body": None if body is None else json.dumps(body),
            "isBase64Encoded": False,
        }

        def made() -> dict[str, Any]:
            answer: dict[str, Any] = handler(event, Context())
            if answer["statusCode"] >= 300:
                raise RuntimeError(f"{function}: {answer['statusCode']} {answer.get('body')}")
            return answer

        return made


def answer_of(response: Mapping[str, Any]) -> Any:
    """The JSON body of a function's answer."""
    return json.loads(response["body"])


def new_tenant(platform_secret: str) -> str:
    """The admin key of a tenant made for this run."""
    made = Api(f"platform.{platform_secret}").call("tenant_create", "POST /tenants", body={"name": "bench"})()
    return str(answer_of(made)["admin"]["api_key"])


@contextlib.contextmanager
def canned(client: Any, answers: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Let a client's operations be answered at once, by operation name: what is left is our own and boto3's work."""

    def respond(request: Any, **_: Any) -> AWSResponse:
        body = json.dumps(answers[request.headers["X-Amz-Target"].decode().rpartition(".")[2]]).encode()
        return AWSResponse(
            request.url, 200, HTTPHeaders.from_dict({"content-type": "application/x-amz-json-1.0"}), _Raw(body)
        )

    client.meta.events.register_first("before-send.dynamodb.*", respond, unique_id="canned")
    try:
        yield
    finally:
        client.meta.events.unregister("before-send.dynamodb.*", respond, unique_id="canned")


class _Raw(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


def milliseconds(work: Callable[[], Any], *, times: int, clock: Callable[[], float] = time.process_time) -> float:
    """The median over five rounds of the mean time of `work`, in milliseconds; of CPU unless the clock is another."""
    rounds: list[float] = []
    for _ in range(5):
        started = clock()
        for _ in range(max(1, times // 5)):
            work()
        rounds.append((clock() - started) * 1000 / max(1, times // 5))
    return statistics.median(rounds)


def in_turns(works: Mapping[str, Callable[[], Any]], *, times: int) -> dict[str, float]:
    """The medians in milliseconds of several works, timed in turns, so that a slow moment of the machine hits all."""
    rounds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(5):
        for name, work in works.items():
            rounds[name].append(milliseconds(work, times=max(5, times // 5)))
    return {name: statistics.median(values) for name, values in rounds.items()}


def table(rows: Sequence[Sequence[object]], *, head: Sequence[str]) -> None:
    """Print rows under a head, as Markdown."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row) + " |")
