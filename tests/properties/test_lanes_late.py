"""A publisher that appends late, in front of what others have appended, and consumers with an old view of the lane."""

import random
from typing import Any

import pytest

from broker.ids import SeededIds
from broker.queues.kinds import Payload
from tests.interleaving import Turns
from tests.lanes import Node, lane_queue
from tests.worlds import START, ManualClock, World
from tools.calls import watching
from tools.faults import LOST, failing

QUEUE = lane_queue(visibility_key="group", consume_ttl_seconds=30, max_deliveries=9)


def test_a_consumer_that_was_slow_does_not_take_what_others_have_settled(world: World) -> None:
    node, turns = Node(world, ManualClock()), Turns(random.Random(0))
    got: list[Any] = []
    with watching(turns):
        node.publish(QUEUE, group="a")
        (head,) = node.consume(QUEUE)
        late = turns.start("publish", lambda: node.publish(QUEUE, group="a"))
        turns.step(late)  # it has announced its message
        node.nack(QUEUE, head)
        (head,) = node.consume(QUEUE)
        last = node.publish(QUEUE, group="a")
        turns.finish()  # and appends it now, before the last one
        node.ack(QUEUE, head)
        slow = turns.start("consume", lambda: got.extend(node.consume(QUEUE)))
        turns.step(slow)
        turns.step(slow)  # it has seen the lane, and the late message at its front
        (second,) = node.consume(QUEUE)
        node.ack(QUEUE, second)
        turns.finish()
    assert second["message_id"] != last
    assert [message["message_id"] for message in got] == [last]
    node.ack(QUEUE, got[0])
    fourth = node.publish(QUEUE, group="a")
    assert [message["message_id"] for message in node.consume(QUEUE)] == [fourth]


def test_an_announcement_whose_answer_was_lost_brings_no_rank_back(world: World) -> None:
    node, turns = Node(world, ManualClock()), Turns(random.Random(0))
    got: list[Any] = []
    with watching(turns):
        node.publish(QUEUE, group="a")
        (head,) = node.consume(QUEUE)
        with failing(LOST, operation="UpdateItem"):
            late = turns.start("publish", lambda: node.publish(QUEUE, group="a"))
            turns.step(late)  # it has announced its message, and does not know
        node.ack(QUEUE, head)
        second = node.publish(QUEUE, group="a")
        slow = turns.start("consume", lambda: got.extend(node.consume(QUEUE)))
        turns.step(slow)
        turns.step(slow)
        (message,) = node.consume(QUEUE)
        turns.step(late)  # announces it again
        node.ack(QUEUE, message)
        turns.finish()
    assert message["message_id"] == second
    assert second not in [one["message_id"] for one in got]


@pytest.mark.parametrize("settings", [{}, {"visibility_key": "group"}], ids=["alone", "shared"])
def test_a_publish_under_a_key_is_stored_once_though_its_answer_is_lost(world: World, settings: dict[str, Any]) -> None:
    queue = lane_queue(**settings)
    node, turns = Node(world, ManualClock()), Turns(random.Random(0))
    payload, answers = Payload({"group": "a"}, b'{"group":"a"}'), []

    def publish() -> None:
        answers.append(node.lanes.publish(queue, payload, ids=SeededIds(START, seed=b"key"), if_match=None).message_id)

    with watching(turns):
        with failing(LOST, where=lambda call: call.operation in ("PutItem", "TransactWriteItems")) as injection:
            turns.start("publish", publish)
            while turns.operations and not injection.struck:
                turns.step()
        (message,) = node.consume(queue)
        node.ack(queue, message)
        turns.finish()
    assert answers == [message["message_id"]]
    assert node.consume(queue) == []
    assert node.counting.stored(queue) == 0
