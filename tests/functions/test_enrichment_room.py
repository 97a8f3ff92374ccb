"""A full stream queue whose waiting messages are past their time: whoever publishes meanwhile loses nothing by it."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.functions.items import ItemClient
from tests.functions.queues import QueueClient
from tests.interleaving import Turns
from tests.processes import Process
from tests.worlds import ManualClock
from tools.calls import watching


class Patient(Process):
    """A process in which, while it waits, something else happens."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def _wait(self, seconds: float) -> None:
        self.meanwhile()
        super()._wait(seconds)


@pytest.mark.parametrize("policy", ["reject", "drop_oldest_append"])
@pytest.mark.parametrize("kind", ["stream_to_one", "stream_to_many"])
def test_publishers_that_meet_while_room_is_made_are_both_stored(
    clock: ManualClock, platform_key: str, kind: str, policy: str
) -> None:
    process = Patient(clock=clock)
    key = process.tenant(platform_key=platform_key).key
    ItemClient(process, key, "items").create(primary_key=["f"]).put({"f": "live"})
    settings: dict[str, Any] = {"lookup_queue": "items", "foreign_key": ["f"], "missing_lookup": "defer"}
    at, over = 0, False
    while not over:
        at += 1
        queue = QueueClient(process, key, f"q{at}").create(
            kind, **settings, defer_ttl_seconds=3, max_queue_depth=2, overflow_policy=policy
        )
        queue.consume()
        for number in range(2):
            queue.publish({"n": number, "f": f"never {at}"})
        clock.advance(seconds=4)
        turns, statuses = Turns(random.Random(0)), list[int]()
        process.meanwhile = turns.finish
        with watching(turns):
            turns.start("publish", lambda q=queue, s=statuses: s.append(q.try_publish({"n": 10, "f": "live"}).status))  # type: ignore[misc]
            for _ in range(at):
                if turns.operations:
                    turns.step()
            over = not turns.operations
            statuses.append(queue.try_publish({"n": 11, "f": "live"}).status)
            turns.finish()
        assert statuses == [201, 201], at
        found = [one["payload"]["n"] for one in queue.consume(max_messages=10)]
        assert sorted(found) == [10, 11], at
        assert queue.call("queue_delete").status == 204
        clock.advance(seconds=6)
    assert at > 4
