"""The product in this process, on moto."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.journeys.callers import GatewayTransport, Product
from tests.processes import Process
from tools.serving.functions import Failed, Outcome, Returned, Runtime
from tools.serving.gateway import Gateway
from tools.serving.routes import RouteTable
from tools.serving.template import Function, Template


@dataclass
class ProcessRuntime(Runtime):
    """Calls the functions as function tests do."""

    region: str = "us-east-1"
    environments: dict[str, dict[str, str]] = field(default_factory=dict)
    process_of: Callable[[str], Process] = lambda _: Process()

    def invoke(self, function: Function, *, event: Any, wait_seconds: float) -> Outcome:  # noqa: ARG002
        """Call one."""
        try:
            return Returned(self.process_of(function.name).handler(function.name)(event, self._context(function)))
        except Exception as error:  # noqa: BLE001  # the gateway's answer shows it
            return Failed(repr(error))


def product_in_process(template: Template, *, platform_key: str, process_of: Callable[[str], Process]) -> Product:
    """The product behind the local imitation of the gateway; `process_of` tells where a function runs."""
    gateway = Gateway(RouteTable(template.functions), ProcessRuntime(process_of=process_of), template.stage)
    return Product(GatewayTransport(gateway), platform_key, lambda name: int(process_of(name).run(name)["done"]))
