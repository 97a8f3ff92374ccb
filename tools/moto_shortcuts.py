"""Shorter ways through moto's tables, for the calls of which tests make hundreds of thousands.

moto takes a request apart with regular expressions, werkzeug and the service's model, looks for each member of an
answer under a dozen names, compares keys through layers of objects, and copies what it only reads. Here a call that
reads or writes items goes straight to moto's own method for it, and its answer straight to JSON; and a query of one
partition sorts keys as they are. What is stored and what is answered stays moto's.
"""

import json
import operator
import re
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import RESULT_SIZE_LIMIT, Table
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
    ranged = index.schema[1]["AttributeName"] if index else own

    def order(attributes: dict[str, DynamoType]) -> tuple[Any, Any]:
        return attributes[ranged].cast_value, attributes[own].cast_value

    found = [item for item in table.items.get(hash_key, {}).values() if ranged in item.attrs]
    found.sort(key=lambda item: order(item.attrs), reverse=not scan_index_forward)
    if exclusive_start_key is not None:
        start = order({name: DynamoType(value) for name, value in exclusive_start_key.items()})
        passed = operator.gt if scan_index_forward else operator.lt
        found = [item for item in found if passed(order(item.attrs), start)]
    page: list[Item] = []
    size, last = 0, None
    for item in found:
        matches = range_comparison is None or item.attrs[ranged].compare(range_comparison, range_objs)
        size += item.size() if matches else 0
        if len(page) == limit or size > RESULT_SIZE_LIMIT:
            last = table._get_last_evaluated_key(page[-1], index_name)
            break
        if matches:
            page.append(item)
    shown = [_only(item, index) for item in page] if index else page
    if filter_expression is not None:
        shown = [item for item in shown if filter_expression.expr(item)]
    if projection_expressions:
        shown = [item.project(projection_expressions) for item in shown]
    return shown, len(page), last


def _only(item: Item, index: Any) -> Item:
    """An item as an index holds it."""
    if index.projection["ProjectionType"] == "ALL":
        return item
    names = [*index.table_key_attrs, *index.schema_key_attrs, *index.projection.get("NonKeyAttributes", [])]
    shown = Item(item.hash_key, item.range_key, {})
    dict.update(shown.attrs, {name: item.attrs[name] for name in names if name in item.attrs})
    return shown
