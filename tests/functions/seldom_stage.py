"""Where cases are played that no journey meets: every function in a process of its own, and a clock to move."""

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from tests.journeys.callers import Caller, Product
from tests.journeys.in_process import product_in_process
from tests.processes import Process
from tests.template.repository import template
from tests.worlds import ManualClock

LARGE = "x" * 100_000
"""What fits no row."""

ENOUGH, LITTLE = 30.0, 1.0
"""Seconds that a call has left: time for everything, and for no work that can be left to a schedule."""


@dataclass(frozen=True)
class Stage:
    """The product, as a journey has it, and what a journey has no hold of.

    Attributes:
        product: The product.
        clock: The clock of all functions.
        processes: The process of each function.
    """

    product: Product
    clock: ManualClock
    processes: dict[str, Process]

    def admin(self) -> Caller:
        """The administrator of a new tenant."""
        return self.product.tenant()[0]

    def run(self, function: str, *, seconds: float = ENOUGH) -> int:
        """Run a scheduled function; returns how much it did."""
        process = self.processes[function]
        process.seconds = seconds
        return int(process.run(function)["done"])

    def hurried(self, function: str, caller: Caller, *, status: int, **request: Any) -> None:
        """Call a function that has little time left."""
        process = self.processes[function]
        process.seconds = LITTLE
        reply = process.call(function, key=caller.key, **request)
        process.seconds = ENOUGH
        assert reply.status == status, reply

    def wait(self, seconds: float) -> None:
        """Let time pass; more than 5 seconds and every function knows what the settings are."""
        self.clock.advance(seconds=seconds)


def new_stage(platform_key: str, clock: ManualClock) -> Stage:
    """A stage on the storage as it is."""
    processes: dict[str, Process] = defaultdict(lambda: Process(clock=clock))
    product = product_in_process(template(), platform_key=platform_key, process_of=processes.__getitem__)
    return Stage(product, clock, processes)


def queue(admin: Caller, name: str, kind: str, **settings: Any) -> str:
    """Make a queue; returns its path."""
    admin("POST", "/queues", body={"name": name, "type": kind, "settings": settings}, expect=201)
    return f"/queues/{name}"


def publish(admin: Caller, path: str, *payloads: Any) -> None:
    """Publish messages one by one."""
    for payload in payloads:
        answer = admin.ask("POST", f"{path}/messages", body=_json(payload))
        assert answer.status in (200, 201), answer


def publish_together(admin: Caller, path: str, *payloads: Any) -> None:
    """Publish messages in one batch, all of which are taken."""
    assert admin("POST", f"{path}/messages/batch", body={"messages": list(payloads)})["accepted"] == len(payloads)


def take(consumer: Caller, path: str, *, most: int = 1) -> list[Any]:
    """Consume at least one message."""
    messages: list[Any] = consumer("POST", f"{path}/consume", body={"max_messages": most})["messages"]
    assert messages
    return messages


def lease(message: Any) -> dict[str, str]:
    """A message as an entry of `settle`."""
    return {"message_id": message["message_id"], "lease_id": message["lease_id"]}


def reject(consumer: Caller, path: str) -> None:
    """Make a dead letter of the next message."""
    (message,) = take(consumer, path)
    body = {"lease_id": message["lease_id"], "dead_letter": True, "reason": "no such customer"}
    consumer("POST", f"{path}/messages/{message['message_id']}/nack", body=body)


def letters(admin: Caller, path: str) -> list[Any]:
    """The dead letters of a queue."""
    found: list[Any] = admin("GET", f"{path}/dlq")["entries"]
    return found


def _json(payload: Any) -> bytes:
    return json.dumps(payload).encode()
