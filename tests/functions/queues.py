"""A user of one queue."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tests.processes import Process, Reply
from tests.worlds import World


@dataclass(frozen=True)
class QueueClient:
    """Calls the functions of one queue with one key. All but `try_*` expect success and return the answer's JSON."""

    process: Process
    key: str
    queue: str = "orders"
    usual: ClassVar[str] = "one_to_one"

    def create(self, kind: str = "", **settings: Any) -> Self:
        """Define the queue, of the usual type if no other is named."""
        body = {"name": self.queue, "type": kind or self.usual, "settings": settings}
        reply = self.process.call("queue_create", key=self.key, body=body)
        assert reply.status == 201, reply
        return self

    def call(self, function: str, **request: Any) -> Reply:
        """Call a function with a path of this queue."""
        path = {"queue": self.queue, **request.pop("path", {})}
        return self.process.call(function, **{"key": self.key, "path": path, **request})

    def try_publish(self, payload: Any, **request: Any) -> Reply:
        return self.call("message_publish", body=payload, **request)

    def publish(self, payload: Any, **request: Any) -> str:
        """Publish a message; returns its id."""
        reply = self.try_publish(payload, **request)
        assert reply.status == 201, reply
        return str(reply.json["message_id"])

    def publish_many(self, *payloads: Any) -> Any:
        return _expected(self.call("message_publish_batch", body={"messages": list(payloads)}), 200)

    def try_consume(self, **body: Any) -> Reply:
        return self.call("queue_consume", body=body)

    def consume(self, **body: Any) -> list[Any]:
        """The messages delivered, none when there are none."""
        reply = self.try_consume(**body)
        assert reply.status in (200, 204), reply
        return list(reply.json["messages"]) if reply.status == 200 else []

    def one(self, **body: Any) -> Any:
        """The one message delivered."""
        (message,) = self.consume(**body)
        return message

    def try_ack(self, message: Any, **body: Any) -> Reply:
        return self._settle("message_ack", message, body)

    def ack(self, message: Any) -> None:
        _expected(self.try_ack(message), 200)

    def try_nack(self, message: Any, **body: Any) -> Reply:
        return self._settle("message_nack", message, body)

    def nack(self, message: Any, **body: Any) -> None:
        _expected(self.try_nack(message, **body), 200)

    def try_extend(self, message: Any, **body: Any) -> Reply:
        return self._settle("message_extend", message, body)

    def stats(self) -> Any:
        return _expected(self.call("queue_stats"), 200)

    def dead_letters(self, **query: Any) -> list[Any]:
        return list(_expected(self.call("dlq_list", query=query), 200)["entries"])

    def _settle(self, function: str, message: Any, body: dict[str, Any]) -> Reply:
        body = {"lease_id": message["lease_id"], **body}
        return self.call(function, path={"message_id": message["message_id"]}, body=body)


def give_up_attempts(world: World) -> None:
    """As time would: a request that has died is not held to be running for ever."""
    for row in world.rows(world.state_table):
        if row.get("status") == {"S": "INPROGRESS"}:
            key = {name: row[name] for name in ("pk", "sk")}
            world.client("dynamodb").delete_item(TableName=world.state_table, Key=key)


def _expected(reply: Reply, status: int) -> Any:
    assert reply.status == status, reply
    return reply.json
