"""Every key of both tables and the bucket is made here; those of documents in `broker.documents.keys`.

Edges (hash `source`, range `seq` = `{seq + 2^63:020d}#{id}`)

| source                  | range      | what |
|-------------------------|------------|------|
| log#{queue}#{partition} | (seq, id)  | messages of queue/v1: `body`, or `blob` and `size` |
| stream#{queue}#{partition} | (number, -) | to-many messages: `id`, `at`, `claims`, body; tombstones: `at` |
| redriven#{queue}#{client} | (redriven_at ms, entry id) | to-many messages given back to one consumer |
| lane#{queue}#{lane}     | (n in the lane, id) | messages of one visibility key, which share a lane |
| deferred#{queue}#{hash} | (ms, id@stream) | messages of stream queues that wait for an item of this queue |
| dlq#{queue}             | (failed_at ms, entry id) | dead letters: `body`, or `blob` and `size`; why and when |

State (hash `pk`, range `sk`)

| pk                  | sk                        | what |
|---------------------|---------------------------|------|
| tenants             | {tenant}                  | the list of tenants: name, created_at |
| tenant#{tenant}     | config                    | name, created_at, key_version, wrapped data keys, closing |
| tenant#{tenant}     | client#{client}           | a client as lists show it |
| tenant#{tenant}     | log#{namespace}/{queue}   | the definition of a queue of queue/v1, with its queue id |
| tenant#{tenant}     | queue#{name}              | a queue: id, type, settings, enabled |
| queue#{queue}       | config                    | where the queue of this id stands: tenant, name, type |
| queue#{queue}       | depth                     | how much it holds, where that is limited |
| queue#{queue}       | reaped                    | up to which moment ended leases have been looked after |
| lanes#{queue}#{partition} | {lane}              | a lane of a to-one queue: a visibility key, or one message; `rank` |
| settled#{queue}#{id} | settled                  | which lease settled a message that was delivered more than once |
| key#{queue}#{hash}  | key                       | the message that holds a primary key |
| queue#{queue}       | consumer#{client}         | a consumer of a to-many queue: positions, and the run it holds |
| stream#{queue}#{partition} | tail                 | the numbers given out, and up to where messages have left |
| dead#{queue}        | {entry}                   | when a dead letter failed, which leads to its edge |
| queue#{queue}       | oldest#{shard}            | the rank below which a shard of items holds none that lives |
| items#{queue}#{shard} | {key hash}              | a key_value item, or its tombstone |
| waiting#{queue}     | {key hash}                | an item of this queue is waited for, since when at least |
| registry#{shard}    | {queue}                   | the same, for scheduled functions |
| tenant#{tenant}     | freed#{range key}         | until when a deleted queue's name may be remembered |
| client#{client}     | client                    | a client as authentication needs it: tenant, hash, permissions |
| client#platform     | client                    | hash of the platform key, for those who may not read it |
| idempotency#{scope} | attempt, Powertools' own  | answers to repeated requests, 24 hours |
| doomed#{shard}      | {queue}                   | a deleted queue whose messages are still to be removed |
| rounds              | {work}                    | where the next round of scheduled work begins |
| purged#{shard}      | {queue}                   | a queue that is still to be emptied of what it held at a moment |
| series#{queue}#{n}  | {series}                  | a series: its sealed key; under max_buckets, how many buckets |
| buckets#{queue}#{series} | {start}              | a bucket of it, see broker.series.rows |
| once#{queue}#{message} | receipt                | what was stored under an Idempotency-Key, 25 hours |

Bucket

| key                     | what |
|-------------------------|------|
| payload/{queue}/{id}    | a payload too big for an item |

Queue ids are ULIDs and never reused: what is made again under an old name shares nothing with it.
"""

from typing import Final

import xxhash

CONFIG: Final = "config"
CLIENT: Final = "client"
TENANTS: Final = "tenants"
PLATFORM: Final = "platform"
ATTEMPT: Final = "attempt"
DEPTH: Final = "depth"
KEY: Final = "key"
TAIL: Final = "tail"
CONSUMERS_PREFIX: Final = "consumer#"
REAPED: Final = "reaped"
ROUNDS: Final = "rounds"
SETTLED: Final = "settled"
SHARDS: Final = 4
"""Hash keys over which the lists of all queues, and of all deleted ones, are spread."""


def log_source(queue_id: str, *, partition: int) -> str:
    """The source of one partition of a log."""
    return f"log#{queue_id}#{partition}"


def tenant(tenant_id: str) -> str:
    """The hash key of everything small about a tenant."""
    return f"tenant#{tenant_id}"


def client(client_id: str) -> str:
    """The hash key of a client for authentication; its range key under the tenant is the same text."""
    return f"client#{client_id}"


CLIENTS_PREFIX: Final = "client#"
LOGS_PREFIX: Final = "log#"
QUEUES_PREFIX: Final = "queue#"
QUEUE_PREFIXES: Final = (LOGS_PREFIX, QUEUES_PREFIX)
"""What the range keys of everything that counts as a queue of a tenant begin with."""


def log(namespace: str, queue: str) -> str:
    """The range key of a log's definition under its tenant."""
    return f"{LOGS_PREFIX}{namespace}/{queue}"


def logs_of(namespace: str) -> str:
    """What the range keys of a namespace's logs begin with."""
    return f"{LOGS_PREFIX}{namespace}/"


