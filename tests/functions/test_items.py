"""Items of key_value queues: item_list, item_read, item_read_by_key, item_delete, item_delete_by_key, item_lookup."""

import json
from typing import Any

import pytest

from broker.jsontext import Number
from tests.functions.items import ItemClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World


@pytest.fixture
def prices(process: Process, tenant: Tenant) -> ItemClient:
    return ItemClient(process, tenant.key).create()


@pytest.fixture
def replacing(process: Process, tenant: Tenant) -> ItemClient:
    return ItemClient(process, tenant.key, "replacing").create(on_duplicate="replace")


def test_an_item_is_stored_and_read_digit_for_digit(prices: ItemClient) -> None:
    text = '{"k": "a", "price": 12.50, "big": 9007199254740993, "deep": {"x": [1e400, null]}, "": "é"}'
    reply = prices.try_publish(text)
    assert reply.status == 201
    assert reply.json["status"] == "stored"
    assert reply.json["key"] == ["a"]
    item = prices.get("a")
    assert set(item) == {"key", "payload", "version", "modified_at"}
    assert item["version"] == reply.json["version"] == reply.json["message_id"]
    assert item["modified_at"] == reply.json["published_at"]
    assert item["payload"]["price"] == Number("12.50")
    assert item["payload"]["deep"] == {"x": [Number("1e400"), None]}
    assert item["payload"]["big"] == 9007199254740993


def test_a_second_item_under_a_key_is_refused_with_the_first_one_s_id(prices: ItemClient) -> None:
    first = prices.put({"k": "a", "n": 1})
    again = prices.try_publish({"k": "a", "n": 2})
    assert again.problem == (409, "duplicate_key")
    assert (again.json["message_id"], again.json["message_status"]) == (first["message_id"], "stored")
    assert prices.get("a")["payload"]["n"] == 1


def test_a_replacing_queue_answers_201_then_200(replacing: ItemClient) -> None:
    assert replacing.try_publish({"k": "a", "n": 1}).status == 201
    assert replacing.try_publish({"k": "a", "n": 2}).status == 200
    replacing.delete("a")
    assert replacing.try_publish({"k": "a", "n": 3}).status == 201
    assert replacing.get("a")["payload"]["n"] == 3


@pytest.mark.parametrize("on_duplicate", ["reject", "replace"])
def test_if_match_replaces_the_version_that_it_names_and_no_other(
    process: Process, tenant: Tenant, on_duplicate: str
) -> None:
    queue = ItemClient(process, tenant.key, f"matching-{on_duplicate}").create(on_duplicate=on_duplicate)
    first = queue.put({"k": "a", "n": 1})["version"]
    match = {"If-Match": f'"{first}"'}
    second = queue.try_publish({"k": "a", "n": 2}, headers=match)
    assert second.status == 200
    assert queue.try_publish({"k": "a", "n": 3}, headers=match).problem == (412, "precondition_failed")
    assert queue.try_publish({"k": "a", "n": 4}, headers={"If-Match": "*"}).status == 200
    assert queue.try_publish({"k": "b"}, headers={"If-Match": "*"}).problem == (412, "precondition_failed")
    assert queue.get("a")["payload"]["n"] == 4
    queue.delete("a")
    assert queue.try_publish({"k": "a"}, headers={"If-Match": "*"}).problem == (412, "precondition_failed")


def test_a_delete_with_if_match_removes_the_version_that_it_names_and_no_other(replacing: ItemClient) -> None:
    refused = (412, "precondition_failed")
    first = replacing.put({"k": "a", "n": 1})["version"]
    second = replacing.put({"k": "a", "n": 2})["version"]
    for version in (f'"{first}"', first, "", "W/", f'"{first}", "{first.lower()}"'):
        assert _deletions(replacing, "a", version) == [refused, refused]
    assert replacing.get("a")["version"] == second
    for deletes in (replacing.try_delete, replacing.try_delete_text):
        for named in ('"{0}"', '"{1}", "{0}"', "{0}", "*"):
            version = replacing.put({"k": "a"})["version"]
            assert deletes("a", if_match=named.format(version, first)).status == 204
            assert deletes("a", if_match="*").problem == refused
            assert deletes("a").problem == (404, "not_found")


