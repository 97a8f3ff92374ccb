"""Processes die at every call of upload, delete, delivery, purge and sweep: no row without its object, no lost
document, no copy twice, and nothing left over in the end."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from moto.dynamodb.models import dynamodb_backends

from tests.functions.documents import DocumentClient
from tests.processes import Process
from tests.worlds import ManualClock, World
from tools import faults, moto_threads, tables

DAY = 24 * 3600
READS = {"GetItem", "BatchGetItem", "Query", "GetObject", "ListObjectsV2", "Decrypt"}
LIMITS: list[dict[str, Any]] = [{}, {"max_queue_depth": 2, "overflow_policy": "drop_oldest_append"}]
with_and_without_limit = pytest.mark.parametrize("scene", LIMITS, ids=["unlimited", "limited"], indirect=True)


@pytest.fixture
def clock() -> ManualClock:
    """Begins now, since objects are dated by the bucket."""
    import time

    return ManualClock(time.time_ns() // 1_000_000)


class Scene:
    """Two tenants' queues, one subscribed to the other, and two documents; made once, and put back for every death."""

    def __init__(self, world: World, clock: ManualClock, names: tuple[str, ...], limits: dict[str, Any]) -> None:
        self.world = world
        self.clock = clock
        self.limits = limits
        self.process = Process(clock=clock)
        platform_key = f"platform.{world.platform_key}"
        self._owner = self.process.tenant(platform_key=platform_key).key
        self._other = self.process.tenant("other", platform_key=platform_key).key
        self._clients()
        self.source.create(allow_subscriptions=True, **limits)
        self.extra.create(allow_subscriptions=True)
        self.target.create()
        self.target.subscribe(self.source)
        for name in names:
            self.upload(name)
        self.clock.advance(seconds=6)
        self._tables = {name: copy.deepcopy(self._items(name)) for name in (world.state_table, world.edges_table)}
        bucket = {"Bucket": world.bucket}
        objects = world.client("s3")
        self._objects = {key: objects.get_object(**bucket, Key=key)["Body"].read() for key in world.objects()}
        self._now = clock.now

    def begin(self) -> None:
        """Everything as it was, and a process that remembers nothing."""
        self.world.wipe()
        self.clock.now = self._now
        for name, items in self._tables.items():
            self._items(name).update(copy.deepcopy(items))
        for key, body in self._objects.items():
            self.world.client("s3").put_object(Bucket=self.world.bucket, Key=key, Body=body)
        self.process = Process(clock=self.clock)
        self._clients()

    def _clients(self) -> None:
        self.source = DocumentClient(self.process, self._owner, "source")
        self.extra = DocumentClient(self.process, self._owner, "extra")
        self.target = DocumentClient(self.process, self._other, "target")

    def _items(self, table: str) -> dict[Any, Any]:
        items: dict[Any, Any] = dynamodb_backends[moto_threads.ACCOUNT][tables.REGION].tables[table].items
        return items

    def upload(self, name: str) -> str:
        stored = self.source.upload(f"name\n{name}\n", name=name)
        self.clock.advance(milliseconds=1)
        return str(stored["document_id"])

    def settle(self) -> None:
        """What the schedules do, long enough for everything to be over."""
        for _ in range(2):
            self.process.run("document_deliver")
        self.clock.advance(seconds=2 * DAY)
        self.process.run("object_sweep")
        self.process.run("queue_sweep")

    def check(self) -> None:
        """Every row has its object and opens, every object its row; nothing waits any more."""
        rows = self.world.rows(self.world.state_table)
        keys = {
            row["pk"]["S"].replace("documents#", "document/") + "/" + row["sk"]["S"]
            for row in rows
            if _is_document(row)
        }
        assert keys == set(self.world.objects())
        for client in (self.source, self.target):
            for document in client.listed():
                assert client.download(document["document_id"]) == f"name\n{document['name']}\n".encode()
        assert [row["pk"]["S"] for row in rows if row["pk"]["S"].startswith(("outbox", "copies"))] == []
        for row in rows:
            if row["sk"]["S"] == "depth":
                assert int(row["count"]["N"]) == len(self.source.listed())


@pytest.fixture
def scene(request: pytest.FixtureRequest, world: World, clock: ManualClock) -> Scene:
    """With two documents, and a limit if the test asks for one."""
    return Scene(world, clock, ("one", "two"), getattr(request, "param", {}))


