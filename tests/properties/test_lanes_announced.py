"""Messages that were announced and never come: of publishers that lost a race, were refused, or died."""

import random
from typing import Any

import pytest

from edge import EdgeUnavailable
from tests.interleaving import Turns
from tests.lanes import Node, code_of, lane_queue
from tests.worlds import ManualClock, World
from tools.calls import watching
from tools.faults import THROTTLED, failing

KEYED: dict[str, Any] = {"visibility_key": "group", "primary_key": "id"}


@pytest.mark.parametrize(
    "more", [{}, {"max_queue_depth": 2}, {"max_queue_depth": 1, "overflow_policy": "drop_oldest_append"}]
)
@pytest.mark.parametrize("seed", range(5))
def test_publishers_that_race_for_a_key_count_as_one_message(
    world: World, clock: ManualClock, seed: int, more: dict[str, Any]
) -> None:
    node, queue, turns = Node(world, clock), lane_queue(**KEYED, **more), Turns(random.Random(seed))
    with watching(turns):
        for _ in range(5):
            turns.start("publish", lambda: code_of(lambda: node.publish(queue, id=1, group="a")))
        turns.finish()
    assert node.lanes.stats(queue)["depth"] == 1
    (message,) = node.consume(queue)
    node.ack(queue, message)
    assert node.lanes.stats(queue)["depth"] == 0
    assert node.state.query(message_lanes(queue)).rows == ()


@pytest.mark.parametrize("seed", range(5))
def test_redrives_that_race_count_as_one_message(world: World, clock: ManualClock, seed: int) -> None:
    node, queue, turns = Node(world, clock), lane_queue(**KEYED), Turns(random.Random(seed))
    entry = node.publish(queue, id=1, group="a")
    node.nack(queue, node.consume(queue)[0], dead_letter=True)
    clock.advance(seconds=1)
    with watching(turns):
        for _ in range(4):
            turns.start(
                "redrive", lambda: code_of(lambda: node.letters.redrive_one(queue, entry, by=node.lanes, ids=node.ids))
            )
        turns.finish()
    assert node.lanes.stats(queue)["depth"] == 1
    assert [message["message_id"] for message in node.consume(queue, limit=10)] == [entry]


def test_a_publisher_that_storage_refused_takes_its_announcement_back(world: World, clock: ManualClock) -> None:
    node, queue = Node(world, clock), lane_queue(visibility_key="group")
    node.publish(queue, id=1, group="a")
    with failing(THROTTLED, operation="PutItem", times=None), pytest.raises(EdgeUnavailable):
        node.publish(queue, id=2, group="a")
    assert node.lanes.stats(queue)["depth"] == 1


def test_an_announcement_does_not_close_its_key(world: World, clock: ManualClock) -> None:
    """A consumer that comes between announcing and appending finds nothing, and the next one finds the message."""
    node, queue, turns = Node(world, clock), lane_queue(visibility_key="group"), Turns(random.Random(0))
    with watching(turns):
        publisher = turns.start("publish", lambda: node.publish(queue, id=1, group="a"))
        turns.step(publisher)
        assert node.consume(queue) == []
        node.lanes.reap(queue)
        turns.finish()
    assert len(node.consume(queue)) == 1


@pytest.mark.parametrize("others", [0, 2])
def test_of_the_dead_nothing_is_left_after_two_minutes(world: World, clock: ManualClock, others: int) -> None:
    """Nobody consumes: the schedule alone sees to it."""
    node, queue, turns = Node(world, clock), lane_queue(visibility_key="group"), Turns(random.Random(0))
    with watching(turns):
        for group in ("a", "b"):
            dead = turns.start("publish", lambda group=group: node.publish(queue, id=0, group=group))  # type: ignore[misc]
            turns.step(dead)
            turns.kill(dead)
        turns.finish()
    for number in range(others):
        node.publish(queue, id=number, group=f"c{number}")
    assert node.lanes.stats(queue)["depth"] == 2 + others
    for _ in range(3):
        clock.advance(seconds=61)
        node.lanes.reap(queue)
    assert node.lanes.stats(queue)["depth"] == others
    assert len(node.consume(queue, limit=10)) == others


def message_lanes(queue: Any) -> str:
    """The hash key of a queue's only partition."""
    return f"lanes#{queue.queue_id}#0"
