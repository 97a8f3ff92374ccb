"""What to-one queues cost: calls and units per operation, whatever the depth and whatever else is in the queue."""

from collections.abc import Callable
from typing import Any

import pytest

from broker.queues.queue import Queue
from edge import Edge, Retry
from edge.batch import BatchWriter
from edge.values import encode_row
from tests.lanes import Node, lane_queue
from tests.worlds import ManualClock, World
from tools.ledger import Cost, Ledger

SIMPLE: dict[str, Any] = {}
KEYED: dict[str, Any] = {"primary_key": "id"}
SHARED: dict[str, Any] = {"visibility_key": "group"}
SHARED_KEYED: dict[str, Any] = {"visibility_key": "group", "primary_key": "id"}

# Calls, read units, write units.
BUDGETS: dict[str, tuple[dict[str, Any], dict[str, tuple[int, float, float]]]] = {
    "alone": (
        SIMPLE,
        {"publish": (1, 0, 2), "consume": (2, 1, 3), "extend": (1, 0, 3), "nack": (1, 0, 3), "ack": (1, 0, 2)},
    ),
    "alone with primary key": (
        KEYED,
        {"publish": (1, 0, 2), "consume": (2, 1, 3), "extend": (1, 0, 3), "nack": (1, 0, 3), "ack": (1, 0, 2)},
    ),
    "shared": (
        SHARED,
        {"publish": (2, 0, 3), "consume": (3, 2, 3), "extend": (1, 0, 3), "nack": (1, 0, 3), "ack": (1, 0, 5)},
    ),
    "shared with primary key": (
        SHARED_KEYED,
        {"publish": (3, 1, 6), "consume": (3, 2, 3), "extend": (1, 0, 3), "nack": (1, 0, 3), "ack": (1, 0, 7)},
    ),
}
DEPTHS = [10, 5_000]


@pytest.fixture
def node(world: World, clock: ManualClock) -> Node:
    return Node(world, clock)


def fill(node: Node, world: World, queue: Queue, clock: ManualClock, *, depth: int, blocked: int = 0) -> set[str]:
    """Messages as publishing leaves them: `depth` of keys of their own, and `blocked` behind one that is in flight.

    Returns the ids of all of the former but the first.
    """
    shared = "visibility_key" in queue.settings.model_dump(exclude_none=True)
    if blocked:
        node.publish(queue, id=-1, group="blocked", text="x" * 200)
        clock.advance(milliseconds=1)
        node.consume(queue)
        (row,) = [row for row in world.rows(world.state_table) if row["pk"]["S"].startswith("lanes#")]
        source = f"lane#{queue.queue_id}#" + row["sk"]["S"]
        (head,) = node.edges.first(source, most=1)
        copies = [Edge(source, n + 2, node.ids(), {**head.attributes, "key": f"{n}"}) for n in range(blocked)]
        assert node.edges.insert_many(copies) == [None] * blocked
        node.state.update(row["pk"]["S"], row["sk"]["S"], "ADD #tail :n, #pending :n", values={"n": blocked})
    node.publish(queue, id=0, group="first", text="x" * 200)
    lanes = node.state.query(f"lanes#{queue.queue_id}#0").rows
    (pattern,) = [row for row in lanes if str(row["rank"]).endswith("R")]
    keyed = "primary_key" in queue.settings.model_dump(exclude_none=True)
    own = f"lane#{queue.queue_id}#" + str(pattern["sk"])
    heads = node.edges.first(own, most=1) if shared else []
    rows, edges = [], []
    for number in range(1, depth):
        clock.advance(milliseconds=1)
        message_id = node.ids()
        rank = f"{clock():015d}#{message_id}#{0:012d}#{0:05d}#R"
        sk = f"{number:064x}" if shared else message_id
        rows.append({**pattern, "sk": sk, "rank": rank, "message_id": message_id})
        for head in heads:
            key = {"key": f"{number}"} if keyed else {}
            edges.append(Edge(f"lane#{queue.queue_id}#{sk}", 1, message_id, {**head.attributes, **key}))
    node.edges.insert_many(edges)
    writer = BatchWriter(world.state_table, client=world.client("dynamodb"), retry=Retry())
    requests = [{"PutRequest": {"Item": encode_row(row)}} for row in rows]
    for start in range(0, len(requests), 25):
        writer.write(requests[start : start + 25])
    return {str(row["message_id"]) for row in rows}