@pytest.fixture
def small(world: World, clock: ManualClock) -> Scene:
    """With one document."""
    return Scene(world, clock, ("one",), {})


def deaths(
    scene: Scene, run: Callable[[], object], *, prepare: Callable[[], object] = lambda: None
) -> Iterator[faults.CrashPoint]:
    """Every state that a death can leave: before the first call, and after each that writes. It dies at all of them."""

    def begin() -> None:
        scene.begin()
        prepare()

    for point in faults.crash_points(run, prepare=begin):
        if point.number == 1 or (point.after and point.call.rpartition(".")[2] not in READS):
            yield point


@with_and_without_limit
def test_an_upload_that_dies_leaves_all_or_nothing(scene: Scene) -> None:
    points = 0
    for point in deaths(scene, lambda: scene.source.try_upload("name\nthree\n", name="three")):
        points += 1
        seen = scene.source.names()
        assert seen in (["one", "two"], [*["one", "two"][len(scene.limits) // 2 :], "three"]), point
        stored = "three" in seen
        scene.settle()
        scene.check()
        assert scene.target.names() == ["one", "two"] + ["three"] * stored, point
    assert points >= 4


def test_an_upload_that_dies_and_is_repeated_with_its_key_is_stored_once(scene: Scene) -> None:
    headers = {"idempotency-key": "k"}

    def upload() -> None:
        scene.source.try_upload("name\nthree\n", name="three", headers=headers)

    for point in deaths(scene, upload):
        reply = scene.source.try_upload("name\nthree\n", name="three", headers=headers)
        if reply.status == 409:  # the dead one still counts as running
            assert reply.code == "idempotency_in_progress"
            scene.clock.advance(seconds=60)
            continue
        assert reply.status == 201, point
        scene.settle()
        scene.check()
        assert scene.target.names() == ["one", "two", "three"], point
        assert scene.source.names().count("three") == 1


@with_and_without_limit
def test_a_deletion_that_dies_leaves_all_or_nothing(scene: Scene) -> None:
    def delete() -> None:
        scene.source.try_delete(scene.source.listed()[0]["document_id"])

    for point in deaths(scene, delete):
        assert scene.source.names() in (["one", "two"], ["two"]), point
        scene.settle()
        scene.check()
        assert scene.target.names() == ["one", "two"], point


def test_a_delivery_that_dies_is_finished_by_the_next_and_made_once(small: Scene) -> None:
    points = 0
    for point in deaths(small, lambda: small.process.run("document_deliver")):
        points += 1
        made = small.target.listed()
        for document in made:
            small.target.delete(document["document_id"])
        small.settle()
        small.check()
        assert small.target.names() == ([] if made else ["one"]), point
        state = small.target.subscription()
        assert (state["delivered"], state["pending"], state["failed"]) == (1, 0, 0), point
    assert points >= 5


def test_a_delivery_of_a_deleted_document_that_dies_loses_nothing(small: Scene) -> None:
    def delete() -> None:
        for document in small.source.listed():
            small.source.delete(document["document_id"])

    for point in deaths(small, lambda: small.process.run("document_deliver"), prepare=delete):
        small.settle()
        small.check()
        assert small.target.names() == ["one"], point


@with_and_without_limit
def test_a_purge_that_dies_is_finished_by_the_sweep(scene: Scene) -> None:
    for point in deaths(scene, lambda: scene.source.call("queue_purge")):
        noted = any(row["pk"]["S"].startswith("purged#") for row in scene.world.rows(scene.world.state_table))
        scene.settle()
        scene.check()
        assert scene.source.names() == ([] if noted else ["one", "two"]), point
        assert scene.target.names() == ["one", "two"], point


def test_a_subscription_that_dies_is_there_or_not(scene: Scene) -> None:
    def subscribe() -> None:
        scene.target.try_subscribe(extra_id)

    extra_id = scene.extra.queue_id
    for point in deaths(scene, subscribe):
        extra = scene.extra
        source_id = scene.target.subscription()["source_queue_id"]
        assert [len(scene.source.subscribers()), len(extra.subscribers())] in ([1, 0], [0, 1]), point
        assert source_id == (scene.source.queue_id if scene.source.subscribers() else extra.queue_id)
        scene.upload("three")
        scene.settle()
        expected = ["one", "two", "three"] if source_id == scene.source.queue_id else []
        assert scene.target.names() == expected, point


def _is_document(row: dict[str, Any]) -> bool:
    return str(row["pk"]["S"]).startswith("documents#")
