"""The operations that `bench.costs` prices: of each type those that its users make all the time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.processes import Process, Reply

PAYLOAD = {"order": 12345, "customer": "c-778", "lines": [{"sku": "A-1", "quantity": 2, "price": "12.50"}] * 4}
"""330 bytes as JSON: with its keys and its seal less than the 1,024 bytes of a write unit."""


@dataclass(frozen=True)
class Scheduled:
    """Work of a schedule, which is priced by what one more of it adds to a run.

    Attributes:
        prepare: Gives the schedule one thing to do.
        run: Runs it.
    """

    prepare: Callable[[], object]
    run: Callable[[], object]


Step = tuple[str, Callable[[], Reply] | Scheduled]
"""What an operation is called, and how it is done once."""


class Queue:
    """One queue, called with the key of its tenant's admin."""

    def __init__(self, process: Process, key: str, *, kind: str, name: str = "", **settings: Any) -> None:
        self._process, self._key, self.name = process, key, name or kind
        self("queue_create", body={"name": self.name, "type": kind, "settings": settings})

    def __call__(self, function: str, *, path: dict[str, str] | None = None, **request: Any) -> Reply:
        """Call a function with a path of this queue."""
        call = {"key": self._key, "path": {"queue": self.name, **(path or {})}, "query": "", **request}
        return self._process.call(function, **call)

    def publish(self, number: int, **members: Any) -> Reply:
        """Publish the payload under a number of its own."""
        return self("message_publish", body={**PAYLOAD, "order": number, **members})

    def consume(self, count: int = 1) -> list[Any]:
        """Lease messages."""
        return list(self("queue_consume", body={"max_messages": count}).json["messages"])

    def ack(self, message: Any) -> Reply:
        """Ack a message."""
        body = {"lease_id": message["lease_id"]}
        return self("message_ack", path={"message_id": message["message_id"]}, body=body)


def log(process: Process, key: str) -> Iterator[Step]:
    """queue/v1."""
    path = {"namespace": "shop", "queue": "costs", "partition": "0"}

    def call(function: str, **request: Any) -> Reply:
        return process.call(function, **{"key": key, "path": path, "query": "", **request})

    def messages(*seqs: int) -> dict[str, Any]:
        return {"messages": [{"key": "k", "seq": seq, "value": PAYLOAD} for seq in seqs]}

    call("log_create", body={"queue": "costs", "partitions": 1})
    call("log_enqueue", body=messages(0))  # what a warm function knows, it knows from here on
    call("log_poll", query="limit=1")
    call("log_commit", query="offset=0")
    yield "enqueue 1 message", lambda: call("log_enqueue", body=messages(1))
    yield "enqueue 25 messages", lambda: call("log_enqueue", body=messages(*range(2, 27)))
    once = {"body": messages(27), "headers": {"idempotency-key": "once"}}
    yield "enqueue 1 message with an Idempotency-Key", lambda: call("log_enqueue", **once)
    large = {"messages": [{"key": "k", "seq": 28, "value": "x" * 500_000}]}
    yield "enqueue 1 message of 500 KB", lambda: call("log_enqueue", body=large)
    yield "poll 1 message", lambda: call("log_poll", query="limit=1")
    yield "poll 26 messages", lambda: call("log_poll", query="limit=26")
    yield "poll an empty partition", lambda: call("log_poll", query="offset=28")
    yield "commit 1 message", lambda: call("log_commit", query="offset=1")
    yield "commit 25 messages", lambda: call("log_commit", query="offset=26")


def _delivery(queue: Queue) -> Iterator[Step]:
    queue.publish(0)
    queue.ack(queue.consume()[0])
    yield "publish 1 message", lambda: queue.publish(1)
    batch = {"messages": [{**PAYLOAD, "order": n} for n in range(2, 12)]}
    yield "publish 10 messages at once", lambda: queue("message_publish_batch", body=batch)
    taken: list[Any] = []

    def consume(count: int) -> Reply:
        reply = queue("queue_consume", body={"max_messages": count})
        taken[:] = reply.json["messages"]
        return reply

    yield "consume 1 message", lambda: consume(1)
    yield "ack 1 message", lambda: queue.ack(taken[0])
    yield "consume 10 messages", lambda: consume(10)

    def settle() -> Reply:
        acks = [{name: message[name] for name in ("message_id", "lease_id")} for message in taken]
        return queue("queue_settle", body={"acks": acks, "nacks": []})

    yield "ack 10 messages at once", settle
    yield "consume from an empty queue", lambda: queue("queue_consume", body={})


def one_to_one(process: Process, key: str) -> Iterator[Step]:
    """Without keys: every message by itself."""
    yield from _delivery(Queue(process, key, kind="one_to_one"))


def one_to_one_in_order(process: Process, key: str) -> Iterator[Step]:
    """With a visibility key and a primary key."""
    keys = {"visibility_key": ["order"], "primary_key": ["order"]}
    yield from _delivery(Queue(process, key, kind="one_to_one", name="in_order", **keys))


def one_to_many(process: Process, key: str) -> Iterator[Step]:
    """For one consumer; each further one consumes and acks as much again."""
    yield from _delivery(Queue(process, key, kind="one_to_many"))


