"""one_to_one through the functions, beside the same work on moto's own SQS FIFO queue; and what depth does to both."""

import contextlib
import copy
import dataclasses
import itertools
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from moto.sqs.models import sqs_backends

from bench.measure import Api, answer_of, new_tenant, table
from broker import wiring
from tests.lanes import Node, lane_queue
from tests.worlds import Engine, moto_world
from tools import moto_threads, tables
from tools.dynalite import dynalite
from tools.ledger import Ledger

CONSUME = "POST /queues/{queue}/consume"
PUBLISH = "POST /queues/{queue}/messages"
ACK = "POST /queues/{queue}/messages/{message_id}/ack"
BODY = {"order": 12345, "customer": "c-778", "lines": [{"sku": "A-1", "quantity": 2, "price": "12.50"}] * 4}
MESSAGES = 80
DEPTHS = (100, 1_000, 5_000)
_numbers = itertools.count()


class Lanes:
    """Work on a queue of ours."""

    def __init__(self, api: Api, queue: str, **settings: Any) -> None:
        self._api = api
        self._queue = queue
        made = {"name": queue, "type": "one_to_one", "settings": settings}
        api.call("queue_create", "POST /queues", body=made)()

    def send(self, count: int) -> None:
        """Publish messages of groups of their own."""
        bodies = [{**BODY, "group": next(_numbers)} for _ in range(count)]
        if count == 1:
            self._api.call("message_publish", PUBLISH, queue=self._queue, body=bodies[0])()
        else:
            route = "POST /queues/{queue}/messages/batch"
            self._api.call("message_publish_batch", route, queue=self._queue, body={"messages": bodies})()

    def fill(self, count: int) -> None:
        """Publish so many that stay."""
        for _ in range(count // 100):
            self.send(100)

    def work_off(self, count: int) -> int:
        """Consume and ack; returns how many."""
        reply = self._api.call("queue_consume", CONSUME, queue=self._queue, body={"max_messages": count})()
        messages = answer_of(reply)["messages"] if reply.get("body") else []
        leases = [{"message_id": one["message_id"], "lease_id": one["lease_id"]} for one in messages]
        if count == 1:
            for one in leases:
                body = {"lease_id": one["lease_id"]}
                self._api.call("message_ack", ACK, queue=self._queue, message_id=one["message_id"], body=body)()
        elif leases:
            route = "POST /queues/{queue}/settle"
            self._api.call("queue_settle", route, queue=self._queue, body={"acks": leases})()
        return len(leases)


class Fifo:
    """The same work on SQS."""

    def __init__(self, name: str) -> None:
        self._sqs = tables.client("sqs")
        attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "false"}
        self._name = f"{name}.fifo"
        self._url = self._sqs.create_queue(QueueName=self._name, Attributes=attributes)["QueueUrl"]

    def send(self, count: int) -> None:
        """Send messages of groups of their own."""
        numbers = [str(next(_numbers)) for _ in range(count)]
        entries = [
            {"MessageBody": json.dumps(BODY), "MessageGroupId": number, "MessageDeduplicationId": number, "Id": number}
            for number in numbers
        ]
        if count == 1:
            self._sqs.send_message(QueueUrl=self._url, **{name: entries[0][name] for name in list(entries[0])[:3]})
        else:
            self._sqs.send_message_batch(QueueUrl=self._url, Entries=entries)

    def fill(self, count: int) -> None:
        """Put so many into moto's list: sending compares each with all others, which takes half an hour for 5,000."""
        self.send(1)
        queue = sqs_backends[moto_threads.ACCOUNT][tables.REGION].queues[self._name]
        for _ in range(count - 1):
            message = copy.copy(queue._messages[-1])
            number = str(next(_numbers))
            message.id, message.group_id, message.deduplication_id = number, number, number
            queue._messages.append(message)

    def work_off(self, count: int) -> int:
        """Receive and delete; returns how many."""
        found = self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=count).get("Messages", [])
        if count == 1:
            for one in found:
                self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=one["ReceiptHandle"])
        elif found:
            entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(found)]
            self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
        return len(found)


