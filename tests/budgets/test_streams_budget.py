"""What to-many queues cost: calls per operation, whatever the depth and however many consumers there are."""

from collections.abc import Callable
from typing import Any

import pytest

from broker.queues.kinds import Payload
from broker.queues.models import ExtendRequest, SettleRequest
from broker.queues.queue import Queue
from tests.streams import Node, caller, stream_queue
from tests.worlds import ManualClock, World
from tools.ledger import Cost, Ledger


@pytest.fixture
def node(world: World, clock: ManualClock) -> Node:
    return Node(world, clock)


def cost_of(ledger: Ledger, work: Callable[[], object]) -> Cost:
    with ledger.operation("it") as operation:
        work()
    return operation.cost


def calls(cost: Cost) -> int:
    return sum(cost.calls.values())


def test_publish(node: Node, ledger: Ledger) -> None:
    cost = cost_of(ledger, lambda: node.publish(stream_queue(), n=1))
    assert cost.calls == {"dynamodb.UpdateItem": 1, "dynamodb.PutItem": 1}
    assert cost.write_units == 2
    keyed = stream_queue(primary_key=["n"])
    cost = cost_of(ledger, lambda: node.publish(keyed, n=1))
    assert cost.calls == {"dynamodb.BatchGetItem": 1, "dynamodb.UpdateItem": 1, "dynamodb.TransactWriteItems": 1}
    limited = stream_queue(max_queue_depth=10)
    assert calls(cost_of(ledger, lambda: node.publish(limited, n=1))) == 2


def test_a_refused_duplicate_reserves_nothing(node: Node, ledger: Ledger) -> None:
    queue = stream_queue(primary_key=["n"])
    node.publish(queue, n=1)
    payload = Payload({"n": 1}, b'{"n":1}')
    cost = cost_of(ledger, lambda: node.publishing.publish_batch(queue, [payload], ids=node.ids))
    assert cost.calls == {"dynamodb.BatchGetItem": 2}
    assert node.tails.read(queue.queue_id, partition=0).last == 1


@pytest.mark.parametrize("size", [1, 10, 100])
def test_a_batch_reserves_once(size: int, node: Node, ledger: Ledger) -> None:
    queue = stream_queue()
    payloads = [Payload({"n": n}, b'{"n":1}') for n in range(size)]
    cost = cost_of(ledger, lambda: node.publishing.publish_batch(queue, payloads, ids=node.ids))
    assert cost.calls == {"dynamodb.UpdateItem": 1, "dynamodb.PutItem": size}
    assert cost.write_units == 1 + size


def life(node: Node, queue: Queue, ledger: Ledger) -> dict[str, tuple[int, float, float]]:
    """Calls, read and write units of what a consumer does."""
    costs: dict[str, Cost] = {}
    got: list[Any] = []

    def consume(limit: int) -> None:
        got[:] = node.consume(queue, "x", limit=limit)["messages"]
        assert len(got) == limit

    costs["publish"] = cost_of(ledger, lambda: node.publish(queue, n=1))
    costs["consume 1"] = cost_of(ledger, lambda: consume(1))
    costs["ack"] = cost_of(ledger, lambda: node.ack(queue, "x", got[0]))
    costs["consume 10"] = cost_of(ledger, lambda: consume(10))
    costs["nack"] = cost_of(ledger, lambda: node.nack(queue, "x", got[0]))
    extended = ExtendRequest(lease_id=got[1]["lease_id"], seconds=60)
    costs["extend"] = cost_of(
        ledger, lambda: node.streams.extend(queue, got[1]["message_id"], extended, caller=caller("x"))
    )
    rest = [{"message_id": message["message_id"], "lease_id": message["lease_id"]} for message in got[1:]]
    settled = SettleRequest.model_validate({"acks": rest})
    costs["settle 9"] = cost_of(ledger, lambda: node.streams.settle(queue, settled, caller=caller("x")))
    costs["consume again"] = cost_of(ledger, lambda: consume(1))
    return {name: (calls(cost), cost.read_units, cost.write_units) for name, cost in costs.items()}


def test_neither_depth_nor_consumers_make_anything_dearer(node: Node, ledger: Ledger, world: World) -> None:
    queue = stream_queue()
    found = []
    for depth, consumers in ((20, 0), (1000, 30)):
        world.wipe()
        for _ in range(depth // 20):
            payloads = [Payload({"n": n}, b'{"n":1}') for n in range(20)]
            node.publishing.publish_batch(queue, payloads, ids=node.ids)
        for number in range(consumers):
            name = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number]
            if name != "X":
                node.consume(queue, name, limit=10)
        found.append(life(node, queue, ledger))
    assert found[0] == found[1]
    assert {name: cost[0] for name, cost in found[0].items()} == {
        "publish": 2,
        "consume 1": 3,
        "ack": 1,
        "consume 10": 3,
        "nack": 1,
        "extend": 1,
        "settle 9": 1,
        "consume again": 3,
    }


def test_nothing_to_consume_is_one_read(node: Node, ledger: Ledger) -> None:
    queue = stream_queue()
    node.publish(queue, n=1)
    node.drain(queue, "x")
    assert cost_of(ledger, lambda: node.consume(queue, "x")).calls == {"dynamodb.BatchGetItem": 1}


def test_many_partitions_are_read_together(node: Node, ledger: Ledger) -> None:
    queue = stream_queue(partitions=50)
    node.publish(queue, n=1)
    cost = cost_of(ledger, lambda: node.consume(queue, "x"))
    assert cost.calls == {"dynamodb.BatchGetItem": 1, "dynamodb.Query": 1, "dynamodb.PutItem": 1}
