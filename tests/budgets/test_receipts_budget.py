"""What an `Idempotency-Key` costs beside its own notes: a receipt in the transaction that stores the message."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from broker.ids import SeededIds
from broker.queues.kinds import Payload
from tests import lanes, streams
from tests.worlds import START, ManualClock, World
from tools.ledger import Ledger

Figures: TypeAlias = tuple[float, float, float]

PAYLOAD = Payload({"n": 1, "c": 2}, b'{"n":1,"c":2}')
REPEAT: Figures = (1, 1, 0)


def costs(ledger: Ledger, publish: Callable[[SeededIds], object]) -> list[Figures]:
    """Calls, read and write units of the first attempt and of a repeat."""
    found: list[Figures] = []
    for again in (False, True):
        with ledger.operation("publish") as operation:
            publish(SeededIds(START, seed=b"s", again=again))
        cost = operation.cost
        found.append((sum(cost.calls.values()), cost.read_units, cost.write_units))
    return found


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({}, (1, 0, 5)),
        ({"primary_key": ["n"]}, (1, 0, 5)),
        ({"visibility_key": ["c"]}, (2, 0, 6)),
        ({"visibility_key": ["c"], "primary_key": ["n"]}, (3, 1, 8)),
    ],
)
def test_to_one(world: World, clock: ManualClock, ledger: Ledger, settings: dict[str, Any], first: Figures) -> None:
    node, queue = lanes.Node(world, clock), lanes.lane_queue(**settings)
    assert costs(ledger, lambda ids: node.lanes.publish(queue, PAYLOAD, ids=ids, if_match=None)) == [first, REPEAT]


@pytest.mark.parametrize(("settings", "first"), [({}, (2, 0, 5)), ({"primary_key": ["n"]}, (3, 1, 7))])
def test_to_many(world: World, clock: ManualClock, ledger: Ledger, settings: dict[str, Any], first: Figures) -> None:
    node, queue = streams.Node(world, clock), streams.stream_queue(**settings)
    assert costs(ledger, lambda ids: node.publishing.publish(queue, PAYLOAD, ids=ids)) == [first, REPEAT]
