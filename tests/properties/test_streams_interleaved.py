"""Publishers that stall and die, consumers that crash, clocks that disagree, retention: nothing is skipped.

The real code, one AWS call at a time, in random order. What must hold is checked against what was stored.
"""

import random
from collections import defaultdict
from typing import Any

import pytest

from broker.errors import Conflict, Unacknowledged
from broker.queues.queue import Queue
from tests.interleaving import Turns
from tests.streams import Node, code_of, stream_queue
from tests.worlds import ManualClock, World
from tools.calls import Call, watching

LIFE_SECONDS = 29
SEEDS = range(5)


class Story:
    """One random run."""

    def __init__(self, seed: int, world: World, **settings: Any) -> None:
        self.rng = random.Random(seed)
        self.clock = ManualClock()
        self.queue: Queue = stream_queue(consume_ttl_seconds=20, max_deliveries=1000, **settings)
        skews = (0, 0, -3000, 3000)
        self.nodes = [Node(world, lambda skew=skew: self.clock() + skew) for skew in skews]  # type: ignore[misc]
        self.turns = Turns(self.rng, seen=self.saw)
        self.numbers: dict[str, int] = {}
        self.answered: set[str] = set()
        self.first: defaultdict[str, list[str]] = defaultdict(list)
        self.acked: defaultdict[str, set[str]] = defaultdict(set)
        self.skipped: defaultdict[str, int] = defaultdict(int)
        self.sought = 0

    def saw(self, call: Call) -> None:
        """Note where messages are stored."""
        if call.operation == "PutItem" and "id" in call.document["Item"]:
            item = call.document["Item"]
            self.numbers[item["id"]["S"]] = int(item["seq"]["S"][:20]) - 2**63

    def node(self) -> Node:
        return self.rng.choice(self.nodes)

    def publish(self) -> None:
        node = self.node()
        message_id = node.ids()

        def work() -> None:
            node.append(self.queue, message_id)
            self.answered.add(message_id)

        self.turns.start(f"publish {message_id}", work, born=self.clock(), slow=self.rng.random() < 0.4)

    def consume(self, name: str) -> None:
        node, limit, fate = self.node(), self.rng.randint(1, 3), self.rng.random()

        def work() -> None:
            try:
                answer = node.consume(self.queue, name, limit=limit)
            except (Unacknowledged, Conflict):
                return
            self.got(name, answer)
            for message in answer["messages"]:
                if fate < 0.8:
                    self.settle(node, name, message, nack=fate < 0.1)

        self.turns.start(f"consume {name}", work, born=self.clock())

    def got(self, name: str, answer: Any) -> None:
        self.skipped[name] += answer.get("skipped", 0)
        for message in answer["messages"]:
            message_id = message["message_id"]
            assert message_id not in self.acked[name], "an acked message came again"
            assert message_id in self.numbers, "a message that nobody has stored"
            if message_id not in self.first[name]:
                self.first[name].append(message_id)

    def settle(self, node: Node, name: str, message: Any, *, nack: bool) -> None:
        if nack:
            code_of(lambda: node.nack(self.queue, name, message))
        elif code_of(lambda: node.ack(self.queue, name, message)) == "":
            self.acked[name].add(message["message_id"])

    def retain(self) -> None:
        node, age = self.node(), self.rng.choice((6, 8, 20))

        def work() -> None:
            node.retention.age_out(self.queue, partition=0, cutoff=node.clock() - age * 1000)
            floor = node.tails.read(self.queue.queue_id, partition=0).floor
            node.remains.sweep(self.queue.queue_id, partition=0, floor=floor)

        self.turns.start("retain", work, born=self.clock())

    def seek(self, name: str) -> None:
        """Send a consumer back to the beginning: from then on it is owed everything again."""
        node = self.node()

        def work() -> None:
            if code_of(lambda: node.seek(self.queue, name, "earliest")) == "":
                self.first[name].clear()
                self.acked[name].clear()
                self.sought += 1

        self.turns.start(f"seek {name}", work, born=self.clock())

    def run(self, *, steps: int, names: str, retains: bool, seeker: str = "") -> None:
        for step in range(steps):
            if seeker and self.rng.random() < 0.06:
                self.seek(seeker)
            what = self.rng.random()
            if what < 0.35:
                self.publish()
            elif what < 0.75:
                joined = names if step > steps // 2 else names[:-1]
                self.consume(self.rng.choice(joined))
            elif what < 0.80 and retains:
                self.retain()
            else:
                self.clock.advance(seconds=self.rng.choice((0, 1, 2, 6)))
                for old in [one for one in self.turns.operations if self.clock() - one.born > LIFE_SECONDS * 1000]:
                    self.turns.kill(old)
            for _ in range(self.rng.randint(0, 5)):
                self.turns.step()
            if self.turns.operations and self.rng.random() < 0.05:
                self.turns.kill(self.rng.choice(self.turns.operations))

    def settle_down(self, names: str) -> None:
        """Whoever still lives dies; then, time passing, every consumer takes what is left."""
        for operation in list(self.turns.operations):
            self.turns.kill(operation)
        node = self.nodes[0]
        for _ in range(4):
            self.clock.advance(seconds=30)
            for name in names:
                while (answer := node.consume(self.queue, name, limit=10))["messages"] or answer.get("skipped"):
                    self.got(name, answer)
                    for message in answer["messages"]:
                        self.settle(node, name, message, nack=False)

    def check(self, names: str) -> None:
        floor = self.nodes[0].tails.read(self.queue.queue_id, partition=0).floor
        assert self.answered <= set(self.numbers)
        for name in names:
            numbers = [self.numbers[message_id] for message_id in self.first[name]]
            assert numbers == sorted(numbers), f"{name} got messages out of order"
            assert set(self.first[name]) >= self.acked[name]
            missing = set(self.numbers) - set(self.first[name])
            assert [one for one in missing if self.numbers[one] > floor] == [], f"{name} never got a retained message"

    def held(self) -> int:
        """What the tail says is held, once the holes of the dead are fenced."""
        node, queue_id = self.nodes[0], self.queue.queue_id
        while node.retention.fence_old(queue_id, partition=0, tail=node.tails.read(queue_id, partition=0)):
            pass
        return node.tails.read(queue_id, partition=0).held

    def counted(self) -> int:
        """How many messages stand above the floor."""
        floor = self.nodes[0].tails.read(self.queue.queue_id, partition=0).floor
        return sum(number > floor for number in self.numbers.values())


def story(seed: int, world: World, *, retains: bool, seeker: str = "", **settings: Any) -> Story:
    one = Story(seed, world, **settings)
    with watching(one.turns):
        one.run(steps=110, names="xyz", retains=retains, seeker=seeker)
        one.settle_down("xyz")
    one.check("xyz")
    return one


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_skipped_and_nothing_acked_comes_again(seed: int, world: World) -> None:
    one = story(seed, world, retains=False)
    for name in "xyz":
        assert set(one.numbers) == set(one.first[name]) == one.acked[name]
        assert one.skipped[name] == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_is_overtaken_by_retention_is_told_and_the_depth_is_exact(seed: int, world: World) -> None:
    one = story(seed, world, retains=True)
    for name in "xy":
        missing = set(one.numbers) - set(one.first[name])
        assert not missing or one.skipped[name], f"{name} was not told that it missed {missing}"
    assert one.held() == one.counted()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("retains", [False, True])
def test_whoever_goes_back_gets_everything_that_is_there_again(seed: int, *, retains: bool, world: World) -> None:
    one = story(seed, world, retains=retains, seeker="x")
    assert one.sought
    if not retains:
        assert set(one.numbers) == set(one.first["x"]) == one.acked["x"]
