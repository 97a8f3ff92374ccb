"""The functions as Lambda runs them: handlers in a process that stays warm, called with API Gateway's events.

    process = Process()
    reply = process.call("log_poll", key=tenant.key, path={"queue": "orders"}, query={"limit": 10})
    assert (reply.status, reply.json["messages"]) == (200, [])

Every call starts from `events/<function>.json` and changes of it what the test names. What the contract says of every
answer is checked on every answer. Several processes can stand side by side: each has services, caches, ids and a clock
of its own, as separate Lambda instances have.
"""

import base64
import copy
import functools
import importlib
import importlib.util
import json
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch
from urllib.parse import quote, urlencode

import broker.wiring
from broker import jsontext
from edge import Retry
from tests import described
from tests.worlds import ManualClock
from tools.rights import acting

ROOT = Path(__file__).parents[1]
SECRETS = re.compile(r"Traceback|test-(Edges|State|Documents)|test-documents|dynamodb|boto", re.IGNORECASE)
"""What no answer may show: a stack trace, the name of a table or of the bucket, what it all stands on."""

_UNCHANGED: Any = object()
_wiring = [broker.wiring] + [
    importlib.import_module(f"broker.wiring.{module.name}") for module in pkgutil.iter_modules(broker.wiring.__path__)
]
_active: "Process | None" = None


@functools.cache
def _sample(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text(encoding="utf-8"))
    return event


def sample_event(name: str) -> dict[str, Any]:
    """The sample event of a function, to be changed at will."""
    return copy.deepcopy(_sample(name))


@dataclass
class Context:
    """Lambda's context, as far as handlers read it."""

    seconds: float = 30.0
    aws_request_id: str = "8f5c1c0e-0000-4000-8000-000000000000"
    function_name: str = "function"

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


@dataclass(frozen=True)
class Reply:
    """An answer, taken apart."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body; numbers that are not whole as `Number`."""
        return jsontext.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem."""
        return str(self.json["code"])

    @property
    def problem(self) -> tuple[int, str]:
        """Status and code of a problem."""
        return self.status, self.code

    @property
    def fields(self) -> list[str]:
        """The members that a validation error names."""
        return [error["field"] for error in self.json["errors"]]


@dataclass(frozen=True)
class Tenant:
    """A tenant and its admin's key."""

    tenant_id: str
    admin_id: str
    key: str


