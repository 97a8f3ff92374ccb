"""Documents."""

import functools

from broker import keys, wiring
from broker.documents.delivery import Deliveries
from broker.documents.kind import DocumentsKeep
from broker.documents.listing import DocumentLists
from broker.documents.outbox import Outbox
from broker.documents.service import DocumentService
from broker.documents.sharing import Sharing
from broker.documents.store import Store
from broker.documents.subscriptions import Subscriptions
from broker.documents.sweep import ObjectSweep
from broker.documents.uploads import Uploads
from broker.errors import NotFound
from broker.queues.queue import Queue
from broker.wiring import queues


@functools.cache
def documents() -> DocumentService:
    """The documents of all queues."""
    lists = DocumentLists(state=wiring.state(), store=store(), tokens=wiring.tokens(), clock=wiring.clock)
    return DocumentService(registry=queues.registry(), store=store(), uploads=uploads(), lists=lists)


@functools.cache
def sharing() -> Sharing:
    """Who gets whose documents."""
    return Sharing(
        registry=queues.registry(),
        subscriptions=subscriptions(),
        outbox=outbox(),
        state=wiring.state(),
        lister=wiring.lister(),
    )


@functools.cache
def deliveries() -> Deliveries:
    """The making of copies."""
    return Deliveries(
        state=wiring.state(),
        store=store(),
        uploads=uploads(),
        outbox=outbox(),
        subscriptions=subscriptions(),
        find_queue=lambda tenant_id, queue_id: queues.registry().load(tenant_id, queue_id),
        vault=wiring.vault(),
        clock=wiring.clock,
        ids=wiring.ids(),
    )


@functools.cache
def object_sweep() -> ObjectSweep:
    """The sweep of the bucket."""
    return ObjectSweep(
        state=wiring.state(),
        blobs=wiring.blobs(),
        store=store(),
        depth=queues.depth(),
        find_queue=_find_queue,
        clock=wiring.clock,
    )


@functools.cache
def keep() -> DocumentsKeep:
    """What documents share with all types."""
    return DocumentsKeep(
        state=wiring.state(),
        store=store(),
        outbox=outbox(),
        subscriptions=subscriptions(),
        depth=queues.depth(),
        clock=wiring.clock,
    )


@functools.cache
def store() -> Store:
    """Rows and objects."""
    return Store(
        state=wiring.state(), blobs=wiring.blobs(), vault=wiring.vault(), depth=queues.depth(), clock=wiring.clock
    )


@functools.cache
def uploads() -> Uploads:
    """The way into a queue."""
    return Uploads(
        state=wiring.state(),
        store=store(),
        vault=wiring.vault(),
        depth=queues.depth(),
        receipts=queues.receipts(),
        clock=wiring.clock,
    )


@functools.cache
def outbox() -> Outbox:
    """Documents that must reach subscribers."""
    return Outbox(state=wiring.state(), store=store())


@functools.cache
def subscriptions() -> Subscriptions:
    """The subscriptions of all queues."""
    return Subscriptions(state=wiring.state(), clock=wiring.clock, ids=wiring.ids())


def _find_queue(queue_id: str) -> Queue:
    pointer = wiring.state().get(keys.queue(queue_id), keys.CONFIG)
    if pointer is None:
        raise NotFound
    return queues.registry().load(str(pointer["tenant_id"]), queue_id)
