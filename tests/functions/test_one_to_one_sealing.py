"""Bodies that were moved or changed in storage do not open, and hold up nothing else (L1)."""

from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant
from tests.worlds import World

shapes = pytest.mark.parametrize("settings", [{}, {"visibility_key": "v"}], ids=["alone", "shared"])


def bodies(world: World) -> list[tuple[str, dict[str, Any]]]:
    """Every stored item with a body, and its table."""
    tables = (world.state_table, world.edges_table)
    return [(table, row) for table in tables for row in world.rows(table) if "body" in row]


def put(world: World, table: str, row: dict[str, Any], body: bytes) -> None:
    world.client("dynamodb").put_item(TableName=table, Item={**row, "body": {"B": body}})


@shapes
@pytest.mark.parametrize("change", ["swap", "cut", "flip"])
def test_a_changed_body_is_told_and_its_neighbours_are_delivered(
    process: Process, tenant: Tenant, world: World, settings: dict[str, Any], change: str
) -> None:
    queue = QueueClient(process, tenant.key).create(**settings)
    for number in range(3):
        queue.publish({"v": number})
    (table, one), (_, two), _ = bodies(world)
    first, second = one["body"]["B"], two["body"]["B"]
    changed = {
        "swap": (second, first),
        "cut": (first[:-1], second[:10]),
        "flip": (first[:20] + bytes([first[20] ^ 1]) + first[21:], second[:-1] + bytes([second[-1] ^ 1])),
    }[change]
    put(world, table, one, changed[0])
    put(world, table, two, changed[1])
    taken = queue.consume(max_messages=10)
    assert sorted(message["error"] for message in taken if message["payload"] is None) == ["unreadable"] * 2
    assert len([message for message in taken if message["payload"] is not None]) == 1
    for message in taken:
        queue.ack(message)
    assert queue.stats()["depth"] == 0


@shapes
def test_a_dead_letter_opens_only_as_the_message_it_was(
    process: Process, tenant: Tenant, world: World, settings: dict[str, Any]
) -> None:
    queue = QueueClient(process, tenant.key).create(**settings)
    queue.publish({"v": 1})
    queue.nack(queue.one(), dead_letter=True)
    queue.publish({"v": 2})
    ((table, dead),) = [(table, row) for table, row in bodies(world) if "reason" in row]
    ((_, living),) = [(table, row) for table, row in bodies(world) if "reason" not in row]
    put(world, table, dead, living["body"]["B"])
    (letter,) = queue.dead_letters()
    assert (letter["payload"], letter["error"]) == (None, "unreadable")
    assert queue.call("dlq_redrive_one", path={"entry_id": letter["entry_id"]}).problem == (422, "key_field_invalid")
    assert queue.one()["payload"] == {"v": 2}
    assert queue.call("dlq_delete", path={"entry_id": letter["entry_id"]}).status == 204


def test_bodies_of_other_queues_and_tenants_do_not_open(
    process: Process, tenant: Tenant, stranger: Tenant, world: World
) -> None:
    queues = [
        QueueClient(process, tenant.key).create(),
        QueueClient(process, tenant.key, "other").create(),
        QueueClient(process, stranger.key).create(),
    ]
    for queue in queues:
        queue.publish({"secret": queue.queue})
    stored = bodies(world)
    for index, (table, row) in enumerate(stored):
        put(world, table, row, stored[(index + 1) % 3][1]["body"]["B"])
    for queue in queues:
        message = queue.one()
        assert (message["payload"], message["error"]) == (None, "unreadable")
