"""Publishers, consumers, a reaper and an expiry that stall and die at any call, under clocks that disagree.

The real code, one AWS call at a time, in random order. What must hold is checked against what was stored and said.
"""

import random
from collections import defaultdict
from typing import Any

import pytest

from broker.queues.queue import Queue
from tests.interleaving import Turns
from tests.lanes import Node, code_of, lane_queue
from tests.worlds import ManualClock, World
from tools.calls import Call, watching

LIFE_SECONDS = 29
SEEDS = range(3)
SHAPES: dict[str, dict[str, Any]] = {
    "alone": {},
    "alone with key and limit": {"primary_key": "key", "max_queue_depth": 6},
    "shared": {"visibility_key": "group"},
    "shared with key and limit": {"visibility_key": "group", "primary_key": "key", "max_queue_depth": 6},
    "shared, dropping": {"visibility_key": "group", "max_queue_depth": 4, "overflow_policy": "drop_oldest_append"},
}


class Story:
    """One random run."""

    def __init__(self, seed: int, world: World, **settings: Any) -> None:
        self.rng = random.Random(seed)
        self.world = world
        self.clock = ManualClock()
        self.drops = "overflow_policy" in settings
        self.queue: Queue = lane_queue(consume_ttl_seconds=20, max_deliveries=3, **settings)
        skews = (0, 0, -3000, 3000)
        self.nodes = [Node(world, lambda skew=skew: self.clock() + skew) for skew in skews]  # type: ignore[misc]
        self.turns = Turns(self.rng, seen=self.saw)
        self.answered_in: defaultdict[str, set[str]] = defaultdict(set)
        self.earlier: dict[str, frozenset[str]] = {}
        self.stored: dict[str, int] = {}
        self.acked: set[str] = set()
        self.gone: set[str] = set()
        self.deliveries: defaultdict[str, int] = defaultdict(int)

    def saw(self, call: Call) -> None:
        """Note which messages were stored, and which were taken away under a lease, known to the consumer or not."""
        items = []
        document = call.document
        operations = [{call.operation: document}]
        if call.operation == "TransactWriteItems":
            operations = document["TransactItems"]
        if any(":lease" in one.get("ExpressionAttributeValues", {}) for each in operations for one in each.values()):
            for each in operations:
                for kind, one in each.items():
                    values = one.get("ExpressionAttributeValues", {})
                    if kind in ("Delete", "DeleteItem") and "source" in one["Key"]:
                        self.gone.add(one["Key"]["seq"]["S"].partition("#")[2])
                    elif kind in ("Delete", "DeleteItem") and ":lease" in values:
                        self.gone.update(value["S"] for name, value in values.items() if name == ":message_id")
        if call.operation == "PutItem":
            items.append(call.document["Item"])
        elif call.operation == "TransactWriteItems":
            items += [one["Put"]["Item"] for one in call.document["TransactItems"] if "Put" in one]
        for item in items:
            if "pk" in item and item["pk"]["S"].startswith("lanes#"):
                self.stored[item["message_id"]["S"]] = 0
            if "source" in item and item["source"]["S"].startswith("lane#"):
                n, _, message_id = item["seq"]["S"].partition("#")
                self.stored[message_id] = int(n) - 2**63

    def node(self) -> Node:
        return self.rng.choice(self.nodes)

    def publish(self) -> None:
        node = self.node()
        payload: dict[str, Any] = {"key": self.rng.randint(0, 12), "group": self.rng.choice("ab")}
        earlier = frozenset(self.answered_in[payload["group"]])

        def work() -> None:
            found: list[str] = []
            if code_of(lambda: found.append(node.publish(self.queue, **payload))) == "":
                self.answered_in[payload["group"]].update(found)
                self.earlier.update(dict.fromkeys(found, earlier))

        self.turns.start("publish", work, born=self.clock())

    def consume(self) -> None:
        node, fate, delay = self.node(), self.rng.random(), self.rng.choice((0, 0, 5))

        def work() -> None:
            for message in node.consume(self.queue):
                self.got(message)
                self.settle(node, message, fate=fate, delay=delay)

        self.turns.start("consume", work, born=self.clock())

    def settle(self, node: Node, message: Any, *, fate: float, delay: int) -> None:
        if fate < 0.6:
            if code_of(lambda: node.ack(self.queue, message)) == "":
                self.acked.add(message["message_id"])
        elif fate < 0.8:
            code_of(lambda: node.nack(self.queue, message, delay_seconds=delay))
        elif fate < 0.9:
            code_of(lambda: node.extend(self.queue, message, seconds=10))

    def got(self, message: Any) -> None:
        message_id = message["message_id"]
        assert message_id not in self.acked | self.gone, "an acked message came again"
        assert message_id in self.stored, "a message that nobody has stored"
        assert message["delivery"] <= 3, "delivered too often"
        if message_id not in self.deliveries and "visibility_key" in message and not self.drops:
            waiting = self.earlier.get(message_id, frozenset()) - set(self.deliveries) - self.gone
            assert waiting == set(), "one of its key was published before it and not delivered yet"
        self.deliveries[message_id] = max(self.deliveries[message_id], message["delivery"])

    def upkeep(self) -> None:
        node, work = self.node(), self.rng.choice(("reap", "expire"))
        self.turns.start(work, lambda: getattr(node.lanes, work)(self.queue), born=self.clock())

    def run(self, *, steps: int) -> None:
        for _ in range(steps):
            what = self.rng.random()
            if what < 0.35:
                self.publish()
            elif what < 0.75:
                self.consume()
            elif what < 0.8:
                self.upkeep()
            else:
                self.clock.advance(seconds=self.rng.choice((0, 1, 2, 6)))
                for old in [one for one in self.turns.operations if self.clock() - one.born > LIFE_SECONDS * 1000]:
                    self.turns.kill(old)
            for _ in range(self.rng.randint(0, 5)):
                self.turns.step()
            self.bounded()
            if self.turns.operations and self.rng.random() < 0.05:
                self.turns.kill(self.rng.choice(self.turns.operations))

    def bounded(self) -> None:
        """The counter never passes the limit, nor is it below what is stored."""
        limit = self.queue.settings.model_dump().get("max_queue_depth")
        if limit is not None:
            assert (
                self.nodes[0].counting.stored(self.queue)
                <= (self.nodes[0].depth.read(self.queue.queue_id) or 0)
                <= limit
            )

    def settle_down(self) -> None:
        """Whoever still lives dies; then, time passing, one honest consumer takes what is left."""
        for operation in list(self.turns.operations):
            self.turns.kill(operation)
        node = self.nodes[0]
        for _ in range(12):
            self.clock.advance(seconds=61)
            node.lanes.expire(self.queue)
            node.lanes.reap(self.queue)
            while messages := node.consume(self.queue):
                for message in messages:
                    self.got(message)
                    node.ack(self.queue, message)
                    self.acked.add(message["message_id"])

    def check(self) -> None:
        node = self.nodes[0]
        dead = node.dead(self.queue)
        assert len(dead) == len(set(dead))
        assert set().union(*self.answered_in.values()) <= set(self.stored)
        assert not set(dead) & self.acked, "acked and a dead letter"
        assert {one for one in dead if self.deliveries[one] > 3} == set()
        assert self.acked <= self.gone
        lost = set(self.stored) - self.gone - set(dead)
        assert self.drops or lost == set(), "lost"
        left = [row["pk"]["S"] for row in self.world.rows(self.world.state_table)]
        assert [pk for pk in left if pk.startswith(("lanes#", "key#"))] == []
        if self.queue.settings.model_dump().get("max_queue_depth") is not None:
            assert node.depth.read(self.queue.queue_id) == 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_and_nothing_acked_comes_again(seed: int, shape: str, world: World) -> None:
    story = Story(seed, world, **SHAPES[shape])
    with watching(story.turns):
        story.run(steps=70)
        story.settle_down()
    story.check()
