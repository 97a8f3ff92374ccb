"""Room that was reserved and comes back: no item is dropped for it."""

import random

import pytest

from broker.errors import DuplicateKey
from broker.queues.kinds import Published
from tests.interleaving import Turns
from tests.items_rig import Machine, item_queue
from tests.worlds import ManualClock, World
from tools.calls import watching


@pytest.mark.parametrize("on_duplicate", ["reject", "replace"])
def test_a_publisher_that_needs_no_room_after_all_costs_no_item_its_place(
    world: World, clock: ManualClock, on_duplicate: str
) -> None:
    turns = Turns(random.Random(0))
    machine = Machine(world, clock, sleep=lambda _: turns.finish())
    queue = item_queue(
        "01KB9Z0000000000000000000R", on_duplicate=on_duplicate, max_queue_depth=2, overflow_policy="drop_oldest_append"
    )
    second: list[object] = []
    with watching(turns):
        late = turns.start("publish", lambda: second.append(machine.put(queue, 1, n=2)))
        while machine.kind.stats(queue)["depth"] != 1:
            turns.step(late)  # it has room now
        assert isinstance(machine.put(queue, 1, n=1), Published)
        assert isinstance(machine.put(queue, 2, n=1), Published)
    assert isinstance(second[0], DuplicateKey if on_duplicate == "reject" else Published)
    assert len(machine.lists.page(queue, after=None, limit=50, prefix="").rows) == 2
