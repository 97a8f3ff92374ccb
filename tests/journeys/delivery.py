"""Queues that deliver messages under leases: to one consumer, or to each of many."""

import json
from typing import Any

from tests.journeys.callers import Caller, Product


def one_to_one(product: Product) -> None:
    """Each message to one of its consumers."""
    admin, _ = product.tenant()
    _deliver(product, admin, kind="one_to_one", visibility_key=["customer"])
    _drop_the_oldest(admin, kind="one_to_one")
    for schedule in ("lease_reap", "message_expire"):
        product.schedule(schedule)


def one_to_many(product: Product) -> None:
    """Each message to every consumer."""
    admin, _ = product.tenant()
    _deliver(product, admin, kind="one_to_many")
    _drop_the_oldest(admin, kind="one_to_many")
    _consumers(product, admin)


def stream_to_one(product: Product) -> None:
    """Messages joined with the items they name, each to one consumer."""
    _enrich(product, kind="stream_to_one")


def stream_to_many(product: Product) -> None:
    """Messages joined with the items they name, each to every consumer."""
    _enrich(product, kind="stream_to_many")


def _enrich(product: Product, *, kind: str) -> None:
    admin, _ = product.tenant()
    items = {"primary_key": ["sku"], "on_duplicate": "replace"}
    admin("POST", "/queues", body={"name": "prices", "type": "key_value", "settings": items}, expect=201)
    join = {"lookup_queue": "prices", "foreign_key": ["sku"], "missing_lookup": "defer"}
    admin("POST", "/queues", body={"name": "sales", "type": kind, "settings": join}, expect=201)
    admin("POST", "/queues/prices/messages", body={"sku": "a", "price": 3}, expect=201)
    sent = admin("POST", "/queues/sales/messages", body={"sku": "a", "n": 1}, expect=201)
    assert sent["status"] == "queued"
    late = admin("POST", "/queues/sales/messages", body={"sku": "b", "n": 2}, expect=201)
    assert late["status"] == "pending_enrichment"
    message = _take(admin, "/queues/sales")
    assert message["payload"] == {"sku": "a", "n": 1, "price": 3}
    admin("POST", f"/queues/sales/messages/{message['message_id']}/ack", body=_lease(message))
    admin("POST", "/queues/prices/messages", body={"sku": "b", "price": 4}, expect=201)
    product.schedule("message_promote")
    message = _take(admin, "/queues/sales")
    assert (message["message_id"], message["payload"]["price"]) == (late["message_id"], 4)
    admin("POST", f"/queues/sales/messages/{message['message_id']}/ack", body=_lease(message))
    admin("DELETE", "/queues/prices", expect=409)
    admin("DELETE", "/queues/sales", expect=204)
    admin("DELETE", "/queues/prices", expect=204)
    product.schedule("queue_sweep")


