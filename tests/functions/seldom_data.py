"""Cases of queues that keep data, of purges, of documents and of the service itself that no journey meets."""

from typing import Any

from tests.functions.seldom_stage import LARGE, LITTLE, Stage, publish, publish_together, queue
from tests.journeys.callers import Caller


def refused_by_the_platform(stage: Stage) -> None:
    """A tenant at the doors of the platform."""
    admin = stage.admin()
    admin("GET", "/whoami")
    admin("POST", "/tenants", body={"name": "other"}, expect=403)
    admin("GET", "/tenants", expect=403)


def refused_under_a_key(stage: Stage) -> None:
    """A request that is refused under an Idempotency-Key leaves the key free."""
    admin, logs = stage.admin(), "/queue/v1/namespaces/shop/queues"
    admin("POST", logs, body={"queue": "orders", "partitions": 1})
    for messages, status in (([], 400), ([{"key": "k", "seq": 1, "value": 1}], 200)):
        body = {"messages": messages}
        admin("POST", f"{logs}/orders/messages", body=body, idempotency_key="once", expect=status)


def purges_cut_short(stage: Stage) -> None:
    """Purges that the schedule has to finish."""
    admin = stage.admin()
    items = queue(admin, "items", "key_value", primary_key=["k"], max_queue_depth=10)
    lanes = queue(admin, "lanes", "one_to_one", visibility_key=["k"], max_queue_depth=10)
    stream = queue(admin, "stream", "one_to_many", primary_key=["k"])
    join = {"lookup_queue": "items", "foreign_key": ["sku"], "missing_lookup": "defer"}
    joined = queue(admin, "joined", "stream_to_one", **join)
    for path in (items, lanes, stream):
        publish(admin, path, *({"k": k, "text": LARGE} for k in range(3)))
    publish(admin, joined, {"sku": 77, "text": LARGE})
    for path in (items, lanes, stream, joined):
        stage.hurried("queue_purge", admin, status=202, path={"queue": path.rpartition("/")[2]})
    stage.run("queue_sweep")
    assert admin("GET", f"{items}/items")["items"] == []
    assert [admin("GET", f"{path}/stats")["depth"] for path in (lanes, stream, joined)] == [0, 0, 0]


def purges(stage: Stage) -> None:
    """Purges of what waits for an item."""
    admin = stage.admin()
    queue(admin, "items", "key_value", primary_key=["k"])
    join = {"lookup_queue": "items", "foreign_key": ["sku"], "missing_lookup": "defer"}
    joined = queue(admin, "joined", "stream_to_one", **join)
    publish(admin, joined, {"sku": 77, "text": LARGE})
    admin("POST", f"{joined}/purge", expect=202)
    assert admin("GET", f"{joined}/stats")["depth"] == 0


def items_of_odd_keys(stage: Stage) -> None:
    """Keys that read as numbers too, and payloads too large for a row."""
    admin = stage.admin()
    path = queue(admin, "items", "key_value", primary_key=["k"], max_queue_depth=10)
    publish_together(admin, path, *({"k": k, "text": LARGE} for k in (5, 6, 7)))
    assert admin("GET", f"{path}/items/5")["payload"]["text"] == LARGE
    changes = admin("POST", f"{path}/items/updates", body={"since": 0})
    assert {item["payload"]["text"] for item in changes["items"]} == {LARGE}
    admin("DELETE", f"{path}/items/6", expect=204)
    admin("DELETE", f"{path}/item?key=%5B7%5D", expect=204)


def expired_items(stage: Stage) -> None:
    """Items past their age, and rounds of the schedules that have no time and are resumed."""
    admin = stage.admin()
    path = queue(admin, "items", "key_value", primary_key=["k"], max_message_age_seconds=60)
    publish(admin, path, {"k": 1, "text": LARGE})
    queue(admin, "lanes", "one_to_one")
    stage.wait(61)
    for schedule in ("item_sweep", "lease_reap", "message_expire", "message_promote"):
        stage.run(schedule, seconds=LITTLE)
        stage.run(schedule)
    (gone,) = admin("POST", f"{path}/items/updates", body={"since": 0})["deleted"]
    assert gone["key"] == [1]


def fewer_buckets(stage: Stage) -> None:
    """Series with more buckets than a new limit allows: whoever looks at them first brings them down."""
    admin = stage.admin()
    settings: dict[str, Any] = {"interval_seconds": 60, "aggregation_fields": ["n"], "timestamp_field": "at"}
    path = queue(admin, "weather", "time_series", max_buckets=10, **settings)
    publish(admin, path, *({"n": n, "at": f"2026-11-30T09:0{n}:00Z"} for n in range(6)))
    for limit, look in enumerate(("buckets", "buckets/keys", "buckets/latest", "stats"), start=1):
        stage.wait(60)
        admin("PATCH", path, body={"settings": {"max_buckets": 6 - limit}})
        admin("GET", f"{path}/{look}")
        stage.wait(60)
    assert len(admin("GET", f"{path}/buckets")["buckets"]) == 2


def documents_found(stage: Stage) -> None:
    """Lists of documents by name."""
    admin = stage.admin()
    path = f"{queue(admin, 'files', 'document')}/documents"
    for name in ("a.csv", "b.csv"):
        upload(admin, path, name)
    assert [one["name"] for one in admin("GET", f"{path}?name_prefix=b")["documents"]] == ["b.csv"]


def documents_in_place_of_others(stage: Stage) -> None:
    """Full queues on both sides of a subscription, which let their oldest go."""
    admin, settings = stage.admin(), {"max_queue_depth": 1, "overflow_policy": "drop_oldest_append"}
    source = queue(admin, "source", "document", allow_subscriptions=True, **settings)
    second = queue(admin, "second", "document", allow_subscriptions=True)
    copies = queue(admin, "copies", "document", **settings)
    others = queue(admin, "others", "document")
    for path in (copies, others):
        subscribe(admin, path, source)
    page = admin("GET", f"{source}/subscribers?limit=1")
    admin("GET", f"{source}/subscribers?limit=1&next_token={page['next_token']}")
    upload(admin, f"{source}/documents", "first")
    upload(admin, f"{source}/documents", "second")
    stage.run("document_deliver")
    assert [one["name"] for one in admin("GET", f"{copies}/documents")["documents"]] == ["second"]
    subscribe(admin, others, second, expect=200)


def expired_documents(stage: Stage) -> None:
    """Documents past their age, which the walk over the bucket removes."""
    admin = stage.admin()
    path = queue(admin, "files", "document", max_message_age_seconds=60, max_queue_depth=5)
    upload(admin, f"{path}/documents", "old")
    upload(admin, f"{queue(admin, 'unlimited', 'document')}/documents", "young")
    stage.wait(61)
    assert stage.run("object_sweep") == 1


def upload(caller: Caller, path: str, name: str) -> None:
    """Upload a document."""
    answer = caller.ask(
        "POST", path, body=b"a\n1\n", content_type="text/csv", x_document_name=name, x_document_description=name
    )
    assert answer.status == 201, answer


def subscribe(caller: Caller, path: str, source: str, *, expect: int = 201) -> None:
    """Let a queue get the documents of another."""
    body = {"source_queue_id": caller("GET", source)["queue_id"]}
    caller("PUT", f"{path}/subscription", body=body, expect=expect)
