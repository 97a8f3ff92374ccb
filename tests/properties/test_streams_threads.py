"""To-many queues under real threads."""

import threading
from collections.abc import Callable, Sequence

from broker.queues.kinds import Payload, Published
from tests.streams import Node, code_of, stream_queue
from tests.worlds import Engine, Engines, ManualClock, World

BATCH = 10
PATIENCE = 1.0


def together(works: Sequence[Callable[[], None]]) -> None:
    """Run all at the same time."""
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:  # noqa: BLE001  # shown to the test
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


class Fanout:
    """Publishers and consumers of one queue, all at the same time; who finds nothing waits until more is published."""

    def __init__(
        self, world: World | Engine, clock: ManualClock, *, members: int, messages: int, partitions: int
    ) -> None:
        self.queue = stream_queue(partitions=partitions)
        self.nodes = [Node(world, clock) for _ in range(members)]
        self.messages = messages
        self.batches: list[list[str]] = []
        self.seen: list[list[str]] = [[] for _ in range(members)]
        self.more = threading.Condition()

    def run(self) -> None:
        members = range(len(self.nodes))
        together(
            [lambda number=number: self.publish(number) for number in members]
            + [lambda number=number: self.consume(number) for number in members]
        )

    def publish(self, number: int) -> None:
        node = self.nodes[number]
        for _ in range(self.messages // len(self.nodes) // BATCH):
            payloads = [Payload({"n": 1}, b'{"n":1}')] * BATCH
            outcomes = node.publishing.publish_batch(self.queue, payloads, ids=node.ids)
            batch = [outcome.message_id for outcome in outcomes if isinstance(outcome, Published)]
            assert len(batch) == BATCH
            with self.more:
                self.batches.append(batch)
                self.more.notify_all()

    def consume(self, number: int) -> None:
        node, seen = self.nodes[number], self.seen[number]
        while len(seen) < self.messages:
            known = len(self.batches)
            messages = node.consume(self.queue, f"{number}", limit=10)["messages"]
            seen += [message["message_id"] for message in messages]
            if messages:
                node.settle(self.queue, f"{number}", messages)
                continue
            with self.more:
                self.more.wait_for(lambda known=known: len(self.batches) > known, timeout=PATIENCE)  # type: ignore[misc]

    def check(self) -> None:
        """Every consumer's list is what was published, once each, batches in order."""
        everything = {message_id for batch in self.batches for message_id in batch}
        assert len(everything) == self.messages
        for seen in self.seen:
            assert len(seen) == self.messages
            assert set(seen) == everything
            places = {message_id: place for place, message_id in enumerate(seen)}
            for batch in self.batches:
                assert batch == sorted(batch, key=places.__getitem__)


def test_every_consumer_gets_what_all_publishers_published(engines: Engines, clock: ManualClock) -> None:
    """On dynalite, whose queries do not become slower with what is stored."""
    fanout = Fanout(engines("dynalite"), clock, members=10, messages=2000, partitions=1)
    fanout.run()
    fanout.check()


def test_all_consumers_of_one_partition_get_one_order(world: World, clock: ManualClock) -> None:
    fanout = Fanout(world, clock, members=4, messages=160, partitions=1)
    fanout.run()
    fanout.check()
    assert all(seen == fanout.seen[0] for seen in fanout.seen)


def test_one_consumer_from_many_places_gets_each_message_once(world: World, clock: ManualClock) -> None:
    """B4 for a consumer: twenty consume at once, one gets the message."""
    queue = stream_queue()
    node = Node(world, clock)
    for n in range(10):
        node.publish(queue, n=n)
    outcomes: list[str] = []

    def consume() -> None:
        outcomes.append(code_of(lambda: node.consume(queue, "x")))

    together([consume] * 20)
    assert sorted(outcomes) == [""] + ["unacknowledged"] * 19


def test_publishers_at_the_limit(world: World, clock: ManualClock) -> None:
    """D3: exactly as many as there is room for, over and over, and no drift."""
    queue = stream_queue(max_queue_depth=10, primary_key=["id"])
    node = Node(world, clock)
    for round_ in range(3):
        codes: list[str] = []

        def publish(number: int, codes: list[str] = codes, round_: int = round_) -> None:
            codes.append(code_of(lambda: node.publish(queue, id=f"{round_}-{number}")))

        together([lambda number=number: publish(number) for number in range(50)])  # type: ignore[misc]
        assert sorted(codes) == [""] * 10 + ["queue_full"] * 40
        assert len(node.drain(queue, "x")) == 10
        assert node.keeping.stats(queue)["depth"] == 10
        node.keeping.purge(queue, until=clock() + round_)


def test_publishers_of_one_key(world: World, clock: ManualClock) -> None:
    """One is stored; the others give their places back, and evict nothing for good."""
    queue = stream_queue(max_queue_depth=3, primary_key=["id"])
    node = Node(world, clock)
    codes: list[str] = []
    together([lambda: codes.append(code_of(lambda: node.publish(queue, id="same")))] * 20)
    assert codes.count("") == 1
    assert set(codes) <= {"", "duplicate_key", "queue_full"}
    assert node.keeping.stats(queue)["depth"] == 1
    node.publish(queue, id="other")
    assert len(node.drain(queue, "x")) == 2


def test_publishers_that_drop_the_oldest(world: World, clock: ManualClock) -> None:
    queue = stream_queue(max_queue_depth=5, overflow_policy="drop_oldest_append")
    node = Node(world, clock)
    published: list[str] = []
    together([lambda: published.append(node.publish(queue, n=1))] * 30)
    assert len(published) == 30
    assert node.keeping.stats(queue)["depth"] == 5
    got = node.drain(queue, "x")
    assert len(got) == 5
    assert set(got) <= set(published)
