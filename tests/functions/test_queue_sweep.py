"""queue_sweep: what deleted queues and logs held is removed; one queue's trouble does not hold up the others."""

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


def test_a_deleted_log_is_emptied_and_forgotten_after_a_minute(
    timed: Process, owner: Tenant, clock: ManualClock, world: World
) -> None:
    log = LogClient(timed, owner.key).create(partitions=3)
    for number in range(30):
        log.enqueue({"key": f"k{number}", "seq": number, "value": "x"})
    assert log.call("log_disable").status == 200
    assert log.call("log_delete").status == 204
    assert timed.run("queue_sweep") == {"done": 1}
    assert world.rows(world.edges_table) == []
    clock.advance(seconds=66)
    assert timed.run("queue_sweep") == {"done": 1}
    assert timed.run("queue_sweep") == {"done": 0}
