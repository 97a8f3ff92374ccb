"""queue/v1: enqueue, poll and commit through the functions, beside the bare boto3 calls that they need."""

import base64
import contextlib
import io
import os
import time
from typing import Any
from unittest.mock import patch

from bench.measure import Api, answer_of, canned, in_turns, milliseconds, new_tenant, table
from broker import wiring
from broker.ids import MonotonicIds
from edge import Edge, EdgeTable
from tests.worlds import moto_world
from tools import tables
from tools.dynalite import dynalite
from tools.ledger import Ledger

LOG = "/queue/v1/namespaces/bench/queues/{queue}"
ENQUEUE, POLL = f"POST {LOG}/messages", f"GET {LOG}/partitions/0/poll"
CREATE = "POST /queue/v1/namespaces/{namespace}/queues"
COMMIT = f"DELETE {LOG}/partitions/0/messages"
VALUE = {"order": 12345, "customer": "c-778", "lines": [{"sku": "A-1", "quantity": 2, "price": "12.50"}] * 4}
SIZES = (1, 25, 100)
DEPTHS = (100, 1_000, 10_000)


def messages(count: int, *, first: int = 0) -> dict[str, Any]:
    """A batch to enqueue."""
    return {"messages": [{"key": "k", "seq": first + n, "value": VALUE} for n in range(count)]}


def run() -> None:
    """Overhead of the functions, throughput on moto, growth with depth."""
    with moto_world() as world:
        api = Api(new_tenant(world.platform_key))
        api.call("log_create", CREATE, namespace="bench", body={"queue": "q", "partitions": 1})()
        _throughput(api)
        _calls_by_depth(api)
        overhead = _prepared(api)
    _overhead(overhead)
    _time_by_depth()