class Stored:
    """Our storage without the functions, on an engine whose queries do not walk over a whole partition as moto's do."""

    def __init__(self, engine: Engine) -> None:
        self._node = Node(engine, wiring.clock)
        self._queue = lane_queue()

    def send(self, count: int) -> None:
        """Publish messages."""
        for _ in range(count):
            self._node.publish(self._queue, **BODY, group=next(_numbers))

    fill = send

    def work_off(self, count: int) -> int:
        """Consume and ack; returns how many."""
        messages = self._node.consume(self._queue, limit=count)
        for message in messages:
            self._node.ack(self._queue, message)
        return len(messages)


def run() -> None:
    """Throughput with 1 and 8 threads, one by one and by ten; the same from depth 100 to 5,000; calls and units."""
    with moto_world() as world:
        api = Api(new_tenant(world.platform_key))
        _throughput(api)
        _by_depth(api)
        _units(api)


def _throughput(api: Api) -> None:
    rows = []
    for size, threads in ((1, 1), (10, 1), (1, 8), (10, 8)):
        name = f"t{size}-{threads}"
        ours = _rate(Lanes(api, name), size=size, threads=threads)
        keyed = _rate(Lanes(api, f"{name}k", visibility_key="group"), size=size, threads=threads)
        fifo = _rate(Fifo(name), size=size, threads=threads)
        rows.append([f"{threads} threads, by {size}", round(ours), round(keyed), round(fifo), ours / fifo])
    table(rows, head=["publish, consume, ack", "alone /s", "visibility key /s", "SQS FIFO on moto /s", "alone : SQS"])


def _rate(queue: Lanes | Fifo, *, size: int, threads: int) -> float:
    """Messages that go all the way, per second."""

    def all_the_way(_: int) -> int:
        queue.send(size)
        return queue.work_off(size)

    all_the_way(0)
    started = time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        done = sum(pool.map(all_the_way, range(max(threads * 2, MESSAGES // size))))
    return done / (time.monotonic() - started)


def _by_depth(api: Api) -> None:
    ours, fifo = Lanes(api, "deep"), Fifo("deep")
    with dynalite() as url:
        made = tables.create(endpoint_url=url, prefix="bench", services=("dynamodb",))
        environment = {**made.environment, "BUCKET": "none"}  # no payload here is too large for a row
        resources = dataclasses.replace(made, environment=environment)
        stored = Stored(Engine("dynalite", url, resources))
        depth, rows = 0, []
        for wanted in DEPTHS:
            for queue in (ours, fifo, stored):
                queue.fill(wanted - depth)
            depth = wanted
            times = [1000 * _seconds(lambda q=queue: (q.send(1), q.work_off(1))) for queue in (ours, fifo, stored)]  # type: ignore[misc]
            rows.append([wanted, *times])
    table(rows, head=["depth", "ours on moto, ms", "SQS FIFO on moto, ms", "our storage on dynalite, ms"])


def _seconds(work: Callable[[], object]) -> float:
    started = time.monotonic()
    for _ in range(20):
        work()
    return (time.monotonic() - started) / 20


def _units(api: Api) -> None:
    rows = []
    for name, settings in (
        ("alone", {}),
        ("primary key", {"primary_key": "group"}),
        ("visibility key", {"visibility_key": "group"}),
        ("both keys", {"visibility_key": "group", "primary_key": "group"}),
    ):
        queue = Lanes(api, f"units-{name.replace(' ', '-')}", **settings)
        with Ledger() as ledger, contextlib.ExitStack():
            queue.send(1)
            queue.work_off(1)
            with ledger.operation("send") as send:
                queue.send(1)
            with ledger.operation("work") as work:
                queue.work_off(1)
        rows.append([name, sum(send.calls.values()), send.write_units, sum(work.calls.values()), work.write_units])
    table(rows, head=["one message", "publish: calls", "write units", "consume and ack: calls", "write units"])