def test_an_if_match_may_name_a_hundred_versions(replacing: ItemClient) -> None:
    version = replacing.put({"k": "a"})["version"]
    names = ", ".join([f'"{n}"' for n in range(99)] + [f'"{version}"'])
    too_many = f'{names}, "100"'
    assert _deletions(replacing, "a", too_many) == [(400, "validation_failed")] * 2
    assert replacing.try_publish({"k": "a"}, headers={"If-Match": too_many}).fields == ["If-Match"]
    assert replacing.try_publish({"k": "a"}, headers={"If-Match": names}).status == 200


def _deletions(queue: ItemClient, key: str, if_match: str) -> list[tuple[int, str]]:
    return [deletes(key, if_match=if_match).problem for deletes in (queue.try_delete, queue.try_delete_text)]


def test_keys_are_typed_and_exact(prices: ItemClient) -> None:
    distinct = [1, "1", True, "true", "null", 9007199254740993, 9007199254740992, "", " ", "\0", "1.0"]
    for value in distinct:
        prices.put({"k": value})
    for text in ('{"k": 1.0}', '{"k": 1e0}', '{"k": 10e-1}'):
        assert prices.try_publish(text).problem == (409, "duplicate_key")
    assert [prices.get(value)["key"] for value in distinct] == [[value] for value in distinct]
    assert prices.call("item_read_by_key", query={"key": "[1.00]"}).json["key"] == [1]


def test_composite_keys_do_not_run_together(process: Process, tenant: Tenant) -> None:
    pairs = ItemClient(process, tenant.key, "pairs").create(primary_key=["a", "b.c"])
    for a, c in [("1", "11"), ("11", "1"), ("x|y", "z"), ("x", "y|z"), ("", "x"), ("x", "")]:
        pairs.put({"b": {"c": c}, "a": a})
        assert pairs.get(a, c)["key"] == [a, c]
    assert pairs.call("item_read", path={"key": "x"}).problem == (404, "not_found")
    assert pairs.try_get("x").problem == (400, "validation_failed")


@pytest.mark.parametrize(
    "payload", [{}, {"k": None}, {"k": []}, {"k": {}}, {"k": "\ud800"}, {"k": "x" * 2048}], ids=repr
)
def test_a_message_without_a_proper_key_is_refused(prices: ItemClient, payload: Any) -> None:
    reply = prices.try_publish(payload)
    assert reply.problem == (422, "key_field_invalid")
    assert reply.json["field"] == "k"
    assert prices.all() == []


@pytest.mark.parametrize("key", ["", "x", "1", "null", "[null]", "[[]]", "[{}]", "[]", '["a","b"]', '["\\ud800"]'])
def test_a_key_that_cannot_be_one_is_400(prices: ItemClient, key: str) -> None:
    for function in ("item_read_by_key", "item_delete_by_key"):
        assert prices.call(function, query={"key": key}).problem == (400, "validation_failed")


AWKWARD = ["a/b", "50%", "a%2Fb", "a%252Fb", "a+b", "a b", "x?y=1", "x#y", "é", "\U0001f600", ".", "..", "a//b", " "]
AWKWARD += ["k" * 1500, "/", "%", "%25", "é" * 700, "a%20b", "items", "lookup"]


@pytest.mark.parametrize("shape", ["encoded", "decoded"])
def test_a_key_in_the_path_finds_its_own_item_alone(prices: ItemClient, shape: str) -> None:
    """Gateways hand over the raw path as it came, or decoded."""
    for key in AWKWARD:
        prices.put({"k": key})
    for key in AWKWARD:
        assert _by_path(prices, "item_read", key, shape=shape).json["key"] == [key]
    for index, key in enumerate(AWKWARD):
        assert _by_path(prices, "item_delete", key, shape=shape).status == 204
        assert _by_path(prices, "item_read", key, shape=shape).problem == (404, "not_found")
        assert _by_path(prices, "item_delete", key, shape=shape).problem == (404, "not_found")
        assert len(prices.all()) == len(AWKWARD) - index - 1


def _by_path(queue: ItemClient, function: str, key: str, *, shape: str) -> Any:
    raw = {} if shape == "encoded" else {"rawPath": f"/queues/{queue.queue}/items/{key}"}
    return queue.call(function, path={"key": key}, **raw)


def test_the_query_form_reaches_every_key(prices: ItemClient) -> None:
    for key in AWKWARD:
        prices.put({"k": key})
        assert prices.get(key)["key"] == [key]
    for key in AWKWARD:
        prices.delete(key)
        assert prices.try_get(key).problem == (404, "not_found")


