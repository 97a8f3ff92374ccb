"""Following changes: whatever clocks do, whatever is deleted, expires or comes late, readers end up with the state."""

import functools
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edge.clients import make_client
from tests.items_rig import Follower, Machine, item_queue
from tests.worlds import START, ManualClock, World

SKEWS = [-4_000, 0, 3_999]
SLOW, RIGHT, FAST = range(len(SKEWS))
DELAY_MOST = 12_000
_client = functools.cache(make_client)

machines = st.sampled_from([SLOW, RIGHT, FAST])
keys = st.sampled_from(["a", "b", 1, "1"])
delays = st.sampled_from([0, 0, 1, DELAY_MOST])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), machines, keys, delays),
        st.tuples(st.just("delete"), machines, keys, delays),
        st.tuples(st.just("late"), keys, st.booleans()),
        st.tuples(st.just("old"), keys, st.sampled_from([5_000, 61_000, 700_000])),
        st.tuples(st.just("wait"), st.sampled_from([1, 5_000, 19_000, 61_000, 700_000])),
        st.tuples(st.just("poll"), st.integers(0, 1), machines, st.integers(1, 4)),
        st.tuples(st.just("check"), st.integers(0, 1), machines, st.integers(1, 4)),
        st.tuples(st.just("age"), st.sampled_from([None, 5, 60, 3600])),
        st.tuples(st.just("expire"), machines),
        st.tuples(st.just("purge"), machines),
    ),
    min_size=3,
    max_size=25,
)


class Skewed:
    """The clock of one machine; a write that is late carries the stamp of when it began."""

    def __init__(self, clock: ManualClock, skew: int) -> None:
        self.late = 0
        self._clock = clock
        self._skew = skew

    def __call__(self) -> int:
        return self._clock() + self._skew - self.late


class Shop:
    """Machines around one queue, and two readers of it."""

    def __init__(self, world: World, *, partitions: int, age: int | None) -> None:
        self.clock = ManualClock()
        self.clocks = [Skewed(self.clock, skew) for skew in SKEWS]
        self.machines = [Machine(world, clock, client=_client("dynamodb")) for clock in self.clocks]
        self.queue = item_queue(partitions=partitions, max_message_age_seconds=age, created_at=START - 86_400_000)
        self.followers = [Follower(), Follower()]

    def take(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("put", machine, key, delay):
                self.clocks[machine].late = delay
                self.machines[machine].put(self.queue, key)
                self.clocks[machine].late = 0
            case ("delete", machine, key, delay):
                self.clocks[machine].late = delay
                self.machines[machine].delete(self.queue, key)
                self.clocks[machine].late = 0
            case ("late", key, deleted):
                # Readers have read to what a fast machine wrote, when a slow one's write arrives at last.
                self.take(("put", FAST, "late", 0))
                for follower in self.followers:
                    follower.catch_up(self.machines[FAST], self.queue, limit=4)
                self.take(("delete" if deleted else "put", SLOW, key, DELAY_MOST))
            case ("old", key, milliseconds):
                # What was written before is out of the readers' sight, and expires perhaps.
                self.take(("wait", 41_000))
                self.take(("put", RIGHT, key, 0))
                for follower in self.followers:
                    follower.catch_up(self.machines[RIGHT], self.queue, limit=4)
                self.take(("wait", milliseconds))
            case ("wait", milliseconds):
                self.clock.advance(milliseconds=milliseconds)
            case ("age", age):
                model = self.queue.settings.model_copy(update={"max_message_age_seconds": age})
                self.queue = replace(self.queue, settings=model)
            case ("expire", machine):
                self.machines[machine].expire(self.queue)
            case ("purge", machine):
                self.machines[machine].kind.purge(self.queue, until=self.clock())
            case ("poll", follower, machine, limit):
                self.followers[follower].poll(self.machines[machine], self.queue, limit=limit)
            case ("check", follower, machine, limit):
                self.check(self.followers[follower], self.machines[machine], limit=limit)

    def check(self, follower: Follower, machine: Machine, *, limit: int) -> None:
        inside = follower.has_more  # a reading that began before the last change may leave that to the next one
        follower.catch_up(machine, self.queue, limit=limit)
        if inside:
            follower.catch_up(machine, self.queue, limit=limit)
        assert follower.items == machine.state(self.queue)
        told = follower.told
        follower.catch_up(machine, self.queue, limit=limit)
        assert follower.told == told, "a quiet poll repeats nothing"


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(steps=steps, partitions=st.sampled_from([1, 3]), age=st.sampled_from([None, None, 5, 60]))
def test_what_readers_hold_is_what_the_queue_holds(
    world: World, steps: list[tuple[Any, ...]], partitions: int, age: int | None
) -> None:
    world.wipe()
    shop = Shop(world, partitions=partitions, age=age)
    for step in steps:
        shop.take(step)
    for follower in shop.followers:
        shop.check(follower, shop.machines[RIGHT], limit=2)
