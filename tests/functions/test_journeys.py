"""The journeys that are made on the deployed stack too, here in one process; together they take every function."""

import pytest

from tests.journeys.callers import GatewayTransport
from tests.journeys.in_process import product_in_process
from tests.journeys.routes import JOURNEYS
from tests.processes import Process
from tests.template.repository import functions, template


@pytest.mark.parametrize("journey", JOURNEYS)
def test_a_journey(process: Process, platform_key: str, journey: str) -> None:
    JOURNEYS[journey](product_in_process(template(), platform_key=platform_key, process_of=lambda _: process))


def test_the_journeys_take_every_function(process: Process, platform_key: str) -> None:
    taken: set[str] = set()
    for journey in JOURNEYS.values():
        product = product_in_process(template(), platform_key=platform_key, process_of=lambda _: process)
        journey(product)
        assert isinstance(product.transport, GatewayTransport)
        taken |= product.transport.taken
    assert {function.name for function in functions() if function.routes} - taken == set()