def test_a_text_in_the_path_is_the_string_first_and_the_number_second(prices: ItemClient) -> None:
    def read(text: str) -> Any:
        return prices.call("item_read", path={"key": text}).json

    for value in (1, True):
        prices.put({"k": value})
    assert [read(text)["key"] for text in ("1", "1.0", "1e0", "true")] == [[1], [1], [1], [True]]
    prices.put({"k": "1"})
    assert read("1")["key"] == ["1"]
    assert prices.call("item_delete", path={"key": "1"}).status == 204
    assert read("1")["key"] == [1]
    assert prices.call("item_read", path={"key": "null"}).problem == (404, "not_found")


def test_lookup_answers_in_order_and_names_what_is_missing(prices: ItemClient) -> None:
    for value in ("a", 1, "1"):
        prices.put({"k": value})
    found = prices.lookup([1], ["b"], ["a"], [1], ["1"], [2.5])
    assert [item["key"] for item in found["items"]] == [[1], ["a"], ["1"]]
    assert found["missing"] == [["b"], [Number("2.5")]]
    assert prices.lookup() == {"items": [], "missing": []}
    many = prices.call("item_lookup", body={"keys": [[n] for n in range(101)]})
    assert many.problem == (413, "too_many_entries")
    bad = prices.call("item_lookup", body={"keys": [["a"], [None]]})
    assert (bad.problem, bad.fields) == ((400, "validation_failed"), ["keys.1"])


def test_lists_come_by_key_numbers_first(prices: ItemClient) -> None:
    values = ["b", "a", "", "10", 10, 9, -3, -20, 0, True, False, "é", "z", "\U0001f600", "a\0", "a\1", "aa"]
    for value in values:
        prices.put({"k": value})
    text = '{"k": 9.5}'
    assert prices.try_publish(text).status == 201
    order = [-20, -3, 0, 9, Number("9.5"), 10, "", "10", "a", "a\0", "a\1", "aa", "b", "z", "é", "\U0001f600"]
    assert [item["key"][0] for item in prices.all(limit=3)] == [*order, False, True]


@pytest.mark.parametrize("partitions", [1, 5])
def test_lists_come_by_sort_key_ties_by_key(process: Process, tenant: Tenant, partitions: int) -> None:
    queue = ItemClient(process, tenant.key, f"sorted-{partitions}").create(sort_key="s.t", partitions=partitions)
    sort_values = ["b", 2, None, "a", 10, -1, 2, True, [], {}, "10", 1]
    for index, value in enumerate(sort_values):
        queue.put({"k": f"{index:02d}", "s": {"t": value}})
    queue.put({"k": "99"})
    by_key = [item["key"][0] for item in queue.all(limit=4)]
    expected = ["05", "11", "01", "06", "04", "10", "03", "00", "02", "07", "08", "09", "99"]
    assert by_key == expected
    assert [item["key"][0] for item in queue.all(limit=2, prefix="0")] == [key for key in expected if key < "10"]


def test_a_replaced_item_moves_to_its_new_place(process: Process, tenant: Tenant) -> None:
    queue = ItemClient(process, tenant.key, "moving").create(sort_key="n", on_duplicate="replace")
    for key, n in [("a", 1), ("b", 2), ("a", 3)]:
        queue.put({"k": key, "n": n})
    assert [item["payload"]["n"] for item in queue.all()] == [2, 3]


def test_a_prefix_selects_strings(prices: ItemClient) -> None:
    for value in ["ab", "abc", "b", "a", "aé", 1, "%", "%a", "a\U0010ffffz"]:
        prices.put({"k": value})
    assert [item["key"][0] for item in prices.all(prefix="ab", limit=1)] == ["ab", "abc"]
    assert len(prices.all(prefix="a")) == 5
    assert [item["key"][0] for item in prices.all(prefix="%")] == ["%", "%a"]
    assert prices.all(prefix="zz") == []
    assert len(prices.all(prefix="")) == 9


def test_a_token_is_of_its_queue_and_prefix(prices: ItemClient, replacing: ItemClient) -> None:
    for queue in (prices, replacing):
        for value in ("a1", "a2", "a3"):
            queue.put({"k": value})
    token = prices.page(limit=1)["next_token"]
    for call in (
        replacing.call("item_list", query={"next_token": token}),
        prices.call("item_list", query={"next_token": token, "prefix": "a"}),
        prices.call("item_list", query={"next_token": token[:-1]}),
        prices.call("item_list", query={"next_token": "x"}),
    ):
        assert call.problem == (400, "invalid_token")