def idempotency(scope: str) -> str:
    """The hash key of one idempotent request."""
    return f"idempotency#{scope}"


def freed(name: str) -> str:
    """The range key of the note that a name, itself a range key under the tenant, was freed."""
    return f"freed#{name}"


def queue_name(name: str) -> str:
    """The range key of a queue under its tenant."""
    return f"{QUEUES_PREFIX}{name}"


def queue(queue_id: str) -> str:
    """The hash key of what there is one of per queue."""
    return f"queue#{queue_id}"


def registry(queue_id: str) -> str:
    """The hash key under which scheduled functions find a queue."""
    return registry_shard(_shard(queue_id))


def registry_shard(shard: int) -> str:
    """The hash key of one shard, 0 to `SHARDS` - 1."""
    return f"registry#{shard}"


def doomed(queue_id: str) -> str:
    """The hash key under which a deleted queue waits for what it held to be removed."""
    return doomed_shard(_shard(queue_id))


def doomed_shard(shard: int) -> str:
    """The hash key of one shard, 0 to `SHARDS` - 1."""
    return f"doomed#{shard}"


def purged(queue_id: str) -> str:
    """The hash key under which a purged queue waits for the rest to be removed."""
    return purged_shard(_shard(queue_id))


def purged_shard(shard: int) -> str:
    """The hash key of one shard, 0 to `SHARDS` - 1."""
    return f"purged#{shard}"


def primary_key(queue_id: str, *, digest: str) -> str:
    """The hash key of the holder of a primary key."""
    return f"key#{queue_id}#{digest}"


def lanes(queue_id: str, *, partition: int) -> str:
    """The hash key of the lanes of one partition of a to-one queue."""
    return f"lanes#{queue_id}#{partition}"


def lane_source(queue_id: str, *, lane: str) -> str:
    """The source of the messages that share a lane."""
    return f"lane#{queue_id}#{lane}"


def settled(queue_id: str, *, message_id: str) -> str:
    """The hash key of what is remembered of a message that was settled after several deliveries."""
    return f"settled#{queue_id}#{message_id}"


def dead_letters(queue_id: str) -> str:
    """The source of a queue's dead letters."""
    return f"dlq#{queue_id}"


def dead(queue_id: str) -> str:
    """The hash key under which dead letters are found by entry id."""
    return f"dead#{queue_id}"


def stream(queue_id: str, *, partition: int) -> str:
    """The source of one partition of a to-many queue, and the hash key of its tail."""
    return f"stream#{queue_id}#{partition}"


def redriven(queue_id: str, *, client_id: str) -> str:
    """The source of what is given back to one consumer of a to-many queue."""
    return f"redriven#{queue_id}#{client_id}"


def consumer(client_id: str) -> str:
    """The range key of a consumer under its queue."""
    return f"{CONSUMERS_PREFIX}{client_id}"


def items(queue_id: str, *, shard: int) -> str:
    """The hash key of one shard of a key_value queue; its range keys are the hashes of the items' keys."""
    return f"items#{queue_id}#{shard}"


def item_shard(digest: str, *, partitions: int) -> int:
    """The shard of an item, by the hash of its key."""
    return xxhash.xxh32_intdigest(digest.encode()) % partitions


def oldest(shard: int) -> str:
    """The range key under a queue of where its oldest items are looked for."""
    return f"oldest#{shard}"


def deferred(queue_id: str, *, digest: str) -> str:
    """The source of the messages that wait for an item of a key_value queue."""
    return f"deferred#{queue_id}#{digest}"


def waiting(queue_id: str) -> str:
    """The hash key under which the items of a key_value queue stand that are waited for."""
    return f"waiting#{queue_id}"


def payload_blob(queue_id: str, *, record_id: str) -> str:
    """The object key of a payload too big for an item."""
    return f"payload/{queue_id}/{record_id}"


def payload_blobs(queue_id: str) -> str:
    """What the object keys of a queue's big payloads begin with."""
    return f"payload/{queue_id}/"


_YEAR_ONE = -62_135_596_800
"""The first second of the year 1, since the epoch."""


def series(queue_id: str, *, partition: int) -> str:
    """The hash key of one partition of a time series queue's series."""
    return f"series#{queue_id}#{partition}"


def buckets(queue_id: str, *, series_id: str) -> str:
    """The hash key of the buckets of a series."""
    return f"buckets#{queue_id}#{series_id}"


def bucket(start: int) -> str:
    """The range key of the bucket that starts at a moment, whole seconds given in milliseconds, from the year 1 on."""
    return f"{start // 1000 - _YEAR_ONE:012d}"


def bucket_start(sk: str) -> int:
    """Back from the range key."""
    return (int(sk) + _YEAR_ONE) * 1000


def once(queue_id: str, message_id: str) -> str:
    """The hash key of the receipt for a message; for the first of those points of a request that share a bucket."""
    return f"once#{queue_id}#{message_id}"


ONCE: Final = "receipt"


def spread(text: str, *, over: int) -> int:
    """Which of `over` partitions a text belongs to."""
    return xxhash.xxh32_intdigest(text.encode()) % over


def _shard(queue_id: str) -> int:
    return xxhash.xxh32_intdigest(queue_id.encode()) % SHARDS
