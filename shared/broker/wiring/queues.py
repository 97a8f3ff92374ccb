"""Queues of all types. A type's own package is imported when a queue of that type is first met."""

import functools
import json
from collections.abc import Sequence

from broker import wiring
from broker.caller import Caller
from broker.errors import NotFound, WrongQueueType
from broker.queues.contents import Contents
from broker.queues.deadletters import DeadLetters
from broker.queues.depth import Depth
from broker.queues.dlq import DlqService
from broker.queues.kinds import Delivers, Keeps, Publishes
from broker.queues.letters import Redrives
from broker.queues.primarykeys import PrimaryKeys
from broker.queues.queue import Queue
from broker.queues.receipts import Receipts
from broker.queues.registry import Registry
from broker.queues.service import QueueService
from broker.queues.settings import DOCUMENTS, SETTINGS, STREAMS, TO_MANY, TO_ONE, QueueSettings, QueueType
from broker.queues.sweep import Sweep
from edge import Operation, Row


@functools.cache
def registry() -> Registry:
    """The queues of all tenants."""
    return Registry(
        state=wiring.state(), lister=wiring.lister(), names=wiring.names(), clock=wiring.clock, ids=wiring.ids()
    )


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
        sleep=wiring.sleep,
    )


@functools.cache
def contents() -> Contents:
    """The bodies of messages."""
    return Contents(vault=wiring.vault(), blobs=wiring.blobs())


@functools.cache
def depth() -> Depth:
    """The counters of queues with a limit."""
    return Depth(state=wiring.state(), clock=wiring.clock)


@functools.cache
def primary_keys() -> PrimaryKeys:
    """The holders of primary keys."""
    return PrimaryKeys(state=wiring.state())


@functools.cache
def receipts() -> Receipts:
    """What repeated requests have published before."""
    return Receipts(state=wiring.state(), clock=wiring.clock)


@functools.cache
def dead_letters() -> DeadLetters:
    """Messages set aside."""
    return DeadLetters(
        state=wiring.state(), edges=wiring.edges(), contents=contents(), vault=wiring.vault(), tokens=wiring.tokens()
    )


@functools.cache
def dlq() -> DlqService:
    """The `/queues/{queue}/dlq` API."""
    return DlqService(registry=registry(), letters=dead_letters(), redrives=redrives)


@functools.cache
def sweep() -> Sweep:
    """The removal of deleted queues and logs, and the rest of purges."""
    return Sweep(state=wiring.state(), remove=_remove, purge=_purge, clock=wiring.clock)


def _remove(row: Row) -> bool:
    if "type" not in row:
        from broker.wiring import log

        return log.remains().remove(row)
    kind = _kind(row)
    settings = json.loads(str(row["settings"]))
    return keeps(kind).remove(str(row["sk"]), tenant_id=str(row["tenant_id"]), settings=settings)


def _purge(row: Row) -> bool:
    try:
        queue = registry().load(str(row["tenant_id"]), str(row["sk"]))
    except NotFound:
        return True
    return keeps(queue.type).purge(queue, until=int(str(row["purged_at"])))


def _kind(row: Row) -> QueueType:
    return next(kind for kind in SETTINGS if kind == row["type"])


def publishes(kind: QueueType) -> Publishes:
    """The publishing side of a type."""
    if kind in STREAMS:
        from broker.wiring import enrichment

        return enrichment.enrichment()
    if kind == "one_to_one":
        from broker.wiring import lanes

        return lanes.lanes()
    if kind == "one_to_many":
        from broker.wiring import streams

        return streams.publishing()
    if kind == "time_series":
        from broker.wiring import series

        return series.time_series()
    if kind == "key_value":
        from broker.wiring import items

        return items.kind()
    raise WrongQueueType(f"Nothing can be published to a {kind} queue.")


def delivers(kind: QueueType) -> Delivers:
    """The delivering side of a type."""
    if kind in TO_ONE:
        from broker.wiring import lanes

        return lanes.lanes()
    if kind in TO_MANY:
        from broker.wiring import streams

        return streams.streams()
    raise WrongQueueType(f"A {kind} queue does not deliver messages.")


def keeps(kind: QueueType) -> Keeps:
    """What every type has."""
    if kind in STREAMS:
        from broker.wiring import enrichment

        return enrichment.keeping(kind)
    if kind == "one_to_one":
        from broker.wiring import lanes

        return lanes.lanes()
    if kind in TO_MANY:
        from broker.wiring import streams

        return streams.keeping()
    if kind == "time_series":
        from broker.wiring import series

        return series.time_series()
    if kind == "key_value":
        from broker.wiring import items

        return items.kind()
    if kind in DOCUMENTS:
        from broker.wiring import documents

        return documents.keep()
    raise WrongQueueType(f"Queues of type {kind} cannot be kept.")


def redrives(kind: QueueType) -> Redrives:
    """What puts dead letters of a type back."""
    if kind in STREAMS:
        from broker.wiring import enrichment

        return enrichment.enrichment()
    if kind == "one_to_one":
        from broker.wiring import lanes

        return lanes.lanes()
    if kind == "one_to_many":
        from broker.wiring import streams

        return streams.streams()
    raise WrongQueueType(f"A {kind} queue has no dead letters.")


def check_new_queue(caller: Caller, kind: QueueType, settings: QueueSettings) -> Sequence[Operation]:
    """What a new queue needs beside its own settings, and what must happen when it is made."""
    if kind not in STREAMS:
        return []
    from broker.wiring import enrichment

    return enrichment.definitions().check(caller, settings)


def guard_deletion(queue: Queue) -> Sequence[Operation]:
    """What must happen when a queue is deleted."""
    if queue.type not in STREAMS:
        return []
    from broker.wiring import enrichment

    return enrichment.definitions().untie(queue)
