"""The built functions behind an imitation of the gateway, each in an interpreter of its own, with its role's rights."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from tests.artifact.lambda_runtime import FunctionError, RunningFunction, running
from tests.artifact.roles import credentials
from tests.journeys.callers import GatewayTransport, Product
from tests.template.repository import ROOT, resource_name
from tools.ministack import ministack
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


@dataclass(frozen=True)
class Built:
    """The built functions, and the product they make."""

    functions: BuiltFunctions
    product: Product

    def run(self, name: str) -> int:
        """Run a scheduled function."""
        function = next(one for one in self.functions.template.functions if one.logical_id == resource_name(name))
        event = json.loads((ROOT / "events" / f"{name}.json").read_text(encoding="utf-8"))
        return int(self.functions.start(function).invoke(event)["done"])


@contextmanager
def built_product(template: Template) -> Iterator[Built]:
    """Set up the resources on an emulator that enforces rights, and the functions."""
    with ministack(environment={"AUTH": "true"}) as url, ExitStack() as stack:
        resources = create(template, endpoint_url=url)
        functions = BuiltFunctions(template, resources=resources, stack=stack)
        transport = GatewayTransport(Gateway(RouteTable(template.functions), functions, template.stage))
        platform_key = f"platform.{resources.secret_values['PlatformSecret']}"
        built = Built(functions, Product(transport, platform_key, lambda name: built.run(name)))
        yield built
