"""Room that was reserved and comes back, and others who look for room meanwhile: nothing is dropped for it."""

import random
from typing import Any

import pytest

from broker import jsontext
from broker.errors import QueueFull
from broker.queues.kinds import Payload, Published
from broker.queues.queue import Queue
from tests.interleaving import Turns
from tests.lanes import Node, code_of, lane_queue
from tests.worlds import ManualClock, World
from tools.calls import Call, Outcome, Proceed, Watcher, watching

SHAPES = pytest.mark.parametrize("keys", [{}, {"visibility_key": "group"}], ids=["alone", "shared"])
DROPS: dict[str, Any] = {"primary_key": "id", "overflow_policy": "drop_oldest_append"}


def ids_of(node: Node, queue: Queue) -> list[Any]:
    """The numbers of all messages, each acked."""
    found = []
    while messages := node.consume(queue, limit=10):
        for message in messages:
            found.append(jsontext.loads(message["payload"].text.encode())["id"])
            node.ack(queue, message)
    return sorted(found)


@SHAPES
def test_a_publisher_that_loses_a_race_for_its_key_costs_nobody_his_place(
    world: World, clock: ManualClock, keys: dict[str, Any]
) -> None:
    queue, turns = lane_queue(**DROPS, **keys, max_queue_depth=2), Turns(random.Random(0))
    node = Node(world, clock, sleep=lambda _: turns.finish())
    refused: list[str] = []
    with watching(turns):
        loser = turns.start("publish", lambda: refused.append(code_of(lambda: node.publish(queue, id=1, group="a"))))
        while node.depth.read(queue.queue_id) != 1:
            turns.step(loser)  # it has room now
        node.publish(queue, id=1, group="a")
        node.publish(queue, id=2, group="b")
    assert refused == ["duplicate_key"]
    assert ids_of(node, queue) == [1, 2]


@SHAPES
def test_a_redrive_that_comes_too_late_costs_nobody_his_place(
    world: World, clock: ManualClock, keys: dict[str, Any]
) -> None:
    queue, turns = lane_queue(**DROPS, **keys, max_queue_depth=2), Turns(random.Random(0))
    node = Node(world, clock, sleep=lambda _: turns.finish())
    entries = [node.publish(queue, id=number, group=f"{number}") for number in range(2)]
    for message in node.consume(queue, limit=2):
        node.nack(queue, message, dead_letter=True)

    def redrive(entry: str) -> str:
        return code_of(lambda: node.letters.redrive_one(queue, entry, by=node.lanes, ids=node.ids))

    late: list[str] = []
    with watching(turns):
        second = turns.start("redrive", lambda: late.append(redrive(entries[0])))
        while node.depth.read(queue.queue_id) != 1:
            turns.step(second)
        assert [redrive(entry) for entry in entries] == ["", ""]
    assert late == ["not_found"]
    assert ids_of(node, queue) == [0, 1]


class Interruption(Watcher):
    """Does something before the `at`-th call."""

    def __init__(self, work: Any, *, at: int) -> None:
        self._work, self._left, self._inside = work, at, False

    @property
    def done(self) -> bool:
        return self._left <= 0

    def attempt(self, call: Call, proceed: Proceed) -> Outcome:
        if not self._inside:
            self._left -= 1
            if self._left == 0:
                self._inside = True
                self._work()
                self._inside = False
        return proceed(call)


@SHAPES
def test_room_that_comes_while_a_batch_is_stored_does_not_change_its_order(
    world: World, clock: ManualClock, keys: dict[str, Any]
) -> None:
    payloads = [Payload(value, jsontext.dumps(value)) for value in ({"id": n, "group": "a"} for n in range(5))]
    for at in range(1, 100):
        world.wipe()
        node, queue = Node(world, clock), lane_queue(**keys, max_queue_depth=4)
        for number in (10, 11, 12):
            node.publish(queue, id=number, group=f"{number}")
        held = node.consume(queue, limit=2)

        def settle(node: Node = node, queue: Queue = queue, held: list[Any] = held) -> None:
            for message in held:
                node.ack(queue, message)

        interruption = Interruption(settle, at=at)
        with watching(interruption):
            outcomes = node.lanes.publish_batch(queue, payloads, ids=node.ids)
        stored = [isinstance(outcome, Published) for outcome in outcomes]
        assert stored == sorted(stored, reverse=True), at
        assert all(isinstance(outcome, (Published, QueueFull)) for outcome in outcomes)
        if not interruption.done:
            break
    assert at > 5
