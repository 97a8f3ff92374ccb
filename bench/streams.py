"""one_to_many: publish, consume and ack through the functions, with 1, 10 and 100 consumers of one queue."""

import time
from typing import Any

from bench.measure import Api, answer_of, milliseconds, new_tenant, table
from broker import wiring
from tests.worlds import moto_world
from tools.ledger import Cost, Ledger

CONSUMERS = (1, 10, 100)
PAYLOAD = {"order": 12345, "customer": "c-778", "lines": [{"sku": "A-1", "quantity": 2, "price": "12.50"}] * 4}
PUBLISH, BATCH = "POST /queues/{queue}/messages", "POST /queues/{queue}/messages/batch"
CONSUME, SETTLE = "POST /queues/{queue}/consume", "POST /queues/{queue}/settle"
ACK = "POST /queues/{queue}/messages/{message_id}/ack"
SHOWN = ("publish", "publish 25", "consume 1", "ack", "consume 10", "settle 10")


def run() -> None:
    """Calls, units and time of each operation, and what it takes to bring one message to all consumers."""
    with moto_world() as world:
        api = Api(new_tenant(world.platform_key))
        rows = []
        for count in CONSUMERS:
            world.wipe()
            api = Api(new_tenant(world.platform_key))
            rows += _with_consumers(api, count)
        table(
            rows, head=["consumers", "operation", "calls", "read units", "write units", "CPU ms on moto", "messages/s"]
        )
        _floor()


def _with_consumers(api: Api, count: int) -> list[list[object]]:
    queue = f"news{count}"
    api.call("queue_create", "POST /queues", body={"name": queue, "type": "one_to_many", "settings": {}})()
    client = api.call("client_create", "POST /clients", body={"name": "reader", "permissions": []})
    consumers = [str(answer_of(client())["client_id"]) for _ in range(count)]
    calls = _Calls(api, queue)
    for consumer in consumers:
        calls.consume(consumer, 1)
    calls.publish(25)
    for consumer in consumers[1:]:
        calls.consume(consumer, 1)
    costs: dict[str, Cost] = {}
    with Ledger() as ledger:
        for name, work in calls.works(consumers[0]).items():
            with ledger.operation(name) as operation:
                work()
            costs[name] = operation.cost
    times = _times(calls, consumers[0])
    rows: list[list[object]] = []
    for name in SHOWN:
        cost, size = costs[name], int(name.rpartition(" ")[2]) if name[-1].isdigit() else 1
        taken = times[name]
        rate = round(size * 1000 / taken)
        rows.append([count, name, sum(cost.calls.values()), cost.read_units, cost.write_units, taken, rate])
    return rows


class _Calls:
    """The operations of one queue."""

    def __init__(self, api: Api, queue: str) -> None:
        self._api = api
        self._queue = queue
        self.held: list[dict[str, Any]] = []

    def publish(self, size: int) -> None:
        """Publish one, or a batch."""
        if size == 1:
            self._api.call("message_publish", PUBLISH, queue=self._queue, body=PAYLOAD)()
        else:
            body = {"messages": [PAYLOAD] * size}
            self._api.call("message_publish_batch", BATCH, queue=self._queue, body=body)()

    def consume(self, consumer: str, limit: int) -> None:
        """Take a run."""
        body = {"client_id": consumer, "max_messages": limit}
        answer = self._api.call("queue_consume", CONSUME, queue=self._queue, body=body)()
        self.held = answer_of(answer)["messages"] if answer["statusCode"] == 200 else []

    def ack(self, consumer: str) -> None:
        """Ack the one that is held."""
        (message,) = self.held
        body = {"client_id": consumer, "lease_id": message["lease_id"]}
        self._api.call("message_ack", ACK, queue=self._queue, message_id=message["message_id"], body=body)()

    def settle(self, consumer: str) -> None:
        """Ack all that is held."""
        acks = [{"message_id": one["message_id"], "lease_id": one["lease_id"]} for one in self.held]
        body = {"client_id": consumer, "acks": acks}
        self._api.call("queue_settle", SETTLE, queue=self._queue, body=body)()

    def works(self, consumer: str) -> dict[str, Any]:
        """All of them, in an order in which each finds what it needs."""
        return {
            "publish": lambda: self.publish(1),
            "publish 25": lambda: self.publish(25),
            "consume 1": lambda: self.consume(consumer, 1),
            "ack": lambda: self.ack(consumer),
            "consume 10": lambda: self.consume(consumer, 10),
            "settle 10": lambda: self.settle(consumer),
        }


def _times(calls: _Calls, consumer: str) -> dict[str, float]:
    """CPU milliseconds of each, the median of five."""
    taken: dict[str, list[float]] = {name: [] for name in SHOWN}
    for _ in range(5):
        for name, work in calls.works(consumer).items():
            taken[name].append(_once(work))
    return {name: sorted(values)[2] for name, values in taken.items()}


def _once(work: Any) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000


def _floor() -> None:
    """One bare put on moto, for comparison."""
    client = wiring.dynamodb()
    item = {"source": {"S": "x"}, "seq": {"S": "y"}, "body": {"B": b"x" * 300}}
    put = milliseconds(lambda: client.put_item(TableName=wiring.settings().edges_table, Item=item), times=25)
    print(f"\none bare put_item on moto: {put:.2f} ms of CPU")
