"""A user of one log."""

from dataclasses import dataclass
from typing import Any, Self

from tests.processes import Process, Reply


@dataclass(frozen=True)
class LogClient:
    """Calls the functions of one log with one key. All but `try_*` expect success and return the answer's JSON."""

    process: Process
    key: str
    queue: str = "orders"
    namespace: str = "shop"

    @property
    def path(self) -> dict[str, str]:
        return {"namespace": self.namespace, "queue": self.queue}

    def create(self, **definition: Any) -> Self:
        """Define the log, with one partition unless told otherwise."""
        body = {"queue": self.queue, "partitions": 1, **definition}
        reply = self.process.call("log_create", key=self.key, path={"namespace": self.namespace}, body=body)
        assert reply.status == 200, reply
        return self

    def call(self, function: str, **request: Any) -> Reply:
        """Call a function with a path of this log."""
        path = {**self.path, **request.pop("path", {})}
        return self.process.call(function, **{"key": self.key, "path": path, **request})

    def try_enqueue(self, *messages: Any, **request: Any) -> Reply:
        return self.call("log_enqueue", body={"messages": list(messages)}, **request)

    def enqueue(self, *messages: Any, **request: Any) -> Any:
        return _expected(self.try_enqueue(*messages, **request))

    def enqueue_seqs(self, *seqs: int, key: str = "k") -> list[str]:
        """Enqueue messages whose value is the seq; returns their ids."""
        answer = self.enqueue(*({"key": key, "seq": seq, "value": seq} for seq in seqs))
        return [result["id"] for result in answer["results"]]

    def try_poll(self, partition: int | str = 0, **query: Any) -> Reply:
        return self.call("log_poll", path={"partition": str(partition)}, query=query)

    def poll(self, partition: int | str = 0, **query: Any) -> Any:
        return _expected(self.try_poll(partition, **query))

    def seqs(self, partition: int = 0, **query: Any) -> list[int]:
        """The seqs on a page."""
        return [message["seq"] for message in self.poll(partition, **query)["messages"]]

    def try_commit(self, partition: int | str = 0, **query: Any) -> Reply:
        return self.call("log_commit", path={"partition": str(partition)}, query=query)

    def commit(self, partition: int | str = 0, **query: Any) -> Any:
        return _expected(self.try_commit(partition, **query))

    def committed(self, partition: int = 0, **query: Any) -> int:
        return int(self.commit(partition, **query)["committed"])


def _expected(reply: Reply) -> Any:
    assert reply.status == 200, reply
    return reply.json
