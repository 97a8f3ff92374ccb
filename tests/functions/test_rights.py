"""Least privilege: what each function uses on the journeys is what its policies grant, and no more."""

from collections import defaultdict

import pytest

from tests.journeys.in_process import product_in_process
from tests.journeys.routes import JOURNEYS
from tests.processes import Process
from tests.template.repository import functions, template
from tests.worlds import World
from tools.calls import watching
from tools.rights import Right, Rights, granted

GRANTED = granted(template())
by_function = pytest.mark.parametrize("function", [function.name for function in functions()])


@pytest.fixture(scope="module")
def used(world: World) -> dict[str, set[Right]]:
    """What each function uses when all journeys are made, each function in a process of its own, cold at first."""
    world.wipe()
    rights = Rights(world.resources)
    processes: dict[str, Process] = defaultdict(Process)
    product = product_in_process(
        template(), platform_key=f"platform.{world.platform_key}", process_of=processes.__getitem__
    )
    with watching(rights):
        for journey in JOURNEYS.values():
            journey(product)
    return rights.used


@by_function
def test_nothing_is_missing(used: dict[str, set[Right]], function: str) -> None:
    allowed: set[Right] = set().union(*GRANTED[function].values())
    assert used.get(function, set()) - allowed == set()
