"""Least privilege: what each function uses, on the journeys and in seldom cases, is what its policies grant."""

from collections import defaultdict

import pytest

from tests.functions.seldom import CASES
from tests.functions.seldom_stage import new_stage
from tests.journeys.in_process import product_in_process
from tests.journeys.routes import JOURNEYS
from tests.processes import Process
from tests.template.repository import functions, template
from tests.worlds import ManualClock, World
from tools.calls import watching
from tools.rights import Right, Rights, granted

GRANTED = granted(template())
by_function = pytest.mark.parametrize("function", [function.name for function in functions()])


@pytest.fixture(scope="module")
def used(world: World) -> dict[str, set[Right]]:
    """What each function uses, each in a process of its own, cold at first."""
    world.wipe()
    rights = Rights(world.resources)
    platform_key = f"platform.{world.platform_key}"
    processes: dict[str, Process] = defaultdict(Process)
    product = product_in_process(template(), platform_key=platform_key, process_of=processes.__getitem__)
    with watching(rights):
        for journey in JOURNEYS.values():
            journey(product)
        world.wipe()
        stage = new_stage(platform_key, ManualClock())
        for case in CASES:
            case(stage)
    return rights.used


@by_function
def test_nothing_is_missing_and_nothing_to_spare(used: dict[str, set[Right]], function: str) -> None:
    assert used.get(function, set()) == set().union(*GRANTED[function].values())


@by_function
def test_what_a_function_shares_with_others_is_not_granted_again(function: str) -> None:
    """Shared policies overlap, such as those for messages and for repeated requests; nothing else does."""
    own = GRANTED[function].get("own", set())
    assert [policy for policy, rights in GRANTED[function].items() if policy != "own" and own & rights] == []
