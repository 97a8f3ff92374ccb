"""A process dies, or an answer is lost, at every call of every operation of a time series; what is left is whole."""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from botocore.exceptions import ClientError

from broker.series.key import SeriesKey
from broker.series.register import series_of
from edge import EdgeUnavailable
from edge.clients import make_client
from tests.series_rig import Process, queue_of
from tests.worlds import START, ManualClock, World
from tools.calls import Call
from tools.faults import CrashPoint

MINUTE = 60_000
_client = functools.cache(make_client)


def process(world: World, clock: ManualClock | None = None, **named: Any) -> Process:
    return Process(_client("dynamodb"), world.state_table, clock or ManualClock(), **named)


def point(minute: int, value: int = 1) -> dict[str, Any]:
    return {"at": START - minute * MINUTE, "p": value}


def counts(world: World, queue: Any) -> dict[int, int]:
    """How many points each bucket has, by minutes before the start, as another process sees it."""
    shown = process(world).buckets(queue)
    return {(START - start) // MINUTE: int(fields["p"]["count"]) for start, fields in shown.items()}


@dataclass(frozen=True)
class Case:
    """An operation, and what it finds and leaves.

    Attributes:
        settings: Of the queue.
        before: The minutes of the points that are there.
        does: The minutes of the points of the operation; one is published alone, more as a batch.
        after: The counts by minute once it is done.
        warm: Whether the process has written these buckets before.
    """

    settings: dict[str, Any]
    before: list[int]
    does: list[int]
    after: dict[int, int]
    warm: bool = False


CASES = {
    "first point": Case({}, [], [0], {0: 1}),
    "another bucket": Case({}, [5], [0], {5: 1, 0: 1}),
    "a known bucket": Case({}, [0], [0], {0: 2}, warm=True),
    "a bucket made by another": Case({}, [0], [0], {0: 2}),
    "a batch": Case({}, [1], [0, 1, 1, 2], {0: 1, 1: 3, 2: 1}),
    "a first bucket under a limit": Case({"max_buckets": 3}, [], [0], {0: 1}),
    "the oldest goes": Case({"max_buckets": 2}, [5, 4], [3], {4: 1, 3: 1}),
    "a batch under a limit": Case({"max_buckets": 2}, [5, 4], [3, 4, 2], {3: 1, 2: 1}),
    "too old ones go": Case({"max_message_age_seconds": 600}, [5], [0, 0], {5: 1, 0: 2}),
}
by_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
keyed = pytest.mark.parametrize("once", [None, "key"], ids=["without a key", "with a key"])


@dataclass
class Scene:
    """A case on a table of its own."""

    world: World
    case: Case

    def set(self) -> None:
        self.world.wipe()
        self.queue = queue_of(**self.case.settings)
        self.actor = process(self.world)
        writer = self.actor if self.case.warm else process(self.world)
        for minute in self.case.before:
            writer.publish(self.queue, point(minute))

    def run(self, once: str | None) -> None:
        self.act(self.actor, once)

    def act(self, actor: Process, once: str | None) -> None:
        points = [point(minute) for minute in self.case.does]
        if len(points) == 1:
            actor.publish(self.queue, points[0], once=once)
        else:
            failed = [one for one in actor.publish_batch(self.queue, points, once=once) if isinstance(one, Exception)]
            assert not failed

    def check(self, seen: str) -> None:
        """What holds at every moment: buckets are listed, limits kept, and counts those of before or after."""
        found = counts(self.world, self.queue)
        assert process(self.world).listed(self.queue) >= bool(found), seen
        assert len(found) <= self.case.settings.get("max_buckets", 1000), seen
        done = dict.fromkeys(self.case.before, 1)
        for minute, count in found.items():
            # All the points of one bucket, or none of them.
            assert count in {done.get(minute, 0), done.get(minute, 0) + self.case.does.count(minute)}, seen


@keyed
@by_case
def test_death_at_any_call_leaves_each_bucket_as_it_was_or_as_it_should_be(
    world: World, faults: ModuleType, case: Case, once: str | None
) -> None:
    scene = Scene(world, case)
    points: list[CrashPoint] = []
    for crash in faults.crash_points(functools.partial(scene.run, once), prepare=scene.set):
        points.append(crash)
        scene.check(str(crash))
        if once is not None:
            scene.act(process(world), once)
            assert counts(world, scene.queue) == case.after, f"{crash}, then repeated"
        before = counts(world, scene.queue).get(0, 0)
        process(world).publish(scene.queue, point(0, 7))
        assert counts(world, scene.queue)[0] == before + 1
    assert len(points) >= 2
    assert counts(world, scene.queue) == case.after, "the run that nothing struck"


@keyed
@by_case
def test_an_answer_lost_at_any_call_changes_nothing(
    world: World, faults: ModuleType, case: Case, once: str | None
) -> None:
    scene = Scene(world, case)
    for fault in (faults.LOST, faults.CONFLICT):
        number = 0
        struck = True
        while struck:
            number += 1
            scene.set()
            with faults.failing(fault, at=number) as injection:
                scene.run(once)
            struck = bool(injection.struck)
            assert counts(world, scene.queue) == case.after, f"{fault} at call {number}"
        assert number > 1


@pytest.mark.parametrize("before", [[], [0]], ids=["new bucket", "known bucket"])
def test_a_lost_answer_is_known_again_after_others_have_written(
    world: World, faults: ModuleType, before: list[int]
) -> None:
    queue = queue_of()
    other = process(world)

    def interfere() -> None:
        for value in range(3):
            other.publish(queue, point(0, value))

    actor = process(world, between=interfere)
    for minute in before:
        actor.publish(queue, point(minute))
    write = "UpdateItem" if before else "PutItem"
    at = 1 if before else 2  # the first put is that of the series
    with faults.failing(faults.LOST, at=at, operation=write) as injection:
        actor.publish(queue, point(0, 9))
    assert injection.struck
    assert counts(world, queue) == {0: len(before) + 4}


def test_a_lost_write_that_was_never_made_is_made_again(world: World, faults: ModuleType) -> None:
    queue = queue_of()
    other = process(world)

    def interfere() -> None:
        other.publish(queue, point(0, 2))

    actor = process(world, between=interfere)
    actor.publish(queue, point(0))
    with faults.failing(faults.SERVER_ERROR, operation="UpdateItem"):
        actor.publish(queue, point(0, 9))
    assert counts(world, queue) == {0: 3}


@pytest.mark.parametrize("later", [0, 1, 5])
def test_a_write_that_arrives_very_late_counts_nothing(world: World, faults: ModuleType, later: int) -> None:
    """Given up by its sender, sent again, and only then let through."""
    queue = queue_of()
    actor, other = process(world), process(world)
    actor.publish(queue, point(0))
    held: list[Any] = []

    def hold(call: Call) -> Any:
        held.append(call.document)

    # A point that leaves open, high and low alone: only the mark can tell that it was counted.
    with faults.choosing(hold):
        actor.publish(queue, point(0))
    for _ in range(later):
        actor.publish(queue, point(0))
        other.publish(queue, point(0))
    (document,) = held
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        _client("dynamodb").update_item(**document)
    assert counts(world, queue) == {0: 2 + 2 * later}


def test_what_was_given_up_may_have_been_counted_and_is_not_counted_again_under_its_key(
    world: World, faults: ModuleType
) -> None:
    queue = queue_of()
    actor = process(world)
    actor.publish(queue, point(0))
    with faults.failing(faults.LOST, times=None), pytest.raises(EdgeUnavailable) as given_up:
        actor.publish(queue, point(0))
    assert given_up.value.maybe_done
    assert counts(world, queue) == {0: 2}
    with faults.failing(faults.LOST, times=None), pytest.raises(EdgeUnavailable):
        actor.publish(queue, point(0), once="key")
    for _ in range(2):
        process(world).publish(queue, point(0), once="key")
    assert counts(world, queue) == {0: 3}


@pytest.mark.parametrize("settings", [{}, {"max_buckets": 10}], ids=["unlimited", "limited"])
def test_death_while_clearing_leaves_a_series_that_can_be_cleared_and_counted(
    world: World, faults: ModuleType, settings: dict[str, Any]
) -> None:
    def prepare() -> None:
        world.wipe()
        scene["queue"] = queue_of(**settings)
        for minute in range(8):
            process(world).publish(scene["queue"], point(minute))

    scene: dict[str, Any] = {}
    clear: Callable[[], object] = lambda: process(world).kind.purge(scene["queue"], until=START)  # noqa: E731
    for crash in faults.crash_points(clear, prepare=prepare):
        left = len(counts(world, scene["queue"]))
        assert left in (0, 8), f"{crash}"
        assert clear()
        assert counts(world, scene["queue"]) == {}
        for minute in range(12):
            process(world).publish_batch(scene["queue"], [point(minute)])
        assert len(counts(world, scene["queue"])) == (10 if settings else 12)


def test_a_series_has_its_row_before_its_first_bucket(world: World, faults: ModuleType) -> None:
    queue = queue_of()
    series = series_of(queue, SeriesKey.of([]))
    for crash in faults.crash_points(lambda: process(world).publish(queue, point(0)), prepare=world.wipe):
        rows = [row["pk"]["S"] for row in world.rows(world.state_table)]
        assert series.buckets not in rows or series.pk in rows, f"{crash}"


def test_marks_of_the_departed_are_removed(world: World) -> None:
    clock = ManualClock()
    queue = queue_of()
    for _ in range(20):
        process(world, clock).publish(queue, point(0))
        clock.advance(seconds=100)
    clock.advance(seconds=601)
    last = process(world, clock)
    for _ in range(4):
        last.publish(queue, point(0))
    (row,) = [row for row in world.rows(world.state_table) if row["pk"]["S"].startswith("buckets#")]
    assert sum(name.startswith("w_") for name in row) == 1
    assert counts(world, queue) == {0: 24}


def test_a_process_that_acts_on_old_settings_spoils_no_count(world: World) -> None:
    """A changed limit is known everywhere after five seconds; until then others make buckets that nobody counts."""
    clock = ManualClock()
    before = queue_of()
    stale, fresh = process(world, clock), process(world, clock)
    for minute in (9, 8, 7):
        stale.publish(before, point(minute))
    after = dataclasses.replace(
        before, settings=before.settings.model_copy(update={"max_buckets": 3}), updated_at=clock.now
    )
    clock.advance(seconds=1)
    fresh.publish(after, point(6))
    assert counts(world, after) == {8: 1, 7: 1, 6: 1}
    clock.advance(seconds=2)
    for minute in (5, 4):
        stale.publish(before, point(minute))
    clock.advance(seconds=20)
    fresh.publish(after, point(3))
    assert list(fresh.buckets(before)) == [START - minute * MINUTE for minute in (5, 4, 3)]
    clock.advance(seconds=1)
    fresh.publish(after, point(2))
    assert list(fresh.buckets(before)) == [START - minute * MINUTE for minute in (4, 3, 2)]
