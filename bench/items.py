"""key_value: what a delta of ten changes costs in stores of a hundred to ten thousand items, beside a page of the list.

On dynalite, whose queries do not slow down with the size of a partition. A publish and a read of one item are there for
comparison.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

from bench.measure import table
from broker.items.rows import Place, rank_text
from broker.items.writing import fresh_item, place_of
from broker.queues.queue import Queue
from tests.items_rig import Follower, Machine, item_queue, payload
from tests.worlds import Engine, ManualClock
from tools import tables
from tools.dynalite import dynalite
from tools.ledger import Ledger

SIZES = (100, 1_000, 10_000)
CHANGES = 10
ROUNDS = 15
BATCH = 25


def run() -> None:
    """Fill stores of each size, and measure."""
    with dynalite() as url:
        resources = tables.create(endpoint_url=url, prefix="bench", services=("dynamodb",))
        engine = Engine("dynalite", url, resources)
        rows = [_row(engine, size, number) for number, size in enumerate(SIZES)]
        head = ["items", "publish ms", "read ms", "delta of 10 ms", "calls", "read units", "page of 50 ms", "calls"]
        table(rows, head=head)


def _row(engine: Engine, size: int, number: int) -> list[Any]:
    clock = ManualClock()
    machine = Machine(engine, clock)
    queue = item_queue(f"01KB9Z00000000000000000BE{number}")
    _fill(engine, machine, queue, size)
    clock.advance(seconds=3600)
    follower = Follower()
    follower.poll(machine, queue, limit=200)
    follower.follow_from(machine.deltas.now(queue))
    publish, deltas, costs = [], [], []
    with Ledger() as ledger:
        for turn in range(ROUNDS):
            clock.advance(seconds=60)
            for change in range(CHANGES):
                publish.append(_timed(lambda: machine.put(queue, (turn * CHANGES + change) % size)))  # noqa: B023
            with ledger.operation("delta") as cost:
                deltas.append(_timed(lambda: follower.catch_up(machine, queue, limit=50)))
            costs.append(cost)
        with ledger.operation("page") as page:
            machine.lists.page(queue, after=None, limit=50, prefix="")
    read = [_timed(lambda: machine.reader.find(queue, [_digest(queue, 1)])) for _ in range(ROUNDS)]
    pages = [_timed(lambda: machine.lists.page(queue, after=None, limit=50, prefix="")) for _ in range(ROUNDS)]
    middle = statistics.median
    return [
        size,
        f"{middle(publish):.1f}",
        f"{middle(read):.1f}",
        f"{middle(deltas):.1f}",
        sum(costs[-1].calls.values()),
        f"{costs[-1].read_units:g}",
        f"{middle(pages):.1f}",
        sum(page.calls.values()),
    ]


def _digest(queue: Queue, key: int) -> str:
    return fresh_item(queue, payload({"k": key}), version="x").digest


def _fill(engine: Engine, machine: Machine, queue: Queue, size: int) -> None:
    place: Place = place_of(queue)
    client = engine.client()
    for start in range(0, size, BATCH):
        requests = []
        for number in range(start, min(size, start + BATCH)):
            fresh = fresh_item(queue, payload({"k": number, "text": "x" * 200}), version=machine.ids())
            sealed = machine.store.rows.seal(
                place, digest=fresh.digest, version=fresh.version, key=fresh.key, payload=fresh.payload
            )
            item = {
                "pk": {"S": place.pk(fresh.digest)},
                "sk": {"S": fresh.digest},
                "rank": {"S": rank_text(machine.clock(), fresh.version)},
                "sort": {"S": fresh.sort},
                "item": {"B": sealed},
                "item_id": {"S": fresh.version},
                "item_at": {"N": str(machine.clock())},
            }
            requests.append({"PutRequest": {"Item": item}})
        client.batch_write_item(RequestItems={engine.state_table: requests})


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000