def test_a_page_ends_at_4_mib(prices: ItemClient) -> None:
    for index in range(6):
        prices.put({"k": index, "text": "x" * 1_000_000})
    page = prices.page()
    assert len(page["items"]) == 4
    assert [item["key"][0] for item in prices.all()] == list(range(6))
    assert prices.call("item_lookup", body={"keys": [[n] for n in range(6)]}).problem == (413, "payload_too_large")
    changes = prices.updates(0)
    assert (len(changes["items"]), changes["has_more"]) == (4, True)
    assert [item["key"][0] for item in prices.changes(0)["items"]] == list(range(6))


def test_a_big_payload_has_an_object_while_it_is_stored(replacing: ItemClient, world: World) -> None:
    for size in (4000, 5000, 1_000_000, 5000, 10):
        replacing.put({"k": "a", "text": "x" * size})
        assert len(replacing.get("a")["payload"]["text"]) == size
        assert len(world.objects()) == (size > 4096)
    replacing.put({"k": "a", "text": "x" * 5000})
    replacing.delete("a")
    assert world.objects() == []


def test_a_refused_item_leaves_no_object(prices: ItemClient, world: World) -> None:
    prices.put({"k": "a"})
    assert prices.try_publish({"k": "a", "text": "x" * 5000}).status == 409
    assert prices.try_publish({"k": "b", "text": "x" * 5000}, headers={"If-Match": "*"}).status == 412
    assert world.objects() == []


def test_a_batch_keeps_the_order_of_one_key(prices: ItemClient, replacing: ItemClient) -> None:
    payloads: list[dict[str, Any]] = [{"k": "a", "n": 1}, {"k": "b"}, {"k": "a", "n": 2}, {"k": None}, {"k": "c"}]
    refused = prices.publish_many(*payloads)
    assert [result["status"] for result in refused["results"]] == [201, 201, 409, 422, 201]
    assert refused["accepted"] == 3
    assert refused["results"][2]["message_id"] == refused["results"][0]["message_id"]
    replaced = replacing.publish_many(*payloads)
    assert [result["status"] for result in replaced["results"]] == [201, 201, 200, 422, 201]
    assert replacing.get("a")["payload"]["n"] == 2


def test_what_is_stored_of_another_item_is_never_read(prices: ItemClient, world: World) -> None:
    """A row whose sealed content was put there from elsewhere fails alone."""
    for key in ("a", "b", "c"):
        prices.put({"k": key})
    client, table = world.client("dynamodb"), world.state_table
    rows = [row for row in world.rows(table) if "item_id" in row]
    by_version = {row["item_id"]["S"]: row for row in rows}
    a, b, c = (by_version[prices.get(key)["version"]] for key in ("a", "b", "c"))
    for row, other in ((a, b), (b, a)):
        client.put_item(TableName=table, Item={**row, "item": other["item"]})
    client.put_item(TableName=table, Item={**c, "item": {"B": c["item"]["B"][:-1]}})
    prices.put({"k": "d"})
    assert [item["key"] for item in prices.all()] == [None, None, None, ["d"]]
    assert {item.get("error") for item in prices.all()} == {None, "unreadable"}
    assert len(prices.updates(0)["items"]) == 4


def test_who_may_do_what(process: Process, tenant: Tenant, stranger: Tenant, prices: ItemClient) -> None:
    prices.put({"k": "a"})
    reads = ["item_list", "item_read", "item_read_by_key", "item_lookup", "item_updates"]
    deletes = ["item_delete", "item_delete_by_key"]
    publisher = process.client_key(tenant, ("prices", "publish"))
    consumer = process.client_key(tenant, ("prices", "consume"))
    for function in reads + deletes:
        allowed, refused = (consumer, publisher) if function in reads else (publisher, consumer)
        query = {"key": '["sku-1"]'} if function.endswith("_by_key") else {}
        assert ItemClient(process, refused).call(function, query=query).problem == (403, "forbidden")
        assert ItemClient(process, allowed).call(function, query=query).status in (200, 404)
        foreign = ItemClient(process, stranger.key).call(function, query=query)
        absent = ItemClient(process, stranger.key, "nowhere").call(function, query=query)
        assert foreign.problem == absent.problem == (404, "not_found")
        assert ItemClient(process, "").call(function, query=query).problem == (401, "unauthenticated")


