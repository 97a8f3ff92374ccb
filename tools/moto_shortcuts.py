"""Shorter ways through moto's tables, for the calls of which tests make hundreds of thousands.

moto takes a request apart with regular expressions, werkzeug and the service's model, looks for each member of an
answer under a dozen names, compares keys through layers of objects, copies what it only reads, and walks the tree of an
update expression ten times, some of it from every node again. Here a call that reads or writes items goes straight to
moto's own method for it, and its answer straight to JSON; a query of one partition sorts keys as they are; expressions
are parsed once. What is stored and what is answered stays moto's.
"""

import copy
import functools
import json
import operator
import pickle
import re
from collections.abc import Mapping, Sequence
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from moto.dynamodb.comparisons import get_comparison_func
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import RESULT_SIZE_LIMIT, Table
from moto.dynamodb.parsing import validators
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, UpdateExpression  # type: ignore[attr-defined]
from moto.dynamodb.parsing.expressions import UpdateExpressionParser  # type: ignore[attr-defined]
from moto.dynamodb.responses import DynamoHandler
from werkzeug.exceptions import HTTPException

from tools.calls import as_base64, with_bytes

METHODS = {
    "BatchGetItem": "batch_get_item",
    "BatchWriteItem": "batch_write_item",
    "DeleteItem": "delete_item",
    "GetItem": "get_item",
    "PutItem": "put_item",
    "Query": "query",
    "TransactGetItems": "transact_get_items",
    "TransactWriteItems": "transact_write_items",
    "UpdateItem": "update_item",
}
"""The operations that go straight to a method of moto's."""

_ENDPOINT = re.compile(r"https://dynamodb\.([a-z0-9-]+)\.amazonaws\.com/$")
_PLAIN = ("S", "B")
_JSON = {"Content-Type": "application/x-amz-json-1.0"}


def answer(request: AWSPreparedRequest, *, account: str) -> tuple[int, dict[str, str], str] | None:
    """Status, headers and body of moto's answer to a request; None if it has to take the long way.

    Args:
        request: A request as botocore sends it.
        account: The account whose tables are meant.
    """
    target: str | bytes = request.headers.get("X-Amz-Target", "")
    operation = (target.decode() if isinstance(target, bytes) else target).partition(".")[2]
    endpoint = _ENDPOINT.match(request.url)
    if operation not in METHODS or endpoint is None:
        return None
    handler: Any = DynamoHandler()
    handler.current_account, handler.region = account, endpoint[1]
    body: Any = request.body
    handler.body = json.loads(body, object_hook=with_bytes)
    try:
        result = getattr(handler, METHODS[operation])().result or {}
    except HTTPException as error:
        return int(error.code or 0), dict(error.get_headers()), str(error.description)
    return 200, _JSON, json.dumps(result, default=as_base64)


def query(
    table: Table,
    hash_key: DynamoType,
    range_comparison: str | None,
    range_objs: list[DynamoType],
    limit: int | None,
    exclusive_start_key: dict[str, Any] | None,
    scan_index_forward: bool,  # noqa: FBT001  # moto's signature
    projection_expressions: list[list[str]] | None,
    index_name: str | None = None,
    consistent_read: bool = False,  # noqa: ARG001, FBT001, FBT002
    filter_expression: Any = None,
) -> tuple[list[Item], int, dict[str, Any] | None]:
    """A page of one partition, by the table's own range key or by a local index; as `Table.query`."""
    index: Any = table.get_index(index_name) if index_name else None
    own = str(table.range_key_attr)
    names = [str(index.schema[1]["AttributeName"]), own] if index else [own]
    items = [item for item in table.items.get(hash_key, {}).values() if names[0] in item.attrs]
    entries = [(_order(item.attrs, names), item) for item in items]
    entries.sort(key=operator.itemgetter(0), reverse=not scan_index_forward)
    if exclusive_start_key is not None:
        start = _order({name: DynamoType(exclusive_start_key[name]) for name in names}, names)
        passed = operator.gt if scan_index_forward else operator.lt
        entries = [entry for entry in entries if passed(entry[0], start)]
    matches = get_comparison_func(range_comparison) if range_comparison else None
    bounds = [bound.cast_value for bound in range_objs]
    page: list[Item] = []
    size, last = 0, None
    for order, item in entries:
        wanted = matches is None or matches(order[0], *bounds)
        size += item.size() if wanted else 0
        if len(page) == limit or size > RESULT_SIZE_LIMIT:
            last = table._get_last_evaluated_key(page[-1], index_name)
            break
        if wanted:
            page.append(item)
    shown = [_only(item, index) for item in page] if index else page
    if filter_expression is not None:
        shown = [item for item in shown if filter_expression.expr(item)]
    if projection_expressions:
        shown = [item.project(projection_expressions) for item in shown]
    return shown, len(page), last


