"""Queues that keep data: the latest message per key, and the points of series in buckets."""

from typing import Any

from tests.journeys.callers import Caller, Product


def key_value(product: Product) -> None:
    """The latest message per key."""
    admin, _ = product.tenant()
    settings = {"primary_key": ["sku"], "sort_key": "price", "on_duplicate": "replace", "max_queue_depth": 100}
    admin("POST", "/queues", body={"name": "prices", "type": "key_value", "settings": settings}, expect=201)
    publisher, reader = product.client(admin, actions="publish"), product.client(admin, actions="consume")
    prices = "/queues/prices"
    start = reader("POST", f"{prices}/items/updates", body={"since": 0})
    for sku, price in (("a", 3), ("b", 1), ("c", 2)):
        publisher("POST", f"{prices}/messages", body={"sku": sku, "price": price}, expect=201)
    publisher("POST", f"{prices}/messages", body={"sku": "a", "price": 0, "note": "x" * 500_000})
    one = {"sku": "d", "price": 9}
    publisher("POST", f"{prices}/messages", body=one, idempotency_key="once", expect=201)
    publisher("POST", f"{prices}/messages", body=one, idempotency_key="once", expect=201)
    batch = [{"sku": "e", "price": 10}, {"sku": "e", "price": 11}]
    assert publisher("POST", f"{prices}/messages/batch", body={"messages": batch})["accepted"] == 2
    page = reader("GET", f"{prices}/items?limit=2")
    rest = reader("GET", f"{prices}/items?limit=10&next_token={page['next_token']}")
    listed = [item["payload"]["sku"] for item in (*page["items"], *rest["items"])]
    assert listed == ["a", "b", "c", "d", "e"]
    item = reader("GET", f"{prices}/items/a")
    assert len(item["payload"]["note"]) == 500_000
    assert reader("GET", f"{prices}/item?key=%5B%22a%22%5D") == item
    found = reader("POST", f"{prices}/items/lookup", body={"keys": [["a"], ["nowhere"]]})
    assert (len(found["items"]), found["missing"]) == (1, [["nowhere"]])
    changed = {"sku": "a", "price": 4}
    publisher("POST", f"{prices}/messages", body=changed, if_match=f'"{item["version"]}"')
    publisher("POST", f"{prices}/messages", body=changed, if_match=f'"{item["version"]}"', expect=412)
    publisher("DELETE", f"{prices}/items/b", expect=204)
    publisher("DELETE", f"{prices}/item?key=%5B%22c%22%5D", expect=204)
    reader("GET", f"{prices}/items/b", expect=404)
    changes = reader("POST", f"{prices}/items/updates", body={"since": start["next"]})
    assert {entry["key"][0] for entry in changes["deleted"]} >= {"b", "c"}
    admin("GET", f"{prices}/stats")
    product.schedule("item_sweep")
    _empty_and_delete(product, admin, prices)


def time_series(product: Product) -> None:
    """Points in buckets."""
    admin, _ = product.tenant()
    settings: dict[str, Any] = {"primary_key": ["sensor"], "interval_seconds": 60, "aggregation_fields": ["celsius"]}
    settings |= {"timestamp_field": "at", "max_buckets": 2, "max_message_age_seconds": 10**8}
    admin("POST", "/queues", body={"name": "weather", "type": "time_series", "settings": settings}, expect=201)
    publisher, reader = product.client(admin, actions="publish"), product.client(admin, actions="consume")
    weather = "/queues/weather"
    points = [{"sensor": "roof", "celsius": n, "at": f"2026-11-30T10:0{n}:00Z"} for n in (1, 2, 3)]
    made = publisher("POST", f"{weather}/messages", body=points[0], idempotency_key="once", expect=201)
    assert made["status"] == "aggregated"
    publisher("POST", f"{weather}/messages", body=points[0], idempotency_key="once", expect=201)
    more = [*points[1:], {**points[0], "sensor": "cellar"}, {"sensor": "roof"}]
    answer = publisher("POST", f"{weather}/messages/batch", body={"messages": more})
    assert answer["accepted"] == 3
    publisher("POST", f"{weather}/messages", body=points[2], expect=201)
    publisher("POST", f"{weather}/messages", body=points[0], expect=422)
    page = reader("GET", f"{weather}/buckets?primary_key=roof&limit=1")
    rest = reader("GET", f"{weather}/buckets?primary_key=roof&limit=1&next_token={page['next_token']}")
    assert [bucket["fields"]["celsius"]["sum"] for bucket in (*page["buckets"], *rest["buckets"])] == [2, 6]
    page = reader("GET", f"{weather}/buckets/keys?limit=1")
    reader("GET", f"{weather}/buckets/keys?limit=1&next_token={page['next_token']}")
    (latest,) = reader("GET", f"{weather}/buckets/latest?primary_key=roof")["buckets"]
    assert latest["fields"]["celsius"]["close"] == 3
    admin("GET", f"{weather}/stats")
    admin("PATCH", weather, body={"settings": {"max_buckets": 1}})
    admin("DELETE", f"{weather}/buckets?primary_key=roof", expect=204)
    publisher("POST", f"{weather}/messages", body=points[1], expect=201)
    admin("DELETE", f"{weather}/buckets", expect=204)
    publisher("POST", f"{weather}/messages", body=points[2], expect=201)
    _empty_and_delete(product, admin, weather)


def _empty_and_delete(product: Product, admin: Caller, queue: str) -> None:
    admin("POST", f"{queue}/purge", expect=202)
    admin("DELETE", queue, expect=204)
    admin("GET", queue, expect=404)
    product.schedule("queue_sweep")