def _deliver(product: Product, admin: Caller, *, kind: str, **settings: Any) -> None:
    settings |= {"primary_key": ["order"], "max_deliveries": 2, "max_queue_depth": 100}
    body = {"name": "orders", "type": kind, "description": "to be packed", "settings": settings}
    made = admin("POST", "/queues", body=body, expect=201)
    admin("POST", "/queues", body={"name": "returns", "type": kind, "settings": {}}, expect=201)
    page = admin("GET", f"/queues?limit=1&type={kind}")
    admin("GET", f"/queues?limit=1&type={kind}&next_token={page['next_token']}")
    orders = "/queues/orders"
    assert admin("GET", f"/queues/{made['queue_id']}")["name"] == "orders"
    admin("PATCH", orders, body={"settings": {"consume_ttl_seconds": 60}})
    admin("POST", "/queues/returns/disable")
    admin("POST", "/queues/returns/messages", body={"order": 0, "customer": "a"}, expect=409)
    admin("POST", "/queues/returns/enable")

    producer, consumer = product.client(admin, actions="publish"), product.client(admin, actions="consume")
    assert _is_empty(consumer, orders)
    first = {"order": 1, "customer": "a", "note": "x" * 500_000}
    sent = producer("POST", f"{orders}/messages", body=first, idempotency_key="once", expect=201)
    assert producer("POST", f"{orders}/messages", body=first, idempotency_key="once", expect=201) == sent
    assert producer("POST", f"{orders}/messages", body=first, expect=409)["message_id"] == sent["message_id"]
    batch = [{"order": n, "customer": "abcde"[n % 5]} for n in range(2, 8)]
    accepted = producer("POST", f"{orders}/messages/batch", body={"messages": [*batch, batch[0]]})
    assert accepted["accepted"] == len(batch)
    assert producer.ask("POST", f"{orders}/consume", body=b"{}").status == 403

    message = _take(consumer, orders)
    assert message["payload"] == first
    consumer("POST", f"{orders}/messages/{message['message_id']}/extend", body=_lease(message, seconds=90))
    consumer("POST", f"{orders}/messages/{message['message_id']}/ack", body=_lease(message))
    second = _take(consumer, orders)
    consumer("POST", f"{orders}/messages/{second['message_id']}/nack", body=_lease(second))
    again = _take(consumer, orders)
    third = {"acks": [], "nacks": [{"message_id": again["message_id"], "lease_id": again["lease_id"]}]}
    consumer("POST", f"{orders}/settle", body=third)
    if again["delivery"] < settings["max_deliveries"]:
        other = _take(consumer, orders)
        consumer("POST", f"{orders}/messages/{other['message_id']}/nack", body=_lease(other))
    for _ in range(2):  # the first to be redriven alone, the second with all others
        rejected = _take(consumer, orders)
        rejection = _lease(rejected, dead_letter=True, reason="no such customer")
        consumer("POST", f"{orders}/messages/{rejected['message_id']}/nack", body=rejection)
    admin("GET", f"{orders}/stats")

    letters = consumer("GET", f"{orders}/dlq?limit=1")
    letters["entries"] += consumer("GET", f"{orders}/dlq?next_token={letters['next_token']}")["entries"]
    assert len(letters["entries"]) >= 2
    admin("POST", f"{orders}/dlq/{letters['entries'][0]['entry_id']}/redrive")
    assert admin("POST", f"{orders}/dlq/redrive", body={"limit": 1})["redriven"] == 1
    for _ in range(2):
        rejected = _take(consumer, orders)
        rejection = _lease(rejected, dead_letter=True)
        consumer("POST", f"{orders}/messages/{rejected['message_id']}/nack", body=rejection)
    entry = consumer("GET", f"{orders}/dlq")["entries"][0]
    admin("DELETE", f"{orders}/dlq/{entry['entry_id']}", expect=204)
    admin("DELETE", f"{orders}/dlq", expect=204)
    assert consumer("GET", f"{orders}/dlq")["entries"] == []

    producer("POST", f"{orders}/messages", body={"order": 8, "customer": "a", "note": "x" * 500_000}, expect=201)
    admin("POST", f"{orders}/purge", expect=202)
    assert _is_empty(consumer, orders)
    producer("POST", f"{orders}/messages", body={"order": 9, "customer": "a"}, expect=201)
    admin("DELETE", orders, expect=204)
    admin("GET", orders, expect=404)
    product.schedule("queue_sweep")


def _drop_the_oldest(admin: Caller, *, kind: str) -> None:
    settings = {"max_queue_depth": 1, "overflow_policy": "drop_oldest_append"}
    admin("POST", "/queues", body={"name": "newest", "type": kind, "settings": settings}, expect=201)
    for n in (1, 2):
        admin("POST", "/queues/newest/messages", body={"n": n}, expect=201)
    message = _take(admin, "/queues/newest")
    assert message["payload"] == {"n": 2}
    ack = {"acks": [{"message_id": message["message_id"], "lease_id": message["lease_id"]}]}
    assert admin("POST", "/queues/newest/settle", body=ack)["results"][0]["status"] == 200
    admin("PATCH", "/queues/newest", body={"settings": dict.fromkeys(settings)})


def _consumers(product: Product, admin: Caller) -> None:
    settings = {"start_from": "earliest", "max_message_age_seconds": 3600, "consumer_ttl_seconds": 3600}
    admin("POST", "/queues", body={"name": "news", "type": "one_to_many", "settings": settings}, expect=201)
    readers = [product.client(admin, queues="news", actions="consume") for _ in range(2)]
    sent = [admin("POST", "/queues/news/messages", body={"n": n}, expect=201) for n in range(3)]
    for reader in readers:
        message = _take(reader, "/queues/news")
        reader("POST", f"/queues/news/messages/{message['message_id']}/ack", body=_lease(message))
    listed = admin("GET", "/queues/news/consumers")["consumers"]
    assert len(listed) == 2
    one = f"/queues/news/consumers/{listed[0]['client_id']}"
    for seek in ("earliest", "latest", sent[0]["message_id"], sent[1]["published_at"]):
        admin("PATCH", one, body={"seek": seek})
    admin("GET", one)
    admin("DELETE", one, expect=204)
    product.schedule("stream_retain")


def _is_empty(consumer: Caller, queue: str) -> bool:
    """Whether there is nothing to consume; a consumer of many may be told that something was skipped."""
    answer = consumer.ask("POST", f"{queue}/consume", body=b"{}")
    return answer.status == 204 or (answer.status == 200 and json.loads(answer.body)["messages"] == [])


def _take(consumer: Caller, queue: str) -> Any:
    (message,) = consumer("POST", f"{queue}/consume", body={"max_messages": 1})["messages"]
    return message


def _lease(message: Any, **members: object) -> dict[str, object]:
    return {"lease_id": message["lease_id"], **members}
