"""The counter of a limited queue: exact while all goes well, never below the truth, and back to it in the end."""

import pytest

from broker.queues.depth import Depth
from edge import Retry, StateTable
from tests.worlds import ManualClock, World
from tools.faults import LOST, failing

QUEUE = "01KB9Z0000000000000000000Q"


@pytest.fixture
def depth(world: World, clock: ManualClock) -> Depth:
    retry = Retry(sleep=lambda _: None)
    return Depth(state=StateTable(world.state_table, client=world.client("dynamodb"), retry=retry), clock=clock)


def nothing() -> int:
    return 0


def runs(depth: Depth, clock: ManualClock, *, stored: int, times: int = 3) -> list[int]:
    """What the schedule puts right, minute by minute."""
    found = []
    for _ in range(times):
        clock.advance(seconds=60)
        found.append(depth.repair(QUEUE, count=lambda: stored))
    return found


def test_room_is_given_as_far_as_there_is_some(depth: Depth) -> None:
    assert [depth.reserve(QUEUE, limit=10, amount=4, count=nothing) for _ in range(4)] == [4, 4, 2, 0]
    depth.release(QUEUE, amount=3)
    assert depth.read(QUEUE) == 7
    assert depth.reserve(QUEUE, limit=5, count=nothing) == 0
    assert depth.reserve(QUEUE, limit=8, count=nothing) == 1


def test_what_is_there_when_counting_begins_counts(depth: Depth) -> None:
    depth.release(QUEUE)
    assert depth.read(QUEUE) is None
    assert depth.reserve(QUEUE, limit=10, amount=9, count=lambda: 7) == 3
    depth.forget(QUEUE)
    assert depth.read(QUEUE) is None


def test_a_lost_answer_counts_once(depth: Depth) -> None:
    depth.reserve(QUEUE, limit=10, amount=5, count=nothing)
    with failing(LOST, times=3):
        assert depth.reserve(QUEUE, limit=10, count=nothing) == 1
    with failing(LOST, times=3):
        depth.release(QUEUE, amount=2)
    assert depth.read(QUEUE) == 4


@pytest.mark.parametrize(("reserved", "stored"), [(7, 5), (5, 5), (5, 7), (3, 0)])
def test_drift_is_put_right_when_it_is_certain(depth: Depth, clock: ManualClock, reserved: int, stored: int) -> None:
    depth.reserve(QUEUE, limit=10, amount=reserved, count=nothing)
    assert depth.repair(QUEUE, count=lambda: stored) == 0
    assert sum(runs(depth, clock, stored=stored)) == stored - reserved
    assert depth.read(QUEUE) == stored
    assert runs(depth, clock, stored=stored) == [0, 0, 0]


def test_what_is_under_way_is_never_taken_for_drift(depth: Depth, clock: ManualClock) -> None:
    """Publishers have reserved and not stored yet, consumers removed and not released yet, in every minute anew."""
    depth.reserve(QUEUE, limit=100, amount=10, count=nothing)
    for _ in range(5):
        depth.reserve(QUEUE, limit=100, amount=3, count=nothing)
        clock.advance(seconds=60)
        assert depth.repair(QUEUE, count=lambda: 10 - 2) == 0
        depth.release(QUEUE, amount=3)
    assert depth.read(QUEUE) == 10


def test_runs_close_together_change_nothing(depth: Depth, clock: ManualClock) -> None:
    depth.reserve(QUEUE, limit=10, amount=4, count=nothing)
    for _ in range(10):
        clock.advance(seconds=5)
        depth.repair(QUEUE, count=lambda: 4)
    assert depth.read(QUEUE) == 4
