"""A process dies before or after any of its calls, or an answer is lost: what must hold does hold."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from broker.errors import DuplicateKey
from broker.ids import SeededIds
from broker.listing import PageRequest
from broker.queues.contents import Content
from broker.queues.kinds import Payload
from broker.queues.primarykeys import Holder, PrimaryKeys
from broker.queues.queue import Queue
from broker.streams.draft import Draft, make_draft
from tests.streams import Node, code_of, stream_queue
from tests.worlds import START, ManualClock, World

GRACE = 6


@pytest.fixture
def node(world: World, clock: ManualClock) -> Node:
    return Node(world, clock)


def held(node: Node, queue: Queue) -> int:
    """The count of what is held, once the dead are fenced."""
    while node.retention.fence_old(queue.queue_id, partition=0, tail=node.tails.read(queue.queue_id, partition=0)):
        pass
    return node.tails.read(queue.queue_id, partition=0).held


@pytest.mark.parametrize("settings", [{"max_queue_depth": 3}, {"primary_key": ["id"], "max_queue_depth": 2}])
def test_a_publisher_that_dies_leaves_a_message_or_nothing(
    settings: dict[str, Any], node: Node, clock: ManualClock, world: World, faults: ModuleType
) -> None:
    queue = stream_queue(**settings)
    for point in faults.crash_points(lambda: node.publish(queue, id=1), prepare=world.wipe):
        after = code_of(lambda: node.publish(queue, id=1))
        clock.advance(seconds=GRACE)
        node.publish(queue, id=2)
        clock.advance(seconds=GRACE)
        got = node.drain(queue, "x")
        if "primary_key" in settings:
            assert len(got) == 2, point
        else:
            assert len(got) in (2, 3), point
            assert after == "", point
        assert after in ("", "duplicate_key"), point
        assert held(node, queue) == len(got), point
        assert node.drain(queue, "y") == got, point


def test_a_request_repeated_under_its_ids_is_stored_once(
    node: Node, clock: ManualClock, world: World, faults: ModuleType
) -> None:
    queue = stream_queue()
    payload = Payload({"n": 1}, b'{"n":1}')

    def publish() -> Any:
        return node.publishing.publish(queue, payload, ids=SeededIds(START, seed=b"s"))

    def batch() -> Any:
        return node.publishing.publish_batch(queue, [payload] * 3, ids=SeededIds(START, seed=b"s"))

    for call, expected in ((publish, 1), (batch, 3)):
        run: Callable[[], Any] = call
        for point in faults.crash_points(run, prepare=world.wipe):
            done = run()
            clock.advance(seconds=GRACE)
            node.publish(queue, n=2)
            clock.advance(seconds=GRACE)
            ids = [one.message_id for one in (done if isinstance(done, list) else [done])]
            assert sorted(node.drain(queue, "x")[:-1]) == sorted(ids), point
            assert len(ids) == expected
            assert held(node, queue) == expected + 1, point


def test_a_consumer_that_dies_gets_everything_all_the_same(
    node: Node, clock: ManualClock, world: World, faults: ModuleType
) -> None:
    queue = stream_queue(consume_ttl_seconds=10)
    published: list[str] = []

    def prepare() -> None:
        world.wipe()
        published[:] = [node.publish(queue, n=n) for n in range(4)]
        node.ack(queue, "x", node.consume(queue, "x")["messages"][0])

    def settle_some() -> None:
        first, second = node.consume(queue, "x", limit=2)["messages"]
        node.nack(queue, "x", first)
        node.ack(queue, "x", second)

    for point in faults.crash_points(settle_some, prepare=prepare):
        clock.advance(seconds=11)
        rest = node.drain(queue, "x")
        assert rest in (published[1:], [published[1], published[3]]), point
        assert node.drain(queue, "y") == published, point


@pytest.mark.parametrize("big", [False, True])
def test_a_failed_message_is_in_one_place(
    big: bool, node: Node, clock: ManualClock, world: World, faults: ModuleType
) -> None:
    """With its consumer or in its dead letters, and after a redrive with its consumer again."""
    queue = stream_queue(consume_ttl_seconds=10)
    content = Content(b'{"n":"' + b"x" * (100_000 if big else 1) + b'"}')
    message: dict[str, Any] = {}

    def prepare() -> None:
        world.wipe()
        node.publishing.append(queue, Draft(node.ids(), content))
        message.update(node.consume(queue, "x")["messages"][0])

    def letters() -> list[Any]:
        return node.letters.listed(queue, PageRequest()).items

    def fail() -> None:
        node.nack(queue, "x", message, dead_letter=True)

    def payload_of(letter: Any) -> bytes:
        return bytes(letter["payload"].text.encode())

    for point in faults.crash_points(fail, prepare=prepare):
        clock.advance(seconds=11)
        got, dead = node.drain(queue, "x"), letters()
        assert len(got) + len(dead) == 1, point
        assert [payload_of(letter) for letter in dead] == [content.payload] * len(dead), point

    def fail_first() -> None:
        prepare()
        fail()

    def redrive() -> None:
        (letter,) = letters()
        node.letters.redrive_one(queue, letter["entry_id"], by=node.streams, ids=node.ids)

    for point in faults.crash_points(redrive, prepare=fail_first):
        dead = letters()
        (again,) = node.consume(queue, "x")["messages"] if not dead else [None]
        if again is not None:
            assert again["payload"].text.encode() == content.payload, point
            node.ack(queue, "x", again)
        assert node.drain(queue, "x") == [], point
        assert node.drain(queue, "y") == [message["message_id"]], point


def test_dying_while_what_was_redriven_is_settled(
    node: Node, clock: ManualClock, world: World, faults: ModuleType
) -> None:
    queue = stream_queue(consume_ttl_seconds=10)

    def prepare() -> None:
        world.wipe()
        for n in range(2):
            node.publish(queue, n=n)
        for message in node.consume(queue, "x")["messages"]:
            node.nack(queue, "x", message, dead_letter=True)
        for letter in node.letters.listed(queue, PageRequest()).items:
            node.letters.redrive_one(queue, letter["entry_id"], by=node.streams, ids=node.ids)

    for point in faults.crash_points(lambda: node.drain(queue, "x", limit=1), prepare=prepare):
        clock.advance(seconds=11)
        node.drain(queue, "x")
        consumer, _ = node.consumers.load(queue, "01KB9Z000000000000000000CX")
        assert consumer.waiting == 0, point
        assert node.redriven.oldest(queue.queue_id, client_id=consumer.client_id, limit=9) == [], point


def test_retention_that_dies_goes_on_the_next_time(
    node: Node, clock: ManualClock, world: World, faults: ModuleType
) -> None:
    queue = stream_queue(primary_key=["id"], max_message_age_seconds=100, expired_to_dead_letters=True)
    young: list[str] = []

    def prepare() -> None:
        world.wipe()
        node.ack(queue, "x", _first(node, queue))
        node.publish(queue, id=1)
        clock.advance(seconds=100)
        young[:] = [node.publish(queue, id=9)]

    def care() -> None:
        node.retention.age_out(queue, partition=0, cutoff=clock() - 100_000)
        floor = node.tails.read(queue.queue_id, partition=0).floor
        node.remains.sweep(queue.queue_id, partition=0, floor=floor)

    for point in faults.crash_points(care, prepare=prepare):
        care()
        tail = node.tails.read(queue.queue_id, partition=0)
        assert (tail.floor, tail.held) == (2, 1), point
        letters = node.letters.listed(queue, PageRequest()).items
        assert [letter["reason"] for letter in letters] == ["expired"], point
        assert len([row for row in world.rows(world.edges_table) if "stream" in row["source"]["S"]]) == 1, point
        assert len([row for row in world.rows(world.state_table) if row["pk"]["S"].startswith("key#")]) == 1, point
        answer = node.consume(queue, "x")
        assert [message["message_id"] for message in answer["messages"]] == young, point
        assert answer["skipped"] == 1, point


DROPPING = {"max_queue_depth": 1, "overflow_policy": "drop_oldest_append"}


@pytest.mark.parametrize(
    ("fault", "settings"),
    [("LOST", {}), ("LOST", {"primary_key": ["id"]}), ("SERVER_ERROR_AFTER", DROPPING), ("CONFLICT", DROPPING)],
)
def test_lost_answers_and_conflicts_change_nothing(
    fault: str, settings: dict[str, Any], node: Node, clock: ManualClock, world: World, faults: ModuleType
) -> None:
    """J7: every call in turn is answered so; the message is stored once, delivered once and settled once."""
    queue = stream_queue(**settings)

    def life() -> list[str]:
        first = node.publish(queue, id=1)
        message = node.consume(queue, "x")["messages"][0]
        node.ack(queue, "x", message)
        second = node.publish(queue, id=2)
        message = node.consume(queue, "x")["messages"][0]
        node.nack(queue, "x", message)
        assert node.drain(queue, "x", limit=1) == [second]
        return [first, second]

    for at in range(1, 40):
        world.wipe()
        with faults.failing(getattr(faults, fault), at=at) as injection:
            published = life()
        if not injection.struck:
            break
        clock.advance(seconds=GRACE)
        node.publish(queue, id=3)
        clock.advance(seconds=GRACE)
        seen = node.drain(queue, "y")
        kept = 1 if "max_queue_depth" in settings else 3
        assert len(seen) == kept, (at, injection.struck)
        assert published[: kept - 1] == seen[:-1], (at, injection.struck)
        assert held(node, queue) == kept, (at, injection.struck)
    else:
        pytest.fail("the story never ended")


def test_a_deferred_message_is_promoted_in_one_transaction(
    node: Node, clock: ManualClock, world: World, faults: ModuleType
) -> None:
    """What waits elsewhere, its key held, moves into the stream together with what is removed there."""
    queue = stream_queue(primary_key=["id"])
    payload = Payload({"id": 1}, b'{"id":1}')
    draft = make_draft(queue, payload, ids=node.ids)
    assert draft.key is not None

    def waiting() -> None:
        world.wipe()
        node.state.put({"pk": "deferred", "sk": draft.message_id})
        holder = Holder(draft.message_id, clock(), "deferred")
        operation = PrimaryKeys(state=node.state).hold_operation(
            queue.queue_id, draft.key or "", holder=holder, cutoff=None
        )
        node.state.transact([operation])

    waiting()
    with pytest.raises(DuplicateKey) as refused:
        node.publish(queue, id=1)
    assert refused.value.members["message_status"] == "pending"
    also = [node.state.delete_operation("deferred", draft.message_id, condition="attribute_exists(#pk)")]
    for point in faults.crash_points(lambda: node.publishing.append(queue, draft, also=also), prepare=waiting):
        there = node.state.get("deferred", draft.message_id) is not None
        clock.advance(seconds=GRACE)
        assert len(node.drain(queue, "x")) == (0 if there else 1), point


def _first(node: Node, queue: Queue) -> Any:
    node.publish(queue, id=0)
    return node.consume(queue, "x")["messages"][0]
