"""Queues of all types. A type's own package is imported when a queue of that type is first met."""

import functools
import time

from broker import wiring
from broker.caller import Caller
from broker.errors import WrongQueueType
from broker.queues.kinds import Delivers, Keeps, Publishes
from broker.queues.queue import Queue
from broker.queues.registry import Registry
from broker.queues.service import QueueService
from broker.queues.settings import QueueSettings, QueueType


@functools.cache
def registry() -> Registry:
    """The queues of all tenants."""
    return Registry(state=wiring.state(), lister=wiring.lister(), clock=wiring.clock, ids=wiring.ids())


@functools.cache
def queues() -> QueueService:
    """The `/queues` API."""
    return QueueService(
        registry=registry(),
        publishes=publishes,
        delivers=delivers,
        keeps=keeps,
        checks=check_new_queue,
        guards=guard_deletion,
        clock=wiring.clock,
        sleep=time.sleep,
    )


def publishes(kind: QueueType) -> Publishes:
    """The publishing side of a type."""
    raise WrongQueueType(f"Nothing can be published to a {kind} queue.")


def delivers(kind: QueueType) -> Delivers:
    """The delivering side of a type."""
    raise WrongQueueType(f"A {kind} queue does not deliver messages.")


def keeps(kind: QueueType) -> Keeps:
    """What every type has."""
    raise WrongQueueType(f"Queues of type {kind} cannot be kept.")


def check_new_queue(caller: Caller, kind: QueueType, settings: QueueSettings) -> None:
    """What a new queue needs beside its own settings."""


def guard_deletion(queue: Queue) -> None:
    """What forbids the deletion of a queue."""
