"""What changes in key_value queues, by whom and by time: item_updates, item_sweep, limits, purges, removal."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.functions.items import ItemClient
from tests.processes import Process, Reply, Tenant
from tests.worlds import ManualClock, World
from tools.ledger import Ledger


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    """A tenant whose functions run by `clock`."""
    return timed.tenant(platform_key=platform_key)


@pytest.fixture
def prices(timed: Process, owner: Tenant) -> ItemClient:
    return ItemClient(timed, owner.key).create(on_duplicate="replace")


@pytest.fixture
def aging(timed: Process, owner: Tenant) -> ItemClient:
    return ItemClient(timed, owner.key, "aging").create(on_duplicate="reject", max_message_age_seconds=60)


def keys_of(entries: list[Any]) -> list[Any]:
    return [entry["key"][0] for entry in entries]


def test_equal_times_lose_nothing(prices: ItemClient) -> None:
    prices.put({"k": "1"})
    first = prices.updates(0)
    prices.put({"k": "2"})
    second = prices.updates(first["next"])
    assert (keys_of(first["items"]), keys_of(second["items"])) == (["1"], ["2"])
    stamp = first["items"][0]["modified_at"]
    for since in (stamp, 1_796_032_800_000, "2026-11-30T11:00:00+01:00"):
        assert sorted(keys_of(prices.changes(since)["items"])) == ["1", "2"]


@pytest.mark.parametrize(("partitions", "count", "limit"), [(1, 2500, 200), (3, 200, 30)])
def test_many_of_one_moment_come_once_each_by_page(
    timed: Process, owner: Tenant, partitions: int, count: int, limit: int
) -> None:
    queue = ItemClient(timed, owner.key, "many").create(partitions=partitions)
    for start in range(0, count, 100):
        queue.publish_many(*({"k": n} for n in range(start, start + 100)))
    changes = queue.changes(0, limit=limit)
    assert sorted(keys_of(changes["items"])) == list(range(count))
    quiet = queue.updates(changes["next"])
    assert (quiet["items"], quiet["deleted"], quiet["has_more"]) == ([], [], False)


def test_a_deleted_item_is_told_once(prices: ItemClient, clock: ManualClock) -> None:
    prices.put({"k": "a"})
    prices.put({"k": "b"})
    mark = prices.updates(0)["next"]
    clock.advance(seconds=5)
    prices.delete("a")
    change = prices.updates(mark)
    assert (change["items"], keys_of(change["deleted"])) == ([], ["a"])
    assert change["deleted"][0]["deleted_at"] == "2026-11-30T10:00:05.000Z"
    assert prices.updates(change["next"])["deleted"] == []
    prices.put({"k": "a"})
    again = prices.updates(change["next"])
    assert (keys_of(again["items"]), again["deleted"]) == (["a"], [])


def test_a_reader_who_was_away_for_over_7_days_has_to_read_all_again(prices: ItemClient, clock: ManualClock) -> None:
    prices.put({"k": "a"})
    mark = prices.updates(0)["next"]
    clock.advance(seconds=7 * 24 * 3600 - 1)
    assert prices.updates(mark)["items"] == []
    clock.advance(seconds=2)
    gone = prices.try_updates(mark)
    assert gone.problem == (410, "resync_required")
    assert prices.updates(gone.json["next"])["has_more"] is False
    assert prices.try_updates("2026-11-30T10:00:00.5Z").problem == (410, "resync_required")
    for before_the_queue in (0, 1, "2020-01-01T00:00:00Z", "2026-11-30T10:00:00Z"):
        assert keys_of(prices.updates(before_the_queue)["items"]) == ["a"]


def test_a_quiet_reader_is_never_told_to_read_all_again(prices: ItemClient, clock: ManualClock) -> None:
    prices.put({"k": "a"})
    mark = prices.updates(0)["next"]
    for _ in range(10):
        clock.advance(seconds=24 * 3600)
        answer = prices.updates(mark)
        assert (answer["items"], answer["deleted"]) == ([], [])
        mark = answer["next"]


def test_an_expired_item_is_absent_everywhere_at_once(aging: ItemClient, clock: ManualClock) -> None:
    aging.put({"k": "a", "n": 1})
    assert aging.get("a")["expires_at"] == "2026-11-30T10:01:00.000Z"
    mark = aging.updates(0)["next"]
    clock.advance(milliseconds=59_999)
    assert keys_of(aging.all()) == ["a"]
    assert aging.try_publish({"k": "a"}).problem == (409, "duplicate_key")
    clock.advance(milliseconds=1)
    assert aging.try_get("a").problem == (404, "not_found")
    assert aging.call("item_read", path={"key": "a"}).problem == (404, "not_found")
    assert aging.try_delete("a").problem == (404, "not_found")
    assert aging.lookup(["a"]) == {"items": [], "missing": [["a"]]}
    assert aging.all() == []
    assert aging.stats() == {"depth": 0, "oldest_message_age_seconds": None}
    assert aging.try_publish({"k": "a"}, headers={"If-Match": "*"}).problem == (412, "precondition_failed")
    change = aging.updates(mark)
    assert change["items"] == []
    assert change["deleted"] == [{"key": ["a"], "deleted_at": "2026-11-30T10:01:00.000Z"}]
    assert aging.try_publish({"k": "a", "n": 2}).status == 201
    later = aging.updates(change["next"])
    assert ([item["payload"]["n"] for item in later["items"]], later["deleted"]) == ([2], [])


def test_the_sweep_removes_what_has_expired_and_tells_nobody_twice(
    aging: ItemClient, clock: ManualClock, world: World
) -> None:
    aging.put({"k": "a", "text": "x" * 5000})
    mark = aging.updates(0)["next"]
    clock.advance(seconds=61)
    told = aging.updates(mark)
    assert aging.process.run("item_sweep") == {"done": 1}
    assert aging.process.run("item_sweep") == {"done": 0}
    assert world.objects() == []
    assert aging.updates(told["next"])["deleted"] == []
    late = aging.updates(mark)["deleted"]
    assert late == told["deleted"] == [{"key": ["a"], "deleted_at": "2026-11-30T10:01:00.000Z"}]


def test_a_changed_age_holds_for_what_is_stored(aging: ItemClient, clock: ManualClock) -> None:
    aging.put({"k": "a"})
    mark = aging.updates(0)["next"]
    clock.advance(seconds=90)
    expired = aging.updates(mark)
    assert keys_of(expired["deleted"]) == ["a"]
    body: dict[str, Any] = {"settings": {"max_message_age_seconds": 3600}}
    assert aging.call("queue_update", body=body).status == 200
    alive = aging.updates(expired["next"])
    assert (keys_of(alive["items"]), alive["deleted"]) == (["a"], [])
    assert keys_of(aging.all()) == ["a"]
    body = {"settings": {"max_message_age_seconds": 30}}
    assert aging.call("queue_update", body=body).status == 200
    assert aging.all() == []
    assert keys_of(aging.updates(alive["next"])["deleted"]) == ["a"]
    assert aging.call("queue_update", body={"settings": {"max_message_age_seconds": None}}).status == 200
    assert "expires_at" not in aging.get("a")


def test_a_limit_counts_items_and_lets_go_of_them(timed: Process, owner: Tenant) -> None:
    queue = ItemClient(timed, owner.key, "two").create(max_queue_depth=2, on_duplicate="replace")
    for key in ("a", "b"):
        assert queue.try_publish({"k": key}).status == 201
    assert queue.try_publish({"k": "c"}).problem == (409, "queue_full")
    assert queue.try_publish({"k": "a"}).status == 200
    assert queue.stats()["depth"] == 2
    queue.delete("a")
    assert queue.stats()["depth"] == 1
    assert queue.try_publish({"k": "c"}).status == 201
    assert queue.try_publish({"k": "d"}).problem == (409, "queue_full")


def test_a_refused_publish_evicts_nobody(timed: Process, owner: Tenant) -> None:
    settings: dict[str, Any] = {"max_queue_depth": 2, "overflow_policy": "drop_oldest_append"}
    queue = ItemClient(timed, owner.key, "dropping").create(**settings)
    for key in ("a", "b"):
        queue.put({"k": key})
    mark = queue.updates(0)["next"]
    assert queue.try_publish({"k": "b"}).problem == (409, "duplicate_key")
    assert queue.try_publish({"k": None}).status == 422
    assert queue.try_publish({"k": "c"}, headers={"If-Match": "*"}).status == 412
    assert keys_of(queue.all()) == ["a", "b"]
    assert queue.try_publish({"k": "c"}).status == 201
    assert keys_of(queue.all()) == ["b", "c"]
    assert queue.stats()["depth"] == 2
    change = queue.updates(mark)
    assert (keys_of(change["items"]), keys_of(change["deleted"])) == (["c"], ["a"])


@pytest.mark.parametrize("partitions", [1, 4])
def test_the_longest_unchanged_makes_room(timed: Process, owner: Tenant, clock: ManualClock, partitions: int) -> None:
    settings: dict[str, Any] = {
        "max_queue_depth": 3,
        "overflow_policy": "drop_oldest_append",
        "on_duplicate": "replace",
    }
    queue = ItemClient(timed, owner.key, "dropping").create(partitions=partitions, **settings)
    for key in ("a", "b", "c", "a", "d", "e"):
        clock.advance(milliseconds=1)
        queue.put({"k": key})
    assert keys_of(queue.all()) == ["a", "d", "e"]


def test_a_full_queue_of_expired_items_has_room(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    queue = ItemClient(timed, owner.key, "full").create(max_queue_depth=3, max_message_age_seconds=2)
    for key in ("a", "b", "c"):
        queue.put({"k": key})
    assert queue.try_publish({"k": "d"}).problem == (409, "queue_full")
    clock.advance(seconds=3)
    assert queue.stats()["depth"] == 0
    for key in ("a", "d", "e"):
        assert queue.try_publish({"k": key}).status == 201
    assert queue.try_publish({"k": "f"}).problem == (409, "queue_full")


def side_by_side(work: Callable[[int], Reply], count: int) -> list[Reply]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def test_parallel_publishers_never_pass_the_limit(process: Process, tenant: Tenant) -> None:
    queue = ItemClient(process, tenant.key, "racing").create(max_queue_depth=10)
    process.handler("message_publish")
    for _ in range(3):
        statuses = [reply.status for reply in side_by_side(lambda n: queue.try_publish({"k": n}), 30)]
        found = queue.all()
        assert (statuses.count(201), statuses.count(409), len(found)) == (10, 20, 10)
        for item in found:
            queue.delete(item["key"][0])


def test_parallel_replacements_leave_one_winner(process: Process, tenant: Tenant) -> None:
    queue = ItemClient(process, tenant.key, "racing").create()
    process.handler("message_publish")
    headers = {"If-Match": f'"{queue.put({"k": "a", "n": -1})["version"]}"'}
    replies = side_by_side(lambda n: queue.try_publish({"k": "a", "n": n}, headers=headers), 10)
    assert sorted(reply.status for reply in replies) == [200] + [412] * 9
    (won,) = [reply.json["version"] for reply in replies if reply.status == 200]
    assert queue.get("a")["version"] == won


def test_a_delete_of_a_version_does_not_take_the_one_that_replaced_it(process: Process, tenant: Tenant) -> None:
    queue = ItemClient(process, tenant.key, "racing-deletes").create(on_duplicate="replace")
    process.handler("message_publish"), process.handler("item_delete_by_key")
    for _ in range(10):
        version = queue.put({"k": "a"})["version"]
        calls = [lambda: queue.try_publish({"k": "a"}), lambda: queue.try_delete("a", if_match=f'"{version}"')]  # noqa: B023
        published, deleted = side_by_side(lambda n: calls[n](), 2)  # noqa: B023
        assert (published.status, deleted.status) in {(200, 412), (201, 204)}
        assert queue.get("a")["version"] == published.json["version"]


def test_a_purge_empties_the_queue_and_tells_its_readers(
    timed: Process, owner: Tenant, clock: ManualClock, world: World
) -> None:
    queue = ItemClient(timed, owner.key, "purged").create(max_queue_depth=5, partitions=2)
    for key in ("a", "b"):
        queue.put({"k": key, "text": "x" * 5000})
    mark = queue.updates(0)["next"]
    assert queue.call("queue_purge").status == 202
    clock.advance(milliseconds=1)
    queue.put({"k": "c"})
    timed.run("queue_sweep")
    assert keys_of(queue.all()) == ["c"]
    assert queue.stats()["depth"] == 1
    assert world.objects() == []
    change = queue.updates(mark)
    assert (keys_of(change["items"]), sorted(keys_of(change["deleted"]))) == (["c"], ["a", "b"])


def test_a_deleted_queue_leaves_nothing(timed: Process, owner: Tenant, clock: ManualClock, world: World) -> None:
    before = world.rows(world.state_table)
    queue = ItemClient(timed, owner.key, "doomed").create(max_queue_depth=500, partitions=3)
    queue.publish_many(*({"k": n, "text": "x" * (5000 if n == 7 else 1)} for n in range(60)))
    queue.delete(1)
    assert queue.call("queue_delete").status == 204
    assert queue.call("item_list").problem == (404, "not_found")
    timed.run("queue_sweep")
    clock.advance(seconds=120)
    timed.run("queue_sweep")
    assert world.objects() == []
    left = [row for row in world.rows(world.state_table) if not row["sk"]["S"].startswith("freed#")]
    assert left == before


@pytest.mark.parametrize("settings", [{}, {"on_duplicate": "replace"}, {"max_message_age_seconds": 60}], ids=repr)
def test_what_publishing_costs(timed: Process, owner: Tenant, ledger: Ledger, settings: dict[str, Any]) -> None:
    queue = ItemClient(timed, owner.key, "costs").create(**settings)
    queue.put({"k": "warm"})
    with ledger.operation("publish") as cost:
        queue.put({"k": "a", "text": "x" * 500})
    assert sum(cost.calls.values()) <= 2
    assert cost.calls["dynamodb.UpdateItem"] == 1
    if settings.get("on_duplicate") == "replace":
        with ledger.operation("replace") as cost:
            queue.put({"k": "a", "text": "x" * 500})
        assert sum(cost.calls.values()) <= 2


@pytest.mark.parametrize("partitions", [1, 3])
def test_what_reading_costs(timed: Process, owner: Tenant, ledger: Ledger, partitions: int) -> None:
    queue = ItemClient(timed, owner.key, "costs").create(partitions=partitions)
    queue.publish_many(*({"k": n} for n in range(60)))
    queue.get(1)
    queue.page()
    mark = queue.changes(0)["next"]
    reads: list[tuple[str, Callable[[], Any], dict[str, int]]] = [
        ("get", lambda: queue.get(1), {"dynamodb.GetItem": 1}),
        ("lookup", lambda: queue.lookup([1], [2], [99]), {"dynamodb.BatchGetItem": 1}),
        ("list", lambda: queue.page(limit=40), {"dynamodb.Query": partitions}),
        ("updates", lambda: queue.updates(mark), {"dynamodb.Query": partitions}),
        ("all updates", lambda: queue.updates(0, limit=40), {"dynamodb.Query": partitions}),
    ]
    for name, read, calls in reads:
        with ledger.operation(name) as cost:
            read()
        assert dict(cost.calls) == calls, name


def test_a_delta_costs_the_same_whatever_the_store_holds(
    timed: Process, owner: Tenant, clock: ManualClock, ledger: Ledger
) -> None:
    units = []
    for size in (20, 400):
        queue = ItemClient(timed, owner.key, f"of-{size}").create(on_duplicate="replace")
        for start in range(0, size, 100):
            queue.publish_many(*({"k": n} for n in range(start, min(size, start + 100))))
        clock.advance(seconds=700)
        mark = queue.changes(0)["next"]
        queue.publish_many(*({"k": n} for n in range(10)))
        with ledger.operation(f"delta of {size}") as cost:
            assert len(queue.updates(mark)["items"]) == 10
        units.append((dict(cost.calls), cost.read_units))
    assert units[0] == units[1]
    assert units[0][0] == {"dynamodb.Query": 1}
