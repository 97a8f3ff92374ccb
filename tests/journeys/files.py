"""Documents: kept to the byte, shown in other formats, and handed on to the queues of other tenants."""

import json
from urllib.parse import quote

from tests.journeys.callers import Answer, Caller, Product

CSV = "city,people\nKöln,1087000\nUlm,128000\n".encode()


def document(product: Product) -> None:
    """Upload, list, read in several formats, delete, subscribe."""
    admin, _ = product.tenant()
    settings = {"allow_subscriptions": True, "max_queue_depth": 100}
    made = admin("POST", "/queues", body={"name": "cities", "type": "document", "settings": settings}, expect=201)
    publisher, reader = product.client(admin, actions="publish"), product.client(admin, actions="consume")
    cities = "/queues/cities/documents"

    other, _ = product.tenant("subscriber")
    other("POST", "/queues", body={"name": "copies", "type": "document", "settings": {}}, expect=201)
    subscription = other("PUT", "/queues/copies/subscription", body={"source_queue_id": made["queue_id"]}, expect=201)
    other("GET", "/queues/copies/subscription")

    uploaded = _upload(publisher, cities, CSV, name="Städte 100%.csv", idempotency_key="once")
    assert _upload(publisher, cities, CSV, name="Städte 100%.csv", idempotency_key="once") == uploaded
    page = reader("GET", f"{cities}?limit=1")
    assert page["documents"][0]["name"] == "Städte 100%.csv"
    one = f"{cities}/{uploaded['document_id']}"
    assert reader.ask("GET", one).body == CSV
    converted = reader.ask("GET", one, accept="application/json")
    assert json.loads(converted.body)[0]["city"] == "Köln"
    assert reader.ask("HEAD", one).status == 200
    assert reader.ask("GET", one, accept="image/png").status == 406

    product.schedule("document_deliver")
    copies = other("GET", "/queues/copies/documents")["documents"]
    assert [copy["name"] for copy in copies] == ["Städte 100%.csv"]
    assert other.ask("GET", f"/queues/copies/documents/{copies[0]['document_id']}").body == CSV
    subscribers = admin("GET", "/queues/cities/subscribers")["subscribers"]
    assert [entry["subscription_id"] for entry in subscribers] == [subscription["subscription_id"]]
    admin("DELETE", f"/queues/cities/subscribers/{subscription['subscription_id']}", expect=204)
    again = other("PUT", "/queues/copies/subscription", body={"source_queue_id": made["queue_id"]}, expect=201)
    assert again["subscription_id"]
    other("DELETE", "/queues/copies/subscription", expect=204)

    admin("GET", "/queues/cities/stats")
    reader("DELETE", one, expect=204)
    reader("GET", one, expect=404)
    _upload(publisher, cities, b"a\n1\n", name="rest.csv")
    admin("POST", "/queues/cities/purge", expect=202)
    _upload(publisher, cities, b"a\n2\n", name="last.csv")
    admin("DELETE", "/queues/cities", expect=204)
    for schedule in ("queue_sweep", "object_sweep"):
        product.schedule(schedule)


def text_document(product: Product) -> None:
    """Any text, verbatim; the oldest go when there are too many."""
    admin, _ = product.tenant()
    settings = {"max_queue_depth": 1, "overflow_policy": "drop_oldest_append"}
    admin("POST", "/queues", body={"name": "notes", "type": "text_document", "settings": settings}, expect=201)
    notes = "/queues/notes/documents"
    _upload(admin, notes, b"first", name="note", kind="text/plain")
    made = _upload(admin, notes, "zweite, größer".encode(), name="note", kind="text/plain")
    assert [entry["size"] for entry in admin("GET", notes)["documents"]] == [made["size"]]
    assert admin.ask("GET", f"{notes}/{made['document_id']}").body == "zweite, größer".encode()


def _upload(
    caller: Caller, path: str, content: bytes, *, name: str, kind: str = "text/csv", **headers: str
) -> dict[str, object]:
    named = {"x_document_name": quote(name), "x_document_description": quote("für alle")}
    answer: Answer = caller.ask("POST", path, body=content, content_type=kind, **named, **headers)
    assert answer.status == 201, answer
    made: dict[str, object] = json.loads(answer.body)
    return made
