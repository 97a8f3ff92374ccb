"""key_value."""

import functools

from broker import wiring
from broker.items.deltas import Deltas
from broker.items.kind import KeyValue
from broker.items.listing import ItemLists
from broker.items.reading import ItemReader
from broker.items.rows import ItemRows
from broker.items.service import ItemService
from broker.items.store import ItemStore
from broker.items.writing import ItemWriter
from broker.queues.queue import Queue
from broker.queues.rounds import Rounds
from broker.wiring import queues


@functools.cache
def store() -> ItemStore:
    """The rows."""
    rows = ItemRows(vault=wiring.vault())
    return ItemStore(
        state=wiring.state(), blobs=wiring.blobs(), rows=rows, receipts=queues.receipts(), clock=wiring.clock
    )


@functools.cache
def reader() -> ItemReader:
    """What opens them."""
    return ItemReader(store=store())


@functools.cache
def writer() -> ItemWriter:
    """What stores, deletes and expires items."""
    return ItemWriter(store=store(), depth=queues.depth(), sleep=wiring.sleep)


@functools.cache
def kind() -> KeyValue:
    """The type."""
    return KeyValue(
        store=store(),
        writer=writer(),
        depth=queues.depth(),
        receipts=queues.receipts(),
        arrived=_arrived,
        forgotten=_forgotten,
        clock=wiring.clock,
    )


@functools.cache
def items() -> ItemService:
    """The routes of items."""
    return ItemService(
        registry=queues.registry(),
        reader=reader(),
        writer=writer(),
        lists=ItemLists(store=store(), reader=reader()),
        deltas=Deltas(store=store(), reader=reader()),
        tokens=wiring.tokens(),
    )


@functools.cache
def sweep() -> Rounds:
    """The scheduled expiry of items."""
    return Rounds(
        state=wiring.state(),
        registry=queues.registry(),
        name="items",
        types=frozenset({"key_value"}),
        work=kind().sweep,
    )


def _arrived(queue: Queue, digest: str) -> None:
    from broker.wiring import enrichment

    enrichment.promoter().arrived(queue, digest)


def _forgotten(queue_id: str) -> bool:
    from broker.wiring import enrichment

    return enrichment.room().remove(queue_id)
