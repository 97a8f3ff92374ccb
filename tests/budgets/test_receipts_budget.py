"""What an `Idempotency-Key` costs beside its own notes: a receipt in the transaction that stores the message."""

from typing import Any

import pytest

from broker.ids import SeededIds
from broker.queues.kinds import Payload
from tests import lanes, streams
from tests.worlds import START, ManualClock, World
from tools.ledger import Cost, Ledger

PAYLOAD = Payload({"n": 1, "c": 2}, b'{"n":1,"c":2}')


@pytest.mark.parametrize(
    ("settings", "first", "again"),
    [
        ({}, (1, 0, 5), (1, 1, 0)),
        ({"primary_key": ["n"]}, (1, 0, 5), (1, 1, 0)),
        ({"visibility_key": ["c"]}, (2, 0, 6), (1, 1, 0)),
        ({"visibility_key": ["c"], "primary_key": ["n"]}, (3, 1, 8), (1, 1, 0)),
    ],
)
def test_to_one(
    world: World,
    clock: ManualClock,
    ledger: Ledger,
    settings: dict[str, Any],
    first: tuple[float, ...],
    again: tuple[float, ...],
) -> None:
    node, queue = lanes.Node(world, clock), lanes.lane_queue(**settings)
    for repeated, budget in ((False, first), (True, again)):
        ids = SeededIds(START, seed=b"s", again=repeated)
        with ledger.operation("publish") as operation:
            node.lanes.publish(queue, PAYLOAD, ids=ids, if_match=None)
        assert _figures(operation.cost) == budget


@pytest.mark.parametrize(
    ("settings", "first", "again"),
    [({}, (2, 0, 5), (1, 1, 0)), ({"primary_key": ["n"]}, (3, 1, 7), (1, 1, 0))],
)
def test_to_many(
    world: World,
    clock: ManualClock,
    ledger: Ledger,
    settings: dict[str, Any],
    first: tuple[float, ...],
    again: tuple[float, ...],
) -> None:
    node, queue = streams.Node(world, clock), streams.stream_queue(**settings)
    for repeated, budget in ((False, first), (True, again)):
        ids = SeededIds(START, seed=b"s", again=repeated)
        with ledger.operation("publish") as operation:
            node.publishing.publish(queue, PAYLOAD, ids=ids)
        assert _figures(operation.cost) == budget


def _figures(cost: Cost) -> tuple[float, ...]:
    return sum(cost.calls.values()), cost.read_units, cost.write_units