def _stream(process: Process, key: str, *, kind: str) -> Iterator[Step]:
    customers = f"customers-{kind}"
    items = Queue(process, key, kind="key_value", name=customers, primary_key=["customer"])

    def item(customer: str) -> Reply:
        return items("message_publish", body={"customer": customer, "city": "Ulm"})

    item("c-778")
    queue = Queue(process, key, kind=kind, lookup_queue=customers, foreign_key=["customer"], missing_lookup="defer")
    queue.publish(0)
    queue.ack(queue.consume()[0])
    yield "publish 1 message, joined", lambda: queue.publish(1)
    batch = {"messages": [{**PAYLOAD, "order": n} for n in range(2, 12)]}
    yield "publish 10 messages at once, joined", lambda: queue("message_publish_batch", body=batch)
    yield "publish 1 message that has to wait", lambda: queue.publish(12, customer="c-779")
    yield "publish the item that 1 message waits for", lambda: item("c-779")
    for _ in range(11):  # those that were joined at once
        queue.ack(queue.consume()[0])
    taken: list[Any] = []

    def consume() -> Reply:
        reply = queue("queue_consume", body={})
        taken[:] = reply.json["messages"]
        return reply

    yield "consume 1 message that waited", consume
    yield "ack 1 message", lambda: queue.ack(taken[0])


def stream_to_one(process: Process, key: str) -> Iterator[Step]:
    """Without keys, as one_to_one."""
    yield from _stream(process, key, kind="stream_to_one")


def stream_to_many(process: Process, key: str) -> Iterator[Step]:
    """For one consumer, as one_to_many."""
    yield from _stream(process, key, kind="stream_to_many")


def key_value(process: Process, key: str) -> Iterator[Step]:
    """A key of one field, no sort key."""
    queue = Queue(process, key, kind="key_value", primary_key=["order"], on_duplicate="replace")
    queue.publish(0)
    queue("item_read", path={"key": "0"})
    yield "publish a new item", lambda: queue.publish(1)
    yield "replace an item", lambda: queue.publish(1, customer="c-779")
    yield "read an item", lambda: queue("item_read_by_key", query="key=%5B1%5D")
    yield "list 2 items", lambda: queue("item_list")
    yield "delete an item", lambda: queue("item_delete_by_key", query="key=%5B1%5D")


def time_series(process: Process, key: str) -> Iterator[Step]:
    """One field, buckets of an hour."""
    queue = Queue(
        process, key, kind="time_series", interval_seconds=3600, aggregation_fields=["p"], timestamp_field="at"
    )
    at = "2026-11-30T10:{:02}:00Z"

    def point(minute: int) -> dict[str, Any]:
        return {"p": minute, "at": at.format(minute)}

    queue("message_publish", body=point(30))
    queue("bucket_range")
    yield "add 1 point", lambda: queue("message_publish", body=point(31))
    points = {"messages": [point(minute) for minute in range(32, 42)]}
    yield "add 10 points of one bucket", lambda: queue("message_publish_batch", body=points)
    yield "read 1 bucket", lambda: queue("bucket_range")


def _repository(process: Process, key: str, *, kind: str, content_type: str, shown_as: str = "") -> Iterator[Step]:
    queue, subscriber = (Queue(process, key, kind=kind, name=name) for name in (kind, f"{kind}-subscriber"))
    content = b"n\n" + b"123456789\n" * 10_000
    headers = {"content-type": content_type, "x-document-name": "n", "x-document-description": "d"}

    def upload() -> Reply:
        return queue("document_upload", body=content, headers=headers)

    made = upload()
    one: dict[str, Any] = {"path": {"document_id": made.json["document_id"]}}
    etag = queue("document_download", **one).headers["etag"]
    queue("document_list")
    yield "upload", upload
    yield "download as it is", lambda: queue("document_download", **one)
    if shown_as:
        yield "download in another format", lambda: queue("document_download", **one, headers={"accept": shown_as})
    yield "download unchanged (304)", lambda: queue("document_download", **one, headers={"if-none-match": etag})
    yield "list 2 documents", lambda: queue("document_list")
    yield "delete", lambda: queue("document_delete", **one)
    source = {"source_queue_id": queue("queue_read").json["queue_id"]}
    subscriber("subscription_put", body=source)
    yield "upload to a queue with subscribers", upload
    copies = Scheduled(upload, lambda: process.run("document_deliver"))
    copies.run()
    yield "deliver 1 copy to a subscriber", copies


def document(process: Process, key: str) -> Iterator[Step]:
    """Files of 100 KB; a CSV is shown as JSON."""
    yield from _repository(process, key, kind="document", content_type="text/csv", shown_as="application/json")


def text_document(process: Process, key: str) -> Iterator[Step]:
    """Texts of 100 KB."""
    yield from _repository(process, key, kind="text_document", content_type="text/plain")


KINDS: dict[str, Callable[[Process, str], Iterator[Step]]] = {
    "log": log,
    "one_to_one": one_to_one,
    "one_to_one with keys": one_to_one_in_order,
    "one_to_many": one_to_many,
    "stream_to_one": stream_to_one,
    "stream_to_many": stream_to_many,
    "key_value": key_value,
    "time_series": time_series,
    "document": document,
    "text_document": text_document,
}
"""The types as the table names them."""
