"""The shortcuts through moto answer and store what moto does."""

import contextlib
import itertools
import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from botocore.exceptions import ClientError
from moto.dynamodb.models.table import Table

from tests.worlds import World
from tools import moto_shortcuts

STATE, EDGES = "state", "edges"
ONE = {":one": {"N": "1"}}
ABSENT = {"ConditionExpression": "attribute_not_exists(pk)"}
ALL_OLD = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


@contextlib.contextmanager
def the_long_way() -> Iterator[None]:
    """Without the shortcuts."""
    query = Table.query.__wrapped__  # type: ignore[attr-defined]
    with contextlib.ExitStack() as stack:
        for owner, name, own in [*moto_shortcuts.REPLACED, (moto_shortcuts, "METHODS", {}), (Table, "query", query)]:
            stack.enter_context(patch.object(owner, name, own))
        yield


def key(n: int, *, pk: str = "a") -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": str(n)}}


def row(n: int, *, pk: str = "a") -> dict[str, Any]:
    """One in three has no rank, and ranks come twice."""
    ranks = {} if n % 3 == 0 else {"rank": {"S": f"r{n // 2}"}}
    kinds = {"item": {"B": b"\x00\xff"}, "n": {"N": "1.50"}, "set": {"BS": [b"\x01"]}, "no": {"NULL": True}}
    return {**key(n, pk=pk), **ranks, **kinds, "sort": {"S": f"s{9 - n}"}, "map": {"M": {"l": {"L": [{"BOOL": True}]}}}}


@pytest.fixture
def filled(world: World) -> World:
    for pk, n in itertools.product("ab", range(8)):
        world.client("dynamodb").put_item(TableName=world.state_table, Item=row(n, pk=pk))
    return world


def named(value: Any, world: World) -> Any:
    """A request with the names of the tables put in."""
    if isinstance(value, dict):
        return {named(name, world): named(one, world) for name, one in value.items()}
    if isinstance(value, list):
        return [named(one, world) for one in value]
    return {STATE: world.state_table, EDGES: world.edges_table}.get(value, value) if isinstance(value, str) else value


def answered(world: World, operation: str, request: dict[str, Any]) -> Any:
    try:
        answer = getattr(world.client("dynamodb"), operation)(**named(request, world))
    except ClientError as error:
        answer = {**error.response, "class": type(error).__name__}
    status = answer.pop("ResponseMetadata")["HTTPStatusCode"]
    return status, answer


def put(n: int, **more: Any) -> dict[str, Any]:
    return {"TableName": STATE, "Item": row(n), **more}


UPDATE = {"UpdateExpression": "SET x = :one ADD n :one", "ExpressionAttributeValues": ONE}
VALUES: dict[str, Any] = {
    ":n": {"N": "-7.5"},
    ":s": {"S": "ä"},
    ":b": {"B": b"\x01"},
    ":l": {"L": [{"S": "x"}, {"N": "2"}]},
    ":empty": {"S": ""},
}
NAMES = {
    "#n": "n",
    "#new": "new",
    "#rank": "rank",
    "#item": "item",
    "#map": "map",
    "#l": "l",
    "#pk": "pk",
    "#set": "set",
}
UPDATES = [
    "SET #new = :s, #item = if_not_exists(#item, :b) REMOVE #rank ADD #n :n",
    "SET #new = if_not_exists(#new, :n) + :n, #rank = :s",
    "SET #new = list_append(:l, :l), #map.#l = :l",
    "SET #map.#l[1] = :s REMOVE #map.#l[0]",
    "SET #new = #n - :n",
    "ADD #new :n, #n :n",
    "REMOVE #map.#l[0], #item",
    "SET #n = :n, #n = :s",
    "SET #map = :s, #map.#l = :s",
    "SET #n = :n SET #new = :s",
    "ADD #n :n ADD #new :n",
    "SET #pk = :s",
    "SET #rank = :n",
    "SET #rank = :empty",
    "SET #new = #item.#l",
    "ADD #item :n",
    "DELETE #set :b",
    "SET #new = size(#item)",
]


def by(expression: str) -> dict[str, Any]:
    """An update with the names and values of its expression."""
    used = {name: value for name, value in VALUES.items() if name in expression}
    names = {name: value for name, value in NAMES.items() if re.search(rf"{name}\b", expression)}
    return {
        "UpdateExpression": expression,
        "ExpressionAttributeNames": names,
        "ReturnValues": "ALL_NEW",
        **({"ExpressionAttributeValues": used} if used else {}),
    }


REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "get": ("get_item", {"TableName": STATE, "Key": key(1), "ConsistentRead": True}),
    "get nothing": ("get_item", {"TableName": STATE, "Key": key(77)}),
    "get some attributes": ("get_item", {"TableName": STATE, "Key": key(1), "ProjectionExpression": "pk, item"}),
    "get of no table": ("get_item", {"TableName": "nowhere", "Key": key(1)}),
    "get by half a key": ("get_item", {"TableName": STATE, "Key": {"pk": {"S": "a"}}}),
    "put": ("put_item", put(99)),
    "put and see the old": ("put_item", put(1, ReturnValues="ALL_OLD")),
    "put on a condition": ("put_item", put(99, **ABSENT)),
    "put in vain": ("put_item", put(1, **ABSENT)),
    "put in vain and see why": ("put_item", put(1, **ABSENT, **ALL_OLD)),
    "put too much": ("put_item", put(1) | {"Item": {**key(1), "item": {"B": b"x" * 410_000}}}),
    "update": ("update_item", {"TableName": STATE, "Key": key(1), **UPDATE, "ReturnValues": "ALL_NEW"}),
    "update what is not there": ("update_item", {"TableName": STATE, "Key": key(77), **UPDATE}),
    "update in vain": ("update_item", {"TableName": STATE, "Key": key(1), **UPDATE, **ABSENT, **ALL_OLD}),
    "update by nonsense": ("update_item", {"TableName": STATE, "Key": key(1), "UpdateExpression": "SET SET"}),
    **{
        f"update {n} by {expression!r}": ("update_item", {"TableName": STATE, "Key": key(n), **by(expression)})
        for n in (1, 77)
        for expression in UPDATES
    },
    "delete": ("delete_item", {"TableName": STATE, "Key": key(1), "ReturnValues": "ALL_OLD"}),
    "delete nothing": ("delete_item", {"TableName": STATE, "Key": key(77), "ReturnValues": "ALL_OLD"}),
    "delete in vain": ("delete_item", {"TableName": STATE, "Key": key(1), **ABSENT}),
    "batch get": ("batch_get_item", {"RequestItems": {STATE: {"Keys": [key(n) for n in (1, 2, 77)]}}}),
    "batch write": (
        "batch_write_item",
        {"RequestItems": {STATE: [{"PutRequest": {"Item": row(99)}}, {"DeleteRequest": {"Key": key(1)}}]}},
    ),
    "batch write one twice": ("batch_write_item", {"RequestItems": {STATE: [{"DeleteRequest": {"Key": key(1)}}] * 2}}),
    "transaction": (
        "transact_write_items",
        {
            "TransactItems": [
                {"Put": put(99, **ABSENT)},
                {"Update": {"TableName": STATE, "Key": key(1), **UPDATE}},
                {"Delete": {"TableName": STATE, "Key": key(2)}},
                {"ConditionCheck": {"TableName": STATE, "Key": key(3), "ConditionExpression": "attribute_exists(pk)"}},
            ]
        },
    ),
    "transaction in vain": (
        "transact_write_items",
        {"TransactItems": [{"Put": put(99)}, {"Put": put(1, **ABSENT, **ALL_OLD)}]},
    ),
    "transaction that reads": (
        "transact_get_items",
        {"TransactItems": [{"Get": {"TableName": STATE, "Key": key(n)}} for n in (1, 77)]},
    ),
    "scan": ("scan", {"TableName": STATE}),
    "describe": ("describe_table", {"TableName": EDGES}),
}


@pytest.mark.parametrize("request_name", REQUESTS)
def test_an_answer_is_moto_s(filled: World, request_name: str) -> None:
    operation, request = REQUESTS[request_name]
    before = filled.rows(filled.state_table)
    short = answered(filled, operation, request), filled.rows(filled.state_table)
    filled.wipe()
    for item in before:
        filled.client("dynamodb").put_item(TableName=filled.state_table, Item=item)
    with the_long_way():
        long = answered(filled, operation, request), filled.rows(filled.state_table)
    assert short == long


CONDITIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("pk = :pk", {}),
    "from": ("pk = :pk AND #r >= :low", {":low": "2"}),
    "before": ("pk = :pk AND #r < :low", {":low": "2"}),
    "between": ("pk = :pk AND #r BETWEEN :low AND :high", {":low": "1", ":high": "3"}),
    "beginning": ("pk = :pk AND begins_with(#r, :low)", {":low": ""}),
}


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 3, None])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize(
    ("index", "ranged", "prefix"), [(None, "sk", ""), ("by_rank", "rank", "r"), ("by_sort", "sort", "s")]
)
def test_a_query_is_moto_s(
    filled: World, index: str | None, ranged: str, prefix: str, condition: str, limit: int | None, *, forward: bool
) -> None:
    expression, values = CONDITIONS[condition]
    bounds = {name: {"S": f"{prefix}{value}" or "0"} for name, value in values.items()}
    request: dict[str, Any] = {
        "TableName": STATE,
        "KeyConditionExpression": expression,
        "ExpressionAttributeValues": {":pk": {"S": "a"}, **bounds},
        "ScanIndexForward": forward,
        "ConsistentRead": True,
    }
    request |= {"ExpressionAttributeNames": {"#r": ranged}} if "#r" in expression else {}
    request |= {"IndexName": index} if index else {}
    request |= {"Limit": limit} if limit else {}
    assert pages(filled, request) == short_of(filled, request)


def short_of(world: World, request: dict[str, Any]) -> list[Any]:
    with the_long_way():
        return pages(world, request)


def pages(world: World, request: dict[str, Any]) -> list[Any]:
    """The answers to a query and to those that go on from it."""
    found = [answered(world, "query", request)]
    while "LastEvaluatedKey" in found[-1][1]:
        found.append(answered(world, "query", {**request, "ExclusiveStartKey": found[-1][1]["LastEvaluatedKey"]}))
    assert len(found) < 20
    return found
