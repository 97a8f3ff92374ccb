"""The built functions behind an imitation of the gateway, each in an interpreter of its own, with its role's rights."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from tests.artifact.lambda_runtime import FunctionError, RunningFunction, running
from tests.artifact.roles import credentials
from tools.ministack import ministack
from tools.serving.events import HttpRequest
from tools.serving.functions import Failed, Outcome, Returned, Runtime
from tools.serving.gateway import Gateway
from tools.serving.routes import RouteTable
from tools.serving.template import Function, Template
from tools.tables import REGION, Resources, create


class BuiltFunctions(Runtime):
    """Starts each function cold when it is first called, and keeps it warm."""

    def __init__(self, template: Template, *, resources: Resources, stack: ExitStack) -> None:
        super().__init__(region=REGION, environments={})
        self.template = template
        self.resources = resources
        self._stack = stack
        self._warm: dict[str, RunningFunction] = {}

    def start(self, function: Function) -> RunningFunction:
        """The warm function."""
        name = function.logical_id
        if name not in self._warm:
            url = self.resources.environment["AWS_ENDPOINT_URL"]
            variables = {
                variable: self.template.resolve(value, names=self.resources.names)
                for variable, value in function.environment.items()
            }
            role = credentials(self.template, resource=name, resources=self.resources, endpoint_url=url)
            environment = {**variables, **role, "AWS_ENDPOINT_URL": url}
            process = running(function, layers=self.template.layers, environment=environment)
            self._warm[name] = self._stack.enter_context(process)
        return self._warm[name]

    def invoke(self, function: Function, *, event: Any, wait_seconds: float) -> Outcome:
        """Call it; `wait_seconds` is at least what the function's own time limit is."""
        assert wait_seconds >= function.timeout_seconds
        try:
            return Returned(self.start(function).invoke(event))
        except FunctionError as error:
            return Failed(str(error))


class Caller:
    """Makes requests under one key, and notes which functions took them."""

    def __init__(self, gateway: Gateway, *, key: str | None, taken: set[str]) -> None:
        self._gateway = gateway
        self._key = key
        self._taken = taken

    def __call__(
        self, method: str, target: str, *, expect: int = 200, body: object = None, idempotency_key: str | None = None
    ) -> Any:
        """The decoded answer to a request, which must have the status that is expected."""
        given = {"authorization": self._key and f"Bearer {self._key}", "idempotency-key": idempotency_key}
        headers = [(name, value) for name, value in given.items() if value]
        path, _, query = target.partition("?")
        request = HttpRequest(
            method=method,
            path=path,
            query=query,
            protocol="HTTP/1.1",
            headers=(("host", "localhost"), ("content-type", "application/json"), *headers),
            body=b"" if body is None else json.dumps(body).encode(),
            source_ip="127.0.0.1",
            port=443,
        )
        served = self._gateway.serve(request)
        assert served.answer.status == expect, f"{method} {target}: {served.answer}"
        self._taken.add(served.function)
        return json.loads(served.answer.body) if served.answer.body else None


@dataclass(frozen=True)
class Built:
    """The built product: its functions, its HTTP API, and the functions that have taken requests so far."""

    functions: BuiltFunctions
    gateway: Gateway
    taken: set[str]

    def caller(self, key: str | None) -> Caller:
        """Whoever has a key."""
        return Caller(self.gateway, key=key, taken=self.taken)

    def platform(self) -> Caller:
        """The platform administrator."""
        return self.caller(f"platform.{self.functions.resources.secret_values['PlatformSecret']}")

    def tenant(self) -> tuple[Caller, str]:
        """The administrator of a new tenant, and the tenant's id."""
        made = self.platform()("POST", "/tenants", body={"name": "acme"}, expect=201)
        return self.caller(made["admin"]["api_key"]), made["tenant_id"]


@contextmanager
def built(template: Template) -> Iterator[Built]:
    """Set up the resources on an emulator that enforces rights, and the functions."""
    with ministack(environment={"AUTH": "true"}) as url, ExitStack() as stack:
        resources = create(template, endpoint_url=url)
        functions = BuiltFunctions(template, resources=resources, stack=stack)
        yield Built(functions, Gateway(RouteTable(template.functions), functions, template.stage), set())
