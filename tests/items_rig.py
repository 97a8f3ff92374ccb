"""key_value queues without HTTP: machines, each with services and a clock of its own, over one storage."""

import json
from collections.abc import Callable
from typing import Any

from broker import jsontext
from broker.crypto import Vault
from broker.errors import BrokerError
from broker.identity import digest
from broker.ids import MonotonicIds
from broker.items.deltas import Changes, Deltas
from broker.items.kind import KeyValue
from broker.items.listing import ItemLists
from broker.items.reading import ItemReader
from broker.items.rows import ItemRows
from broker.items.store import ItemStore
from broker.items.watermark import Watermark
from broker.items.writing import ItemWriter
from broker.queues.depth import Depth
from broker.queues.kinds import Payload, Published
from broker.queues.queue import Queue
from broker.queues.receipts import Receipts
from broker.queues.settings import KeyValueSettings
from edge import BlobStore, Retry, StateTable
from tests.streams import TENANT, OneKey
from tests.worlds import START, Engine, World


def item_queue(queue_id: str = "01KB9Z0000000000000000000P", *, created_at: int = START, **settings: Any) -> Queue:
    """A queue that no registry knows."""
    model = KeyValueSettings.model_validate({"primary_key": ["k"], "on_duplicate": "replace", **settings})
    return Queue(TENANT, queue_id, "prices", "key_value", None, model, True, created_at, created_at)


def payload(value: dict[str, Any]) -> Payload:
    return Payload(value, json.dumps(value).encode())


class Machine:
    """The services of one process."""

    def __init__(
        self,
        world: World | Engine,
        clock: Callable[[], int],
        *,
        client: Any = None,
        sleep: Callable[[float], None] = lambda _: None,
    ) -> None:
        retry = Retry(sleep=lambda _: None)
        state = StateTable(world.state_table, client=client or world.client("dynamodb"), retry=retry)
        bucket = world.resources.environment.get("BUCKET", "none")  # an engine may have no buckets
        blobs = BlobStore(bucket, client=world.client("s3"), retry=retry)
        self.clock = clock
        self.ids = MonotonicIds(clock)
        receipts = Receipts(state=state, clock=clock)
        self.store = ItemStore(
            state=state, blobs=blobs, rows=ItemRows(vault=Vault(OneKey())), receipts=receipts, clock=clock
        )
        self.reader = ItemReader(store=self.store)
        depth = Depth(state=state, clock=clock)
        self.writer = ItemWriter(store=self.store, depth=depth, sleep=sleep)
        self.lists = ItemLists(store=self.store, reader=self.reader)
        self.deltas = Deltas(store=self.store, reader=self.reader)
        self.kind = KeyValue(
            store=self.store,
            writer=self.writer,
            depth=depth,
            receipts=receipts,
            arrived=lambda *_: None,
            forgotten=lambda _: True,
            clock=clock,
        )

    def put(self, queue: Queue, key: Any, **members: Any) -> Published | BrokerError:
        """Publish an item; a refusal is returned."""
        try:
            return self.kind.publish(queue, payload({"k": key, **members}), ids=self.ids, if_match=None)
        except BrokerError as error:
            return error

    def delete(self, queue: Queue, key: Any) -> bool:
        """Delete an item; False when there is none, or it changed."""
        (stored,) = self.reader.find(queue, [digest([key])])
        return stored is not None and self.writer.delete(queue, stored)

    def expire(self, queue: Queue) -> int:
        """Put tombstones in the place of expired items."""
        return self.writer.expire(queue, goes_on=lambda: True)

    def state(self, queue: Queue) -> dict[str, str]:
        """The version of every item, by the JSON text of its key, as pages of its list tell."""
        found: dict[str, str] = {}
        after: str | None = None
        while True:
            page = self.lists.page(queue, after=after, limit=3, prefix="")
            for item in self.reader.open_all(queue, page.rows):
                if item is not None and item.key is not None:
                    found[item.key.decode()] = str(item.stored.version)
            if page.after is None:
                return found
            after = page.after


class Follower:
    """A reader of changes, who holds what it was told."""

    def __init__(self) -> None:
        self.items: dict[str, str] = {}
        self.told = 0
        self.has_more = False
        self._watermark: Watermark | None = None

    def poll(self, machine: Machine, queue: Queue, *, limit: int) -> Changes:
        """Read one page and apply it. The watermark goes the way a token goes."""
        watermark = self._watermark or machine.deltas.since(queue, 0)
        changes = machine.deltas.read(queue, Watermark.decode(watermark.encode()), limit=limit)
        for item in changes.items:
            self.items[text(item["key"])] = item["version"]
        for gone in changes.deleted:
            self.items.pop(text(gone["key"]), None)
        self._watermark = changes.watermark
        self.has_more = changes.has_more
        self.told += len(changes.items) + len(changes.deleted)
        return changes

    def follow_from(self, watermark: Watermark) -> None:
        """Go on from somewhere else."""
        self._watermark = watermark

    def catch_up(self, machine: Machine, queue: Queue, *, limit: int) -> None:
        """Read until there is no more."""
        self.poll(machine, queue, limit=limit)
        while self.has_more:
            self.poll(machine, queue, limit=limit)


def text(key: Any) -> str:
    """The JSON text of a key in an answer."""
    return jsontext.dumps(key).decode()
