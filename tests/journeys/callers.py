"""Who goes on a journey: callers with a key, whatever stands between them and the functions."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import requests

from tools.serving.events import HttpRequest
from tools.serving.gateway import Gateway


@dataclass(frozen=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """A way to make a request."""

    def __call__(self, method: str, target: str, *, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer; the target is a path and its query."""


@dataclass(frozen=True)
class Caller:
    """Makes requests under one key."""

    transport: Transport
    key: str | None

    def ask(self, method: str, target: str, *, body: bytes = b"", **headers: str) -> Answer:
        """The answer to a request, whatever it is; `_` in names of headers stands for `-`."""
        sent = {
            "content-type": "application/json" if body else None,
            "authorization": self.key and f"Bearer {self.key}",
        }
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        present = {name: value for name, value in sent.items() if value}
        return self.transport(method, target, headers=present, body=body)

    def __call__(self, method: str, target: str, *, expect: int = 200, body: object = None, **headers: str) -> Any:
        """The decoded answer to a request, which must have the status that is expected."""
        answer = self.ask(method, target, body=b"" if body is None else json.dumps(body).encode(), **headers)
        assert answer.status == expect, f"{method} {target}: {answer}"
        assert answer.headers["x-request-id"]
        kind = answer.headers.get("content-type", "")
        assert kind.startswith("application/problem+json" if expect >= 400 else "application/json") or not answer.body
        return json.loads(answer.body) if answer.body else None


@dataclass(frozen=True)
class Product:
    """The product as journeys see it.

    Attributes:
        transport: How requests reach it.
        platform_key: The platform administrator's key.
        schedule: Runs a scheduled function, by the name of its folder; returns how much it did.
    """

    transport: Transport
    platform_key: str
    schedule: Callable[[str], int]

    def caller(self, key: str | None) -> Caller:
        """Whoever has a key."""
        return Caller(self.transport, key)

    def platform(self) -> Caller:
        """The platform administrator."""
        return self.caller(self.platform_key)

    def tenant(self, name: str = "acme") -> tuple[Caller, str]:
        """The administrator of a new tenant, and the tenant's id."""
        made = self.platform()("POST", "/tenants", body={"name": name}, expect=201)
        return self.caller(made["admin"]["api_key"]), made["tenant_id"]

    def client(self, admin: Caller, *, queues: str = "*", actions: str = "publish consume") -> Caller:
        """A new client of a tenant."""
        permissions = [{"queues": queues, "actions": actions.split()}]
        made = admin("POST", "/clients", body={"name": "client", "permissions": permissions}, expect=201)
        return self.caller(made["api_key"])


@dataclass
class GatewayTransport:
    """Straight through the local imitation of the gateway; notes which functions took requests."""

    gateway: Gateway
    taken: set[str] = field(default_factory=set)

    def __call__(self, method: str, target: str, *, headers: Mapping[str, str], body: bytes) -> Answer:
        """Make the request."""
        path, _, query = target.partition("?")
        request = HttpRequest(
            method=method,
            path=path,
            query=query,
            protocol="HTTP/1.1",
            headers=(("host", "localhost"), *headers.items()),
            body=body,
            source_ip="127.0.0.1",
            port=443,
        )
        served = self.gateway.serve(request)
        self.taken.add(served.function)
        return Answer(served.answer.status, dict(served.answer.headers), served.answer.body)


@dataclass(frozen=True)
class HttpTransport:
    """Over HTTP."""

    url: str
    session: requests.Session = field(default_factory=requests.Session)

    def __call__(self, method: str, target: str, *, headers: Mapping[str, str], body: bytes) -> Answer:
        """Make the request."""
        given = self.session.request(method, self.url + target, data=body, headers=headers, timeout=60)
        return Answer(given.status_code, {name.lower(): value for name, value in given.headers.items()}, given.content)