@dataclass
class Process:
    """One warm process.

    Attributes:
        clock: Its clock in epoch milliseconds; None for the machine's.
        environment: Variables that differ from those of the world.
        pauses: How long each retry would have waited; nothing waits.
        waits: How long all else would have waited; a clock of the test's is moved by it.
        seconds: The time that each call has.
    """

    clock: Callable[[], int] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    pauses: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    seconds: float = 30.0
    _apps: dict[str, ModuleType] = field(default_factory=dict)
    _services: list[tuple[ModuleType, str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for module in _wiring:
            for name, made in vars(module).items():
                if hasattr(made, "cache_clear"):
                    self._services.append((module, name, functools.cache(made.__wrapped__)))
        retry = Retry(sleep=self.pauses.append)
        self._services.append((broker.wiring, "retry", lambda: retry))
        self._services.append((broker.wiring, "clock", self.clock or _machine_clock))
        self._services.append((broker.wiring, "sleep", self._wait))

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        if isinstance(self.clock, ManualClock):
            self.clock.advance(seconds=seconds)

    def activate(self) -> None:
        """Let the wiring be this process's own."""
        global _active
        if _active is not self:
            for module, name, service in self._services:
                setattr(module, name, service)
            _active = self

    def handler(self, name: str) -> Callable[[Any, Any], dict[str, Any]]:
        """A function's handler, imported when it is first asked for."""
        self.activate()
        if name not in self._apps:
            spec = importlib.util.spec_from_file_location(f"functions.{name}.app", ROOT / "functions" / name / "app.py")
            assert spec is not None
            assert spec.loader is not None
            app = importlib.util.module_from_spec(spec)
            with patch.dict("os.environ", self.environment):
                spec.loader.exec_module(app)
                broker.wiring.settings()
            self._apps[name] = app
        handler: Callable[[Any, Any], dict[str, Any]] = self._apps[name].handler

        def called(event: Any, context: Any) -> dict[str, Any]:
            with acting(name):
                return handler(event, context)

        return called

    def run(self, name: str) -> dict[str, Any]:
        """Run a scheduled function."""
        return self.handler(name)(sample_event(name), Context(self.seconds))

    def call(
        self,
        name: str,
        *,
        key: str | None = None,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, object] | str = "",
        body: Any = _UNCHANGED,
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> Reply:
        """Call a function behind a route.

        Args:
            name: The function.
            key: The API key; None sends none.
            path: Parameters of the path that differ from the sample's.
            query: The query, by name or as it is on the wire.
            body: A value for JSON, or text or bytes to be sent as they are; the sample's if not given.
            headers: Further headers.
            members: Members of the event that replace all that was made of the other arguments.
        """
        event = request_event(name, key=key, path=path, query=query, body=body, headers=headers)
        return self.send(name, {**event, **members})

    def send(self, name: str, event: Mapping[str, Any]) -> Reply:
        """Call a function with an event; whatever it answers is described in docs/openapi.yaml."""
        reply = read_reply(self.handler(name)(event, Context(self.seconds)))
        if name in described.OPERATIONS:
            found = list(described.faults(name, status=reply.status, headers=reply.headers, body=reply.body))
            assert found == [], f"{name}, {reply.status}"
        return reply

    def tenant(self, name: str = "acme", *, platform_key: str) -> Tenant:
        """Make a tenant, as the platform admin with this key."""
        made = self.call("tenant_create", key=platform_key, body={"name": name})
        assert made.status == 201, made
        admin = made.json["admin"]
        return Tenant(made.json["tenant_id"], admin["client_id"], admin["api_key"])

    def client_key(self, tenant: Tenant, *permissions: tuple[str, str]) -> str:
        """Make a client of pairs of glob and actions, such as `("shop/*", "publish consume")`; returns its key."""
        granted = [{"queues": glob, "actions": actions.split()} for glob, actions in permissions]
        made = self.call("client_create", key=tenant.key, body={"name": "client", "permissions": granted})
        assert made.status == 201, made
        return str(made.json["api_key"])


def request_event(
    name: str,
    *,
    key: str | None = None,
    path: Mapping[str, str] | None = None,
    query: Mapping[str, object] | str = "",
    body: Any = _UNCHANGED,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The event of a request; see `Process.call`."""
    event = sample_event(name)
    parameters = {**event.get("pathParameters", {}), **(path or {})}
    if parameters:
        parts = event["routeKey"].partition(" ")[2].split("/")
        named = [quote(parameters[part[1:-1]], safe="") if part.startswith("{") else part for part in parts]
        event["rawPath"] = event["requestContext"]["http"]["path"] = "/".join(named)
        event["pathParameters"] = parameters
    event.pop("queryStringParameters", None)
    event["rawQueryString"] = query if isinstance(query, str) else urlencode(query)
    event["headers"].pop("authorization", None)
    event["headers"] |= {name.lower(): value for name, value in (headers or {}).items()}
    if key is not None:
        event["headers"]["authorization"] = f"Bearer {key}"
    if isinstance(body, bytes):
        event |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    elif body is not _UNCHANGED:
        event["body"] = body if isinstance(body, str) else json.dumps(body)
    if body is not _UNCHANGED and "content-length" not in (headers or {}):
        length = len(body) if isinstance(body, bytes) else len(event["body"].encode("utf-8", "surrogatepass"))
        event["headers"]["content-length"] = str(length)
    return event


def read_reply(answer: Mapping[str, Any]) -> Reply:
    """Take an answer apart, and check what holds of every one."""
    body = answer.get("body") or ""
    raw = base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
    reply = Reply(answer["statusCode"], answer["headers"], raw)
    assert reply.headers["x-request-id"], "every response carries X-Request-Id"
    assert all(name == name.lower() for name in reply.headers)
    if reply.status >= 400:
        _check_problem(reply)
    elif raw:
        assert reply.headers["content-type"]
    return reply


def _check_problem(reply: Reply) -> None:
    assert reply.headers["content-type"] == "application/problem+json"
    document = reply.json
    assert document["type"] == "about:blank"
    assert document["status"] == reply.status
    assert all(isinstance(document[name], str) and document[name] for name in ("title", "code", "detail"))
    assert not SECRETS.search(reply.body.decode()), reply.body
    assert ("retry-after" in reply.headers) == (reply.status in (429, 503))
    assert ("www-authenticate" in reply.headers) == (reply.status == 401)
    if document["code"] == "validation_failed":
        assert all(set(error) == {"field", "message"} for error in document["errors"])
        assert document["errors"]


_machine_clock = broker.wiring.clock