def _order(attributes: Mapping[str, DynamoType], names: Sequence[str]) -> tuple[Any, ...]:
    """By what items of one partition are sorted."""
    return tuple([attributes[name].cast_value for name in names])


def _only(item: Item, index: Any) -> Item:
    """An item as an index holds it."""
    if index.projection["ProjectionType"] == "ALL":
        return item
    names = [*index.table_key_attrs, *index.schema_key_attrs, *index.projection.get("NonKeyAttributes", [])]
    shown = Item(item.hash_key, item.range_key, {})
    dict.update(shown.attrs, {name: item.attrs[name] for name in names if name in item.attrs})
    return shown


def _traverse(traverser: Any, root: Any) -> Any:
    """Let a traverser process the nodes of a tree, from its leaves on; as `DepthFirstTraverser.traverse`."""
    processing = traverser._processing_map()
    if list(processing) == [UpdateExpression]:
        return traverser.process(root)  # it looks for all that is below by itself
    prepares = type(traverser).pre_processing_of_child is not DepthFirstTraverser.pre_processing_of_child
    kinds: dict[type, Any] = {}

    def walk(node: Any, place: int) -> Any:
        kind, parent = type(node), node.parent
        if kind not in kinds:
            kinds[kind] = next((process for one, process in processing.items() if issubclass(kind, one)), None)
        for index, child in enumerate(node.children or ()):
            if prepares:
                traverser.pre_processing_of_child(node, index)
            if hasattr(child, "children"):
                walk(child, index)
        if kinds[kind] is not None:
            node = kinds[kind](node)
            node.parent = parent
            if parent:
                parent.children[place] = node
        return node

    return walk(root, -1)


@functools.lru_cache(512)
def _frozen(root: Any) -> bytes:
    return pickle.dumps(root)


def _copied(root: Any) -> Any:
    """A copy of a parsed expression, of which `make` below keeps the original, or of a value."""
    return pickle.loads(_frozen(root)) if type(root) is UpdateExpression else copy.deepcopy(root)


def _value_of(original: Any) -> Any:
    def cast_value(self: DynamoType) -> Any:
        return self.value if self.type in _PLAIN else original(self)

    return property(cast_value)


def _size_of(original: Any) -> Any:
    def size(self: DynamoType) -> int:
        plain = self.type in _PLAIN
        return (len(self.value.encode()) if self.type == "S" else len(self.value)) if plain else int(original(self))

    return size


REPLACEMENTS: list[tuple[Any, str, Any]] = [
    (DynamoType, "cast_value", _value_of(DynamoType.cast_value.fget)),  # type: ignore[attr-defined]
    (DynamoType, "size", _size_of(DynamoType.size)),
    (UpdateExpressionParser, "make", functools.lru_cache(512)(UpdateExpressionParser.make)),
    (DepthFirstTraverser, "traverse", _traverse),
    (validators, "deepcopy", _copied),
]
"""What takes the place of moto's own: where, the name, and what it is then."""

REPLACED = [(owner, name, vars(owner)[name]) for owner, name, _ in REPLACEMENTS]
"""The same as moto has it, to compare with."""
