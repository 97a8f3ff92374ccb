"""The life of a to-many queue on engines that know transactions: what its expressions and conditions do is the same."""

from typing import Any

import pytest

from broker.ids import MonotonicIds
from broker.listing import PageRequest
from tests.streams import Node, code_of, stream_queue
from tests.worlds import Engines, ManualClock


@pytest.mark.parametrize("name", ["moto", "ministack"])
def test_a_life(name: str, engines: Engines, clock: ManualClock) -> None:
    node = Node(engines(name), clock)
    ids = MonotonicIds(clock)
    queue = stream_queue(ids(), primary_key=["id"], max_queue_depth=5, max_deliveries=2, consume_ttl_seconds=10)
    published = [node.publish(queue, id=n) for n in range(4)]
    assert code_of(lambda: node.publish(queue, id=2)) == "duplicate_key"
    run: list[Any] = node.consume(queue, "x", limit=3)["messages"]
    assert [message["message_id"] for message in run] == published[:3]
    assert code_of(lambda: node.consume(queue, "x")) == "unacknowledged"
    node.settle(queue, "x", run[:2])
    node.ack(queue, "x", run[0])
    node.nack(queue, "x", run[2], reason="why")
    (again,) = node.consume(queue, "x", limit=3)["messages"]
    clock.advance(seconds=10)
    assert code_of(lambda: node.ack(queue, "x", again)) == "lease_expired"
    assert code_of(lambda: node.ack(queue, "x", run[2])) == "lease_lost"
    assert node.drain(queue, "x") == published[3:]
    (letter,) = node.letters.listed(queue, PageRequest()).items
    assert (letter["message_id"], letter["reason"]) == (published[2], "max_deliveries")
    node.letters.redrive_one(queue, letter["entry_id"], by=node.streams, ids=node.ids)
    assert node.drain(queue, "x") == [published[2]]

    node.tails.reserve(queue.queue_id, partition=0)  # its publisher dies
    assert code_of(lambda: node.publish(queue, id=9)) == "queue_full"
    clock.advance(seconds=6)
    last = node.publish(queue, id=9)
    assert node.drain(queue, "x") == [last]
    assert node.keeping.stats(queue)["depth"] == 5

    assert node.keeping.purge(queue, until=clock())
    assert node.keeping.purge(queue, until=clock())
    assert node.keeping.stats(queue)["depth"] == 0
    assert node.drain(queue, "y") == []
    last = node.publish(queue, id=9)
    assert node.drain(queue, "y") == [last]
    settings = queue.settings.model_dump(exclude_none=True)
    assert node.keeping.remove(queue.queue_id, tenant_id=queue.tenant_id, settings=settings)
    assert node.edges.last(f"stream#{queue.queue_id}#0") is None