def test_other_types_have_no_items(process: Process, tenant: Tenant) -> None:
    queue = ItemClient(process, tenant.key, "orders")
    body = {"name": "orders", "type": "one_to_one", "settings": {}}
    assert process.call("queue_create", key=tenant.key, body=body).status == 201
    assert queue.try_get("a").problem == queue.try_delete("a").problem == (409, "wrong_queue_type")
    for function in ("item_list", "item_read", "item_delete", "item_lookup", "item_updates"):
        assert queue.call(function).problem == (409, "wrong_queue_type")


def test_a_disabled_queue_refuses_publish_and_goes_on_being_read(timed: Process, platform_key: str) -> None:
    tenant = timed.tenant(platform_key=platform_key)
    queue = ItemClient(timed, tenant.key).create()
    queue.put({"k": "a"})
    assert queue.call("queue_disable").status == 200
    assert queue.try_publish({"k": "b"}).problem == (409, "queue_disabled")
    assert len(queue.all()) == len(queue.updates(0)["items"]) == 1


def test_an_idempotent_repeat_stores_nothing(replacing: ItemClient) -> None:
    headers = {"Idempotency-Key": "one"}
    first = replacing.try_publish({"k": "a", "n": 1}, headers=headers)
    replacing.put({"k": "a", "n": 2})
    again = replacing.try_publish({"k": "a", "n": 1}, headers=headers)
    assert (again.status, again.json) == (first.status, first.json)
    assert replacing.get("a")["payload"]["n"] == 2


@pytest.mark.parametrize("since", [None, True, "", "yesterday", "2026-11-30T10:00:00", 1.5, [], {}], ids=repr)
def test_since_is_a_time_or_a_token(prices: ItemClient, since: Any) -> None:
    assert prices.try_updates(since).problem[0] == 400


def test_bad_requests_are_400(prices: ItemClient) -> None:
    for query in ("limit=0", "limit=201", "limit=x", "colour=1", "limit=1&limit=2", "prefix=%FF"):
        assert prices.call("item_list", query=query).problem == (400, "validation_failed")
    for query in ("", "key=%5B1%5D&x=1"):
        assert prices.call("item_read_by_key", query=query).problem == (400, "validation_failed")
    lookups: list[dict[str, Any]] = [{}, {"keys": {}}, {"keys": ["a"]}, {"keys": [], "x": 1}]
    for body in lookups:
        assert prices.call("item_lookup", body=body).problem == (400, "validation_failed")
    updates: list[dict[str, Any]] = [{}, {"since": 0, "limit": 0}, {"since": 0, "limit": 201}, {"since": 0, "x": 1}]
    for body in updates:
        assert prices.call("item_updates", body=body).problem == (400, "validation_failed")
    assert prices.call("item_lookup", body=json.dumps([])).problem == (400, "malformed_json")


def test_the_first_of_a_batch_find_room_and_the_oldest_makes_it(process: Process, tenant: Tenant) -> None:
    batch = [{"k": n} for n in range(8)]
    full = ItemClient(process, tenant.key, "full").create(max_queue_depth=3)
    answer = full.call("message_publish_batch", body={"messages": batch}).json
    assert [result["status"] for result in answer["results"]] == [201] * 3 + [409] * 5
    assert full.call("item_lookup", body={"keys": [[n] for n in range(8)]}).json["missing"] == [[3], [4], [5], [6], [7]]
    dropping = ItemClient(process, tenant.key, "dropping").create(
        max_queue_depth=3, overflow_policy="drop_oldest_append"
    )
    answer = dropping.call("message_publish_batch", body={"messages": batch}).json
    assert [result["status"] for result in answer["results"]] == [201] * 8
    kept = dropping.call("item_lookup", body={"keys": [[n] for n in range(8)]}).json["missing"]
    assert kept == [[0], [1], [2], [3], [4]]


def test_a_lowered_limit_drops_what_has_not_changed_for_longest(
    timed: Process, platform_key: str, clock: ManualClock
) -> None:
    owner = timed.tenant(platform_key=platform_key)
    queue = ItemClient(timed, owner.key).create(
        max_queue_depth=9, overflow_policy="drop_oldest_append", on_duplicate="replace"
    )
    for key in [*range(9), 0]:
        queue.put({"k": key})
        clock.advance(seconds=1)
    queue.call("queue_update", body={"settings": {"max_queue_depth": 3}})
    clock.advance(seconds=6)
    for _ in range(2):
        timed.run("item_sweep")
        assert queue.stats()["depth"] == 3
        assert [key for key in range(9) if queue.try_get(key).status == 200] == [0, 7, 8]
    queue.put({"k": 9})
    assert [key for key in range(10) if queue.try_get(key).status == 200] == [0, 8, 9]
