"""The keys of documents, beside those of `broker.keys`.

State (hash `pk`, range `sk`)

| pk                    | sk                   | what |
|-----------------------|----------------------|------|
| documents#{queue}     | {document}           | a document: what it is, sealed; `sort` leads to it by name |
| queue#{queue}         | subscribers          | how many there are, and a number that grows with each new one |
| queue#{queue}         | subscription         | whose documents the queue gets |
| subscribers#{queue}   | {subscription}       | a queue that gets this one's documents |
| outbox#{shard}        | {queue}#{document}   | a document that must reach subscribers; `rank` until it is spread |
| deliveries#{shard}    | {subscription}       | how far a subscription is; `rank` while there is work |
| copies#{subscription} | {document}           | a copy still to be made |
| sweeps                | objects              | where the sweep of the bucket goes on |

Bucket

| key                   | what |
|-----------------------|------|
| document/{queue}/{id} | a document's bytes |
"""

from typing import Final

from broker.keys import CONFIG as CONFIG
from broker.keys import SHARDS as SHARDS
from broker.keys import queue as queue
from broker.keys import spread

BLOBS: Final = "document/"
SUBSCRIBERS: Final = "subscribers"
SUBSCRIPTION: Final = "subscription"
SWEEPS: Final = "sweeps"
OBJECTS: Final = "objects"


def documents(queue_id: str) -> str:
    """The hash key of a queue's documents."""
    return f"documents#{queue_id}"


def blob(queue_id: str, *, document_id: str) -> str:
    """The object key of a document's bytes."""
    return f"{blobs(queue_id)}{document_id}"


def blobs(queue_id: str) -> str:
    """What the object keys of a queue's documents begin with."""
    return f"{BLOBS}{queue_id}/"


def subscribers(queue_id: str) -> str:
    """The hash key of the queues that get this one's documents."""
    return f"subscribers#{queue_id}"


def outbox(queue_id: str) -> str:
    """The hash key under which a queue's documents wait for delivery."""
    return outbox_shard(spread(queue_id, over=SHARDS))


def outbox_shard(shard: int) -> str:
    """The hash key of one shard, 0 to `SHARDS` - 1."""
    return f"outbox#{shard}"


def outgoing(queue_id: str, *, document_id: str = "") -> str:
    """The range key of a document that waits for delivery; without one, what those of the queue begin with."""
    return f"{queue_id}#{document_id}"


def deliveries(subscription_id: str) -> str:
    """The hash key under which scheduled functions find a subscription."""
    return deliveries_shard(spread(subscription_id, over=SHARDS))


def deliveries_shard(shard: int) -> str:
    """The hash key of one shard, 0 to `SHARDS` - 1."""
    return f"deliveries#{shard}"


def copies(subscription_id: str) -> str:
    """The hash key of the copies that a subscription still has to get."""
    return f"copies#{subscription_id}"
