"""The process dies before and after each of its calls, in every operation of queue/v1; what holds is checked after."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import World


class Deaths:
    """Runs an operation on a log until it has died at each of its calls, each time in a world as it was."""

    def __init__(self, world: World, faults: ModuleType) -> None:
        self._world = world
        self._faults = faults
        process = Process()
        self.tenant: Tenant = process.tenant(platform_key=f"platform.{world.platform_key}")
        self._rows = world.rows(world.state_table)
        self.log = LogClient(process, self.tenant.key)

    def of(self, operation: Callable[[LogClient], object], *, prepare: Callable[[LogClient], object]) -> Any:
        """Yields each point of death, for what must hold to be checked with `self.log`, a living process."""

        def restore() -> None:
            self._world.wipe()
            for row in self._rows:
                self._world.client("dynamodb").put_item(TableName=self._world.state_table, Item=row)
            self.log = LogClient(Process(), self.tenant.key)
            prepare(self.log)

        for point in self._faults.crash_points(lambda: operation(self.log), prepare=restore):
            self.log = LogClient(Process(), self.tenant.key)
            yield point

    def stored(self) -> list[str]:
        return [row["seq"]["S"].partition("#")[2] for row in self._world.rows(self._world.edges_table)]

    def objects(self) -> list[str]:
        return [key.rpartition("/")[2] for key in self._world.objects()]


@pytest.fixture
def deaths(world: World, faults: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Deaths:
    monkeypatch.setattr("edge.edges.WRITE_BATCH", 3)
    return Deaths(world, faults)


def messages(count: int, *, large: int = -1) -> list[dict[str, Any]]:
    return [{"key": "k", "seq": n, "value": "x" * 70_000 if n == large else n} for n in range(count)]


def test_enqueue_leaves_whole_messages_or_none(deaths: Deaths) -> None:
    counts = set()
    for _ in deaths.of(lambda log: log.enqueue(*messages(7, large=4)), prepare=lambda log: log.create()):
        page = deaths.log.poll()["messages"]
        counts.add(len(page))
        assert all("error" not in message for message in page)
        assert all(message["value"] in (message["seq"], "x" * 70_000) for message in page)
        large = [message["id"] for message in page if message["seq"] == 4]
        assert set(large) <= set(deaths.objects()), "the object comes before the message"
    assert {0, 7} <= counts


def test_poll_changes_nothing(deaths: Deaths) -> None:
    before: list[str] = []

    def prepare(log: LogClient) -> None:
        log.create()
        log.enqueue(*messages(7, large=4))
        before[:] = deaths.stored()

    for _ in deaths.of(lambda log: log.poll(), prepare=prepare):
        assert deaths.stored() == before
        assert len(deaths.log.poll()["messages"]) == 7


@pytest.mark.parametrize("by", ["offset", "cursor", "chain"])
def test_commit_deletes_what_was_given_only_and_is_finished_by_its_repeat(deaths: Deaths, by: str) -> None:
    place: dict[str, Any] = {}
    given: set[str] = set()

    def prepare(log: LogClient) -> None:
        log.create()
        log.enqueue(*messages(9, large=2))
        page = log.poll(limit=7)
        chain = log.poll(cursor=log.poll(limit=4)["cursor"], limit=3)
        given.clear()
        given.update(message["id"] for message in page["messages"])
        place.clear()
        name = "offset" if by == "offset" else "cursor"
        place[name] = (chain if by == "chain" else page)[name]
        log.enqueue({"key": "k", "seq": 8, "value": "late"})

    for _ in deaths.of(lambda log: log.commit(**place), prepare=prepare):
        left = deaths.stored()
        assert len(left) >= 3
        assert len(given - set(left)) + len(set(left)) == 10, "only what was given is gone"
        for message in deaths.log.poll()["messages"]:
            assert "error" not in message, "an edge goes before its object"
        deaths.log.commit(**place)
        remaining = set(deaths.stored())
        assert len(remaining - given) == 3
        if by != "chain":  # an earlier page of which a part is gone is left to be delivered again
            assert remaining.isdisjoint(given)


def test_create_defines_one_log_or_none(deaths: Deaths) -> None:
    statuses = []
    for _ in deaths.of(lambda log: log.create(partitions=3), prepare=lambda _: None):
        statuses.append(deaths.log.call("log_read").status)
        assert deaths.log.create(partitions=3).call("log_partitions").json["partitions"] == 3
        listed = deaths.log.process.call("log_list", key=deaths.log.key).json["queues"]
        assert len(listed) == 1
    assert set(statuses) == {200, 404}


def test_delete_leaves_a_log_or_an_empty_name(deaths: Deaths) -> None:
    def prepare(log: LogClient) -> None:
        log.create()
        log.enqueue(*messages(4, large=1))
        log.call("log_disable")

    seen = set()
    for _ in deaths.of(lambda log: log.call("log_delete"), prepare=prepare):
        there = deaths.log.call("log_read").status == 200
        seen.add(there)
        if there:
            assert deaths.log.call("log_stats").json["partitions"][0]["messages"] == 4
            assert deaths.log.call("log_delete").status == 204
        assert deaths.log.create().seqs() == []
        deaths.log.process.run("queue_sweep")
        assert deaths.stored() == deaths.objects() == []
    assert seen == {True, False}
