"""Time series: points into one bucket and into a thousand series, and ranges, beside the bare calls that they need."""

import collections
import functools
import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.measure import Api, in_turns, new_tenant, table
from broker import wiring
from broker.queues.queue import Queue
from tests.series_rig import Process, queue_of
from tests.worlds import moto_world
from tools import tables
from tools.ledger import Ledger
from tools.ministack import ministack

PUBLISH, BATCH = "POST /queues/{queue}/messages", "POST /queues/{queue}/messages/batch"
RANGE = "GET /queues/{queue}/buckets"
SERIES = 1_000
THREADS = 8
POINTS = 400
BARE = {
    "UpdateExpression": "SET #c = :c ADD #n :one, #s :v",
    "ExpressionAttributeNames": {"#c": "c", "#n": "n", "#s": "s"},
    "ExpressionAttributeValues": {":c": {"S": "x" * 20}, ":one": {"N": "1"}, ":v": {"N": "12"}},
}


def run() -> None:
    """Points and ranges through the functions on moto; points side by side on ministack, and what they cost."""
    with moto_world() as world:
        _through_the_functions(Api(new_tenant(world.platform_key)), wiring.settings().state_table)
    _side_by_side()


def _through_the_functions(api: Api, state_table: str) -> None:
    settings = {"interval_seconds": 3600, "aggregation_fields": ["p"], "primary_key": ["id"]}
    api.call("queue_create", "POST /queues", body={"name": "q", "type": "time_series", "settings": settings})()
    client = wiring.dynamodb()
    spread = itertools.cycle(
        [api.call("message_publish", PUBLISH, queue="q", body={"id": number, "p": 12}) for number in range(SERIES)]
    )
    keys = itertools.cycle(range(SERIES))
    batch = {"messages": [{"id": "hot", "p": number} for number in range(100)]}

    def bare(sk: str) -> None:
        client.update_item(TableName=state_table, Key={"pk": {"S": "bare"}, "sk": {"S": sk}}, **BARE)

    for _ in range(SERIES):
        next(spread)()
    works: dict[str, Callable[[], Any]] = {
        "hot": api.call("message_publish", PUBLISH, queue="q", body={"id": "hot", "p": 12}),
        "bare hot": lambda: bare("hot"),
        "spread": lambda: next(spread)(),
        "bare spread": lambda: bare(str(next(keys))),
        "batch": api.call("message_publish_batch", BATCH, queue="q", body=batch),
    }
    taken = in_turns(works, times=100)
    rows = [
        ["one hot bucket", 1000 / taken["hot"], taken["hot"], taken["hot"] / taken["bare hot"]],
        ["1,000 series", 1000 / taken["spread"], taken["spread"], taken["spread"] / taken["bare spread"]],
        [
            "one hot bucket, 100 in a batch",
            100_000 / taken["batch"],
            taken["batch"],
            taken["batch"] / taken["bare hot"],
        ],
    ]
    table(rows, head=["points on moto, one thread", "points/s", "ms a call", "ratio to one bare UpdateItem"])
    _ranges(api, client, state_table)


def _ranges(api: Api, client: Any, state_table: str) -> None:
    settings = {"interval_seconds": 1, "aggregation_fields": ["p"], "timestamp_field": "at"}
    api.call("queue_create", "POST /queues", body={"name": "r", "type": "time_series", "settings": settings})()
    first = wiring.clock() // 1000 * 1000 - 2_000_000
    for start in range(0, 1000, 100):
        points = [{"at": first + 1000 * number, "p": number} for number in range(start, start + 100)]
        api.call("message_publish_batch", BATCH, queue="r", body={"messages": points})()
    until = first + 1_000_000
    rows = []
    owners = collections.Counter(
        item["pk"]["S"]
        for item in client.get_paginator("scan").paginate(TableName=state_table).search("Items")
        if item["pk"]["S"].startswith("buckets#")
    )
    ((pk, _),) = owners.most_common(1)
    for name, query in {"1,000 buckets": "", "1,000 filled from nothing": "fill_gaps=true&"}.items():
        low = first if not query else first - 10_000_000
        call = api.call("bucket_range", RANGE, queue="r", query=f"{query}from={low}&to={low + until - first}")
        request = {
            "TableName": state_table,
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :low AND :high",
            "ExpressionAttributeValues": {":pk": {"S": pk}, ":low": {"S": "0"}, ":high": {"S": "9"}},
            "ConsistentRead": True,
        }
        taken = in_turns({"range": call, "bare": functools.partial(client.query, **request)}, times=5)
        rows.append([name, taken["range"], taken["range"] / taken["bare"]])
    table(rows, head=["a range on moto", "ms", "ratio to a bare Query of 1,000 buckets"])


def _side_by_side() -> None:
    """Eight processes at once: what a hot bucket makes of it, and how often writes have to be repeated."""
    rows = []
    with ministack() as url, Ledger() as ledger:
        resources = tables.create(endpoint_url=url, prefix="bench", services=("dynamodb",))
        state = resources.environment["STATE_TABLE"]
        client = tables.client("dynamodb", endpoint_url=url)
        processes = [Process(client, state, wiring.clock) for _ in range(THREADS)]
        hot = queue_of(interval_seconds=86_400)
        spread = queue_of(interval_seconds=86_400, primary_key=["id"])

        def published(queue: Queue) -> Callable[[int], object]:
            def publish(number: int) -> object:
                point = {"at": wiring.clock(), "p": number, "id": number % SERIES}
                return processes[number % THREADS].publish(queue, point)

            return publish

        def bare(spread_over: int) -> Callable[[int], object]:
            def update(number: int) -> object:
                key = {"pk": {"S": "bare"}, "sk": {"S": str(number % spread_over)}}
                return client.update_item(TableName=state, Key=key, **BARE)

            return update

        works = {"one hot bucket": (published(hot), bare(1)), "1,000 series": (published(spread), bare(SERIES))}
        for name, (publish, update) in works.items():
            _timed(publish)  # what is cold, once
            with ledger.operation(name) as cost:
                ours = _timed(publish)
            theirs = _timed(update)
            rows.append([name, ours, ours / theirs, sum(cost.calls.values()) / POINTS])
    table(rows, head=["eight threads on ministack", "points/s", "of bare UpdateItems/s", "calls a point"])


def _timed(work: Callable[[int], object]) -> float:
    """Calls a second."""
    started = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(POINTS)))
    return POINTS / (time.perf_counter() - started)
