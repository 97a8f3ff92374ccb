"""Waiting and promoting: either side may die at any of its calls, or work at any moment of the other; each message that
was accepted is delivered once, joined, in order."""

import functools
import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.functions.items import ItemClient
from tests.functions.queues import QueueClient
from tests.interleaving import Turns
from tests.processes import Process, Reply, Tenant
from tests.worlds import ManualClock
from tools.calls import Call, Outcome, Proceed, Watcher, watching

KINDS = pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("stream_to_one", {}),
        ("stream_to_one", {"primary_key": ["n"]}),
        ("stream_to_one", {"primary_key": ["n"], "visibility_key": ["customer"]}),
        ("stream_to_many", {}),
        ("stream_to_many", {"primary_key": ["n"]}),
    ],
    ids=["alone", "alone-keyed", "shared", "many", "many-keyed"],
)


class Shop:
    """A stream and the queue it looks up, made anew for each attempt."""

    def __init__(self, process: Process, owner: Tenant, kind: str, settings: dict[str, Any]) -> None:
        self.process, self.owner, self.kind, self.settings = process, owner, kind, settings
        self.made = 0
        self.orders = self.customers = QueueClient(process, owner.key)

    def prepare(self) -> None:
        self.made += 1
        name = f"customers-{self.made}"
        items = ItemClient(self.process, self.owner.key, name)
        self.customers = items.create(primary_key=["id"], on_duplicate="replace")
        self.orders = QueueClient(self.process, self.owner.key, f"orders-{self.made}").create(
            self.kind, lookup_queue=name, foreign_key=["customer"], missing_lookup="defer", **self.settings
        )
        self.process.handler("message_publish")

    def order(self, n: int) -> Reply:
        return self.orders.try_publish({"customer": 7, "n": n})

    def arrive(self) -> Reply:
        return self.customers.try_publish({"id": 7, "name": "Ann"})

    def drain(self) -> list[Any]:
        """What is delivered, in order, all of it settled."""
        found: list[Any] = []
        while messages := self.orders.consume(max_messages=10):
            for message in messages:
                assert message["payload"]["name"] == "Ann"
                found.append(message["payload"]["n"])
                self.orders.ack(message)
        return found


@pytest.fixture
def shop_of(timed: Process, platform_key: str) -> Callable[[str, dict[str, Any]], Shop]:
    owner = timed.tenant(platform_key=platform_key)
    return lambda kind, settings: Shop(timed, owner, kind, settings)


@KINDS
def test_a_publisher_of_the_item_dies(
    shop_of: Callable[[str, dict[str, Any]], Shop],
    kind: str,
    settings: dict[str, Any],
    faults: ModuleType,
    clock: ManualClock,
) -> None:
    shop = shop_of(kind, settings)

    def prepare() -> None:
        shop.prepare()
        for n in range(3):
            assert shop.order(n).json["status"] == "pending_enrichment"

    for point in faults.crash_points(shop.arrive, prepare=prepare):
        stored = shop.customers.call("item_read", path={"key": "7"}).status == 200
        clock.advance(seconds=6)
        shop.process.run("message_promote")
        clock.advance(seconds=6)
        assert shop.drain() == ([0, 1, 2] if stored else []), point
        if not stored:
            shop.arrive()
            clock.advance(seconds=6)
            assert shop.drain() == [0, 1, 2], point


@KINDS
def test_a_publisher_that_lets_a_message_wait_dies(
    shop_of: Callable[[str, dict[str, Any]], Shop],
    kind: str,
    settings: dict[str, Any],
    faults: ModuleType,
    clock: ManualClock,
) -> None:
    shop = shop_of(kind, settings)
    for point in faults.crash_points(lambda: shop.order(1), prepare=shop.prepare):
        again = shop.order(1)
        waits = again.status == 409 or not settings.get("primary_key")
        assert again.status in (201, 409), point
        assert shop.order(2).status == 201
        shop.arrive()
        clock.advance(seconds=6)
        found = shop.drain()
        expected = [[1, 2], [1, 1, 2]] if waits and again.status == 201 else [[1, 2]]
        assert found in expected, point
        clock.advance(seconds=200)
        shop.process.run("message_promote")
        assert shop.drain() == [], point


@KINDS
def test_each_side_at_every_moment_of_the_other(
    shop_of: Callable[[str, dict[str, Any]], Shop],
    kind: str,
    settings: dict[str, Any],
    clock: ManualClock,
) -> None:
    """One side stops before its n-th call, the other runs from beginning to end, the first goes on."""
    shop = shop_of(kind, settings)
    for first, second, waiting in (
        (lambda: shop.order(9), shop.arrive, 0),
        (shop.arrive, lambda: shop.order(9), 1),
        (shop.arrive, shop.arrive, 2),
    ):
        for at in range(1, 40):
            shop.prepare()
            for n in range(waiting):
                shop.order(n)
            if not _interrupted(first, second, at=at):
                break
            ordered = first != second
            clock.advance(seconds=6)
            found = shop.drain()
            assert sorted(found) == [*range(waiting), *([9] if ordered else [])], at
            assert [n for n in found if n != 9] == list(range(waiting)), at
            shop.process.run("message_promote")
            assert shop.drain() == [], at


@KINDS
@pytest.mark.parametrize("seed", range(4))
def test_both_sides_in_disorder(
    shop_of: Callable[[str, dict[str, Any]], Shop],
    kind: str,
    settings: dict[str, Any],
    seed: int,
    clock: ManualClock,
) -> None:
    """Messages, items and the schedule under way together, one AWS call at a time, some of them dying."""
    rng, shop, accepted = random.Random(seed), shop_of(kind, settings), set[int]()
    shop.prepare()
    turns = Turns(rng)

    def order(n: int) -> None:
        reply = shop.order(n)
        assert reply.status in (201, 503), reply
        if reply.status == 201:
            accepted.add(n)

    works: list[Callable[[], object]] = [functools.partial(order, n) for n in range(8)]
    works += [shop.arrive, shop.arrive, *(lambda: shop.process.run("message_promote"),) * 2]
    rng.shuffle(works)
    with watching(turns):
        for work in works:
            turns.start("work", work)
            for _ in range(rng.randint(0, 6)):
                turns.step()
            if turns.operations and rng.random() < 0.15:
                turns.kill(rng.choice(turns.operations))
        while turns.operations:
            turns.step()
    clock.advance(seconds=60)
    assert shop.arrive().status in (200, 201)
    shop.process.run("message_promote")
    clock.advance(seconds=6)
    found = shop.drain()
    assert len(found) == len(set(found))
    assert set(found) >= accepted
    assert len(accepted) >= 4


class Interruption(Watcher):
    """Runs something before the `at`-th call of what is going on."""

    def __init__(self, work: Callable[[], Reply], *, at: int) -> None:
        self.seen = 0
        self._work = work
        self._at = at
        self._inside = False

    def attempt(self, call: Call, proceed: Proceed) -> Outcome:
        if not self._inside:
            self.seen += 1
            if self.seen == self._at:
                self._inside = True
                assert self._work().status in (200, 201)
                self._inside = False
        return proceed(call)


def _interrupted(first: Callable[[], Reply], second: Callable[[], Reply], *, at: int) -> bool:
    """Run `second` before the `at`-th call of `first`; False when there are not so many."""
    interruption = Interruption(second, at=at)
    with watching(interruption):
        assert first().status in (200, 201)
    return interruption.seen >= at