def life(node: Node, queue: Queue, ledger: Ledger, clock: ManualClock) -> dict[str, tuple[int, float, float]]:
    """What each operation of one message's life costs."""
    found: dict[str, tuple[int, float, float]] = {}

    def charge(name: str, work: Callable[[], Any]) -> Any:
        with ledger.operation(name) as operation:
            result = work()
        found[name] = _figures(operation.cost)
        return result

    clock.advance(milliseconds=1)
    charge("publish", lambda: node.publish(queue, id=10_000, group="new", text="x" * 200))
    (message,) = charge("consume", lambda: node.consume(queue))
    charge("extend", lambda: node.extend(queue, message, seconds=60))
    charge("nack", lambda: node.nack(queue, message, delay_seconds=1000))
    (message,) = node.consume(queue)
    charge("ack", lambda: node.ack(queue, message))
    return found


def _figures(cost: Cost) -> tuple[int, float, float]:
    return sum(cost.calls.values()), cost.read_units, cost.write_units


@pytest.mark.parametrize("shape", BUDGETS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_every_operation_keeps_its_budget_at_any_depth(
    node: Node, world: World, clock: ManualClock, ledger: Ledger, shape: str, depth: int
) -> None:
    settings, budget = BUDGETS[shape]
    queue = lane_queue(**settings)
    fill(node, world, queue, clock, depth=depth)
    assert life(node, queue, ledger, clock) == budget


@pytest.mark.parametrize("shape", ["shared", "shared with primary key"])
def test_behind_a_blocked_key_of_three_thousand_nothing_costs_more(
    node: Node, world: World, clock: ManualClock, ledger: Ledger, shape: str
) -> None:
    """B6: and the message of the other key is what is delivered."""
    settings, budget = BUDGETS[shape]
    queue = lane_queue(**settings)
    others = fill(node, world, queue, clock, depth=4, blocked=3_000)
    assert life(node, queue, ledger, clock) == budget
    with ledger.operation("consume") as operation:
        (message,) = node.consume(queue)
    assert message["message_id"] in others
    assert sum(operation.calls.values()) == 3


def test_a_limit_costs_one_write_at_either_end(node: Node, ledger: Ledger) -> None:
    queue = lane_queue(max_queue_depth=10)
    node.publish(queue, id=1)
    with ledger.operation("publish") as publish:
        node.publish(queue, id=2)
    (message,) = node.consume(queue)
    with ledger.operation("ack") as ack:
        node.ack(queue, message)
    assert (_figures(publish.cost), _figures(ack.cost)) == ((2, 0, 3), (2, 0, 3))


def test_nothing_to_deliver_costs_one_read(node: Node, ledger: Ledger) -> None:
    with ledger.operation("consume") as operation:
        assert node.consume(lane_queue()) == []
    assert _figures(operation.cost) == (1, 1, 0)


@pytest.mark.parametrize("settings", [SIMPLE, SHARED])
def test_ten_at_once_are_one_look_and_ten_leases(node: Node, ledger: Ledger, settings: dict[str, Any]) -> None:
    queue = lane_queue(**settings)
    for number in range(15):
        node.publish(queue, id=number, group=number)
    with ledger.operation("consume") as operation:
        assert len(node.consume(queue, limit=10)) == 10
    assert sum(operation.calls.values()) == (11 if settings == SIMPLE else 21)


def test_a_duplicate_leaves_no_trace(node: Node, world: World, ledger: Ledger) -> None:
    for settings in (KEYED, SHARED_KEYED):
        queue = lane_queue(**settings)
        node.publish(queue, id=1, group="a")
        before = world.rows(world.state_table)
        with ledger.operation("publish") as operation, pytest.raises(Exception, match="primary key"):
            node.publish(queue, id=1, group="a")
        assert world.rows(world.state_table) == before
        assert sum(operation.calls.values()) == (1 if settings == KEYED else 2)
        world.wipe()
