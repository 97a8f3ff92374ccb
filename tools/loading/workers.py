"""Processes that make traffic and note, line by line, what they were told. They may be killed at any moment."""

import http.client
import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit


class Journal:
    """Lines of JSON in a file of its own; each is written at once, so a kill loses none that was noted."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, what: str, **members: Any) -> None:
        """Note something."""
        line = json.dumps({"what": what, "at": time.monotonic(), "by": os.getpid(), **members})
        os.write(self._file, line.encode() + b"\n")


class Api:
    """Makes requests, and notes every answer that no caller should see."""

    def __init__(self, url: str, key: str, journal: Journal) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=35)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._journal = journal

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """Status and decoded answer; status 0 when there was none."""
        given = self._headers | {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            self._connection.request(method, path, body=None if body is None else json.dumps(body), headers=given)
            answer = self._connection.getresponse()
            text = answer.read()
        except OSError:
            self._connection.close()
            return 0, None
        self._journal.note("answer", status=answer.status)
        ours = answer.getheader("Content-Type", "").startswith("application/problem")
        if answer.status >= 500 and answer.status != 503 and ours:
            self._journal.note("defect", path=path, answer=text.decode()[:500])
        return answer.status, json.loads(text) if text else None

    def insist(
        self, method: str, path: str, body: object = None, *, message: str = "", **headers: str
    ) -> tuple[int, Any]:
        """The same, repeated until it is answered otherwise than by a failure that asks for it.

        Args:
            method: The method.
            path: The path.
            body: The body.
            message: What is published, if it is to be noted that an attempt at it was cut short.
            headers: More headers.
        """
        for pause in itertools.chain([0.02, 0.05, 0.1], itertools.repeat(0.2)):
            status, answer = self.ask(method, path, body, **headers)
            if status not in (0, 500, 503) and not (status == 409 and answer["code"] == "idempotency_in_progress"):
                return status, answer
            if message and status != 409:
                self._journal.note("interrupted", id=message)
            time.sleep(pause)
        raise AssertionError("unreachable")


def produce(api: Api, journal: Journal, kind: str) -> None:
    """Publish messages with an Idempotency-Key each, until the parent ends it."""
    for number in itertools.count():
        name = f"{os.getpid()}-{number}"
        body: dict[str, Any] = {"id": name, "key": f"k{number % 5}", "n": 1, "at": "2026-11-30T10:00:00Z"}
        path = f"/queues/{kind}/messages"
        if kind == "log":
            path = "/queue/v1/namespaces/load/queues/log/messages"
            body = {"messages": [{"key": "k", "seq": time.time_ns(), "value": name}]}
        journal.note("sent", id=name)
        status, answer = api.insist("POST", path, body, message=name, Idempotency_Key=name)
        stored = status == 201 if kind != "log" else status == 200 and answer["accepted"] == 1
        if stored:
            journal.note("stored", id=name)
        elif kind != "log":
            journal.note("defect", path=path, answer=f"{status} {answer}")


def consume(api: Api, journal: Journal, kind: str) -> None:
    """Lease, note and ack."""
    while True:
        status, answer = api.ask("POST", f"/queues/{kind}/consume", {"max_messages": 5, "wait_seconds": 0})
        if status != 200:
            time.sleep(0.05)
            continue
        for message in answer["messages"]:
            name = message["payload"]["id"]
            journal.note("got", id=name, delivery=message["delivery"], key=message["payload"]["key"])
            path = f"/queues/{kind}/messages/{message['message_id']}/ack"
            status, _ = api.insist("POST", path, {"lease_id": message["lease_id"]})
            if status == 200:
                journal.note("acked", id=name)


def follow(api: Api, journal: Journal, _: str) -> None:
    """Poll a log from its beginning, and commit what was seen."""
    place = "/queue/v1/namespaces/load/queues/log/partitions/0"
    while True:
        status, page = api.ask("GET", f"{place}/poll?limit=50")
        if status != 200 or not page["messages"]:
            time.sleep(0.05)
            continue
        for message in page["messages"]:
            journal.note("got", id=message["value"], delivery=0)
        if api.insist("DELETE", f"{place}/messages?cursor={page['cursor']}")[0] == 200:
            for message in page["messages"]:
                journal.note("acked", id=message["value"])


ROLES: dict[str, Callable[[Api, Journal, str], None]] = {"produce": produce, "consume": consume, "follow": follow}


if __name__ == "__main__":
    role, queue, target, api_key, where = sys.argv[1:]
    book = Journal(where)
    ROLES[role](Api(target, api_key, book), book, queue)
