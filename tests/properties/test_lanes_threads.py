"""Twenty publishers and twenty consumers at once, for real: one of a key in flight, everything delivered once acked."""

import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.lanes import Node, lane_queue
from tests.worlds import ManualClock, World
from tools.faults import CONFLICT, LOST, THROTTLED, choosing

PUBLISHERS = CONSUMERS = 20
EACH = 2
PATIENCE_SECONDS = 60
SHAPES: list[dict[str, Any]] = [
    {},
    {"primary_key": "id", "max_queue_depth": 1000, "partitions": 3},
    {"visibility_key": "group"},
    {"visibility_key": "group", "primary_key": "id", "partitions": 2},
]


@pytest.mark.parametrize("settings", SHAPES, ids=["alone", "alone, key and limit", "shared", "shared, key"])
def test_publishers_and_consumers_at_once(world: World, settings: dict[str, Any]) -> None:
    # The time goes on: a lane that is found between announcement and message is looked at a second later.
    queue, node = lane_queue(**settings), Node(world, lambda: time.time_ns() // 1_000_000)
    until = time.monotonic() + PATIENCE_SECONDS
    total, lock = PUBLISHERS * EACH, threading.Lock()
    in_flight: Counter[Any] = Counter()
    order: defaultdict[Any, list[int]] = defaultdict(list)
    acked: list[str] = []
    numbers = iter(range(1_000_000))

    def publish(publisher: int) -> None:
        for _ in range(EACH):
            node.publish(queue, id=next(numbers), group=publisher % 7)

    def consume(_: int) -> None:
        while len(acked) < total and time.monotonic() < until:
            for message in node.consume(queue):
                group = message.get("visibility_key", message["message_id"])
                with lock:
                    in_flight[group] += 1
                    assert in_flight[group] == 1, "two of one key in flight"
                    assert message["delivery"] == 1
                with lock:
                    in_flight[group] -= 1
                    acked.append(message["message_id"])
                    order[group].append(message["delivery"])
                node.ack(queue, message)

    with ThreadPoolExecutor(PUBLISHERS + CONSUMERS) as threads:
        done = [threads.submit(publish, number) for number in range(PUBLISHERS)]
        done += [threads.submit(consume, number) for number in range(CONSUMERS)]
        for future in done:
            future.result()
    assert len(acked) == len(set(acked)) == total
    assert node.consume(queue) == []
    assert node.counting.stored(queue) == 0


def test_twenty_consumers_of_one_key_get_one_message(world: World, clock: ManualClock) -> None:
    """B4."""
    queue, node = lane_queue(visibility_key="group"), Node(world, clock)
    ids = [node.publish(queue, id=number, group="g") for number in range(10)]

    def at_once() -> list[str]:
        with ThreadPoolExecutor(CONSUMERS) as threads:
            answers = list(threads.map(lambda _: node.consume(queue), range(CONSUMERS)))
        return [message["message_id"] for answer in answers for message in answer]

    assert at_once() == [ids[0]]
    clock.advance(seconds=30)
    assert at_once() == [ids[0]]
    node.publish(queue, id=10, group="g")
    assert at_once() == []


def test_each_of_twenty_consumers_gets_a_message_of_its_own(world: World, clock: ManualClock) -> None:
    queue, node = lane_queue(), Node(world, clock)
    ids = [node.publish(queue, id=number) for number in range(CONSUMERS)]
    with ThreadPoolExecutor(CONSUMERS) as threads:
        answers = list(threads.map(lambda _: node.consume(queue), range(CONSUMERS)))
    assert sorted(message["message_id"] for answer in answers for message in answer) == ids


@pytest.mark.parametrize("fault", [THROTTLED, CONFLICT, LOST], ids=repr)
@pytest.mark.parametrize("settings", SHAPES[1:], ids=["alone, key and limit", "shared", "shared, key"])
def test_conflicts_throttling_and_lost_answers_are_nobodys_refusal(
    world: World, clock: ManualClock, settings: dict[str, Any], fault: Any
) -> None:
    """J7: every call fails once and is made again; no message is refused, stored twice or counted twice."""
    queue, node = lane_queue(**settings), Node(world, clock)
    seen: set[Any] = set()

    def once(call: Any) -> Any:
        values = call.document.get("ExpressionAttributeValues", {})
        named = {name: value for name, value in values.items() if name not in (":rank", ":next")}  # new each time
        text = repr(sorted({**call.document, "ExpressionAttributeValues": named}.items()))
        if text in seen or call.service != "dynamodb":
            return None
        seen.add(text)
        return fault

    with choosing(once):
        ids = [node.publish(queue, id=number, group=number % 2) for number in range(6)]
        delivered = []
        for _ in range(20):
            for message in node.consume(queue):
                delivered.append(message["message_id"])
                node.ack(queue, message)
            clock.advance(seconds=1)
    assert sorted(delivered) == ids
    assert node.counting.stored(queue) == 0
    if "max_queue_depth" in settings:
        assert node.depth.read(queue.queue_id) == 0