def _throughput(api: Api) -> None:
    rows = []
    bare = wiring.dynamodb()
    for size in SIZES:
        enqueue = milliseconds(api.call("log_enqueue", ENQUEUE, queue="q", body=messages(size)), times=25)
        item = {"source": {"S": "x"}, "seq": {"S": "y"}, "body": {"B": b"x" * 300}}
        requests = [{"PutRequest": {"Item": {**item, "seq": {"S": str(n)}}}} for n in range(min(size, 25))]

        def puts(requests: list[Any] = requests, size: int = size) -> None:
            for _ in range(-(-size // 25)):
                bare.batch_write_item(RequestItems={wiring.settings().edges_table: requests})

        floor = milliseconds(puts, times=25)
        rows.append([f"enqueue {size}", size * 1000 / enqueue, enqueue, enqueue / floor])
    poll = milliseconds(api.call("log_poll", POLL, queue="q", query="limit=100"), times=25)
    page = {"TableName": wiring.settings().edges_table, "ConsistentRead": True, "Limit": 101}
    named = {"KeyConditionExpression": "#s = :s", "ExpressionAttributeNames": {"#s": "source"}}
    source = {":s": bare.scan(TableName=wiring.settings().edges_table, Limit=1)["Items"][0]["source"]}
    floor = milliseconds(lambda: bare.query(**page, **named, ExpressionAttributeValues=source), times=25)
    rows.append(["poll 100", 100 * 1000 / poll, poll, poll / floor])
    commit = _commit(api)
    rows.append(["commit 100", 100 * 1000 / commit, commit, ""])
    table(rows, head=["on moto", "messages/s", "ms", "ratio to bare boto3"])


def _commit(api: Api) -> float:
    """Milliseconds to commit 100 messages."""
    taken = []
    for round_ in range(1, 6):
        api.call("log_enqueue", ENQUEUE, queue="q", body=messages(100, first=-1000 * round_))()
        commit = api.call("log_commit", COMMIT, queue="q", query=f"offset={-1000 * round_ + 99}")
        started = time.perf_counter()
        commit()
        taken.append((time.perf_counter() - started) * 1000)
    return sorted(taken)[2]


def _calls_by_depth(api: Api) -> None:
    rows = []
    api.call("log_create", CREATE, namespace="bench", body={"queue": "deep", "partitions": 1})()
    first = stored = 0
    with Ledger() as ledger:
        for depth in DEPTHS:
            while stored - first < depth:
                api.call("log_enqueue", ENQUEUE, queue="deep", body=messages(100, first=stored))()
                stored += 100
            for name, call in {
                "enqueue 25": api.call("log_enqueue", ENQUEUE, queue="deep", body=messages(25, first=stored)),
                "poll 100": api.call("log_poll", POLL, queue="deep", query="limit=100"),
                "commit 25": api.call("log_commit", COMMIT, queue="deep", query=f"offset={first + 24}"),
            }.items():
                with ledger.operation(f"{name} at {depth}") as cost:
                    call()
                rows.append([name, depth, sum(cost.calls.values()), cost.read_units, cost.write_units])
            first, stored = first + 25, stored + 25
    table(rows, head=["operation", "depth", "calls", "read units", "write units"])


def _prepared(api: Api) -> dict[str, Any]:
    """Calls whose caches are warm, and an item as a poll reads it."""
    poll = api.call("log_poll", POLL, queue="q", query="limit=1")
    shown = answer_of(poll())["messages"][0]
    items = wiring.dynamodb().scan(TableName=wiring.settings().edges_table)["Items"]
    definitions = wiring.dynamodb().scan(TableName=wiring.settings().state_table)["Items"]
    return {
        "enqueue": api.call("log_enqueue", ENQUEUE, queue="q", body=messages(1)),
        "poll": poll,
        "commit": api.call("log_commit", COMMIT, queue="q", query="offset=-100000"),
        "item": next(item for item in items if item["seq"]["S"].endswith(shown["id"])),
        "definition": next(item for item in definitions if item["sk"]["S"] == "log#bench/q"),
    }


def _overhead(prepared: dict[str, Any]) -> None:
    """CPU of a call whose AWS calls are answered at once, less those calls, in units of one bare put_item."""
    client = wiring.dynamodb()
    item = prepared["item"]
    key = {"source": item["source"], "seq": item["seq"]}
    stored = {**key, "body": {"B": base64.b64encode(item["body"]["B"]).decode()}}
    answers: dict[str, dict[str, Any]] = {
        "BatchWriteItem": {"UnprocessedItems": {}},
        "Query": {"Items": [stored], "Count": 1},
        "PutItem": {},
        "GetItem": {"Item": prepared["definition"]},  # read again every five seconds
    }
    put = {"TableName": "t", "Item": item}
    # Metrics are written as in Lambda, to a place where nobody reads them.
    enabled = patch.dict(os.environ, {"POWERTOOLS_METRICS_DISABLED": "false"})
    with canned(client, answers), enabled, contextlib.redirect_stdout(io.StringIO()):
        taken = in_turns(
            {
                "put": lambda: client.put_item(**put),
                "write": lambda: client.batch_write_item(RequestItems={"t": [{"PutRequest": {"Item": put["Item"]}}]}),
                "query": lambda: client.query(TableName="t", KeyConditionExpression="a", Limit=2),
                "delete": lambda: client.batch_write_item(RequestItems={"t": [{"DeleteRequest": {"Key": key}}]}),
                "enqueue": prepared["enqueue"],
                "poll": prepared["poll"],
                "commit": prepared["commit"],
            },
            times=200,
        )
    needs = {"enqueue": taken["write"], "poll": taken["query"], "commit": taken["query"] + taken["delete"]}
    rows = [[name, taken[name], bare, (taken[name] - bare) / taken["put"]] for name, bare in needs.items()]
    table(rows, head=["CPU, warm", "handler ms", "its bare calls ms", "overhead / one put_item"])


def _time_by_depth() -> None:
    """Wall time of the storage functions against depth, on an engine whose own time does not grow."""
    rows = []
    with dynalite() as url:
        resources = tables.create(endpoint_url=url, prefix="bench", services=("dynamodb",))
        edges = EdgeTable(resources.environment["EDGES_TABLE"], client=tables.client("dynamodb", endpoint_url=url))
        ids = MonotonicIds(wiring.clock)
        stored = 0
        for depth in DEPTHS:
            while stored < depth:
                edges.insert_many([Edge("s", stored + n, ids(), {"body": b"x" * 200}) for n in range(100)])
                stored += 100
            insert = milliseconds(lambda: edges.insert_many([Edge("t", 1, ids(), {"body": b"x"})]), times=50)
            scan = milliseconds(lambda: edges.scan("s", limit=100), times=25)
            rows.append([depth, insert, scan])
    table(rows, head=["depth", "insert 1, ms", "scan 100, ms"])
