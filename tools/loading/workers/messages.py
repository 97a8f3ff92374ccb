"""Producers and consumers of the delivery types, and the producer of points."""

import itertools
import os
import time
import zlib
from typing import Any

from tools.loading.api import AGAIN, Api
from tools.loading.journal import Journal

LANES = 5
"""Visibility keys. Messages of one producer whose numbers differ by this share a key."""
IDLE_SECONDS = 0.2
_NACKED = 8


def publish(api: Api, journal: Journal, queue: str, *, name: str, number: int, body: dict[str, Any]) -> str:
    """Publish a message; returns its `status`, empty when it is not known to be stored.

    Every other message has an Idempotency-Key and is repeated until it is answered. One without is sent once: a repeat
    would be another message.
    """
    path = f"/queues/{queue}/messages"
    if number % 2:
        status, answer = api.insist("POST", path, body, name=name, Idempotency_Key=name)
    else:
        status, answer = api.ask("POST", path, body)
        if status in AGAIN:
            journal.note("given up", id=name, status=status)
            return ""
    if status != 201:
        journal.note("defect", asked=f"POST {path}", answer=f"{status} {answer}", id=name)
        return ""
    journal.note("stored", id=name, message_id=answer["message_id"], status=answer["status"])
    return str(answer["status"])


def produce(api: Api, journal: Journal, queue: str) -> None:
    """Publish messages until the parent ends it."""
    for number in itertools.count():
        name = f"{os.getpid()}-{number}"
        body = {"id": name, "key": f"k{number % LANES}", "n": 1, "at": "2026-11-30T10:00:00Z"}
        journal.note("sent", id=name)
        publish(api, journal, queue, name=name, number=number, body=body)


def consume(api: Api, journal: Journal, queue: str) -> None:
    """Lease, note, and ack; nack the first delivery of some."""
    while True:
        began = time.monotonic()
        status, answer = api.ask("POST", f"/queues/{queue}/consume", {"max_messages": 5, "wait_seconds": 0})
        if status != 200:
            time.sleep(IDLE_SECONDS)
            continue
        for message in answer["messages"]:
            payload = message["payload"]
            journal.note(
                "got",
                id=payload["id"],
                delivery=message["delivery"],
                message_id=message["message_id"],
                key=payload.get("key"),
                began=began,
                joined=[payload.get("sku"), payload.get("stamp"), message.get("lookup")],
            )
        for message in answer["messages"]:
            settle(api, journal, queue, message)


def settle(api: Api, journal: Journal, queue: str, message: dict[str, Any]) -> None:
    """Ack one message, or give it back."""
    name, delivery = message["payload"]["id"], message["delivery"]
    back = delivery == 1 and zlib.crc32(name.encode()) % _NACKED == 0
    word = "nack" if back else "ack"
    journal.note(f"{word}ing", id=name, delivery=delivery)
    path = f"/queues/{queue}/messages/{message['message_id']}/{word}"
    status, answer = api.insist("POST", path, {"lease_id": message["lease_id"]}, name=name)
    if status == 200:
        journal.note(f"{word}ed", id=name, delivery=delivery)
    else:
        journal.note("refused", id=name, delivery=delivery, status=status)
        if status not in (409, 410):
            journal.note("defect", asked=f"POST {path}", answer=f"{status} {answer}", id=name)
