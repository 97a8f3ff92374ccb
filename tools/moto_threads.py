"""moto fit for threads: the local server's default engine and that of most tests.

Plain moto answers calls of several threads at once without a lock and so loses updates, remembers every object ever
made, copies whole tables for each action of a transaction, and walks the whole table in every query. In this block:

- calls are answered one at a time;
- nothing is remembered but what is stored;
- a transaction that fails takes back what it wrote and touches nothing else; repeated under the same
  ClientRequestToken it answers again without being done again, as on AWS;
- a query reads its own partition only;
- BatchWriteItem refuses more than 25 requests, and two for the same item.

    with moto_in_threads():
        boto3.client("dynamodb").create_table(...)
"""

import base64
import collections
import contextlib
import copy
import functools
import json
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import patch

from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.common_models import BaseModel
from moto.core.models import botocore_stubber
from moto.core.responses import EmptyResult
from moto.dynamodb.exceptions import DynamodbException, MockValidationException
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.table import Table
from moto.dynamodb.models.utilities import dynamo_to_dict
from moto.dynamodb.responses import DynamoHandler
from moto.s3.models import FakeKey

from tools import moto_shortcuts

ACCOUNT = "123456789012"
BATCH_WRITE_LIMIT = 25
TOKENS_KEPT = 1000

_guard = threading.RLock()


class TokenReusedError(DynamodbException):
    """A ClientRequestToken that came before with another transaction."""

    def __init__(self) -> None:
        super().__init__(
            "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException",
            "The token was used before with other parameters",
        )


@contextlib.contextmanager
def moto_in_threads() -> Iterator[None]:
    """Run moto for every client of the process while the block is open; what was stored is gone afterwards.

    Clients may be made before the block too, if this module was imported first.
    """
    tokens: collections.OrderedDict[str, str] = collections.OrderedDict()
    replacements: list[tuple[Any, str, Any]] = [
        (BotocoreStubber, "process_request", _one_at_a_time(BotocoreStubber.process_request)),
        (BaseModel, "__new__", lambda cls, *_args, **_kwargs: object.__new__(cls)),
        (FakeKey, "__del__", FakeKey.dispose),  # a key that nobody remembers is closed when it is replaced, silently
        *moto_shortcuts.REPLACEMENTS,
        (Table, "query", _of_one_partition(Table.query)),
        (Table, "get_item", _leaving_no_partition(Table.get_item)),
        (Table, "delete_item", _leaving_no_partition(Table.delete_item)),
        (DynamoDBBackend, "transact_write_items", _all_or_nothing(DynamoDBBackend.transact_write_items)),
        (DynamoHandler, "transact_write_items", _once_per_token(DynamoHandler.transact_write_items, tokens)),
        (DynamoHandler, "batch_write_item", _strict_batches(DynamoHandler.batch_write_item)),
    ]
    with contextlib.ExitStack() as stack:
        for owner, name, replacement in replacements:
            stack.enter_context(patch.object(owner, name, replacement))
        stack.enter_context(mock_aws())
        yield


def answers(url: str) -> bool:
    """Whether moto, rather than an engine behind a socket or AWS, answers requests to this URL at the moment."""
    host = urllib.parse.urlsplit(url).hostname or ""
    return botocore_stubber.enabled and host.endswith("amazonaws.com")


def stored_item(table: str, key: dict[str, Any], *, region: str) -> dict[str, Any] | None:
    """The stored item in DynamoDB's typed form, binary as bytes, or None; without a call being made.

    A key that is not one of the table's finds nothing, as does a table that is not there.

    Args:
        table: The table's name.
        key: The item's key in typed form; other attributes in it do not matter.
        region: The region of the client that would have read it.
    """
    with _guard:
        backend = dynamodb_backends[ACCOUNT][region]
        if not holds_key(table, key, region=region):
            return None
        item = backend.get_item(table, {name: _wire(value) for name, value in key.items()})
        return None if item is None else dynamo_to_dict(item.attrs)


def _wire(value: dict[str, Any]) -> dict[str, Any]:
    return {"B": base64.b64encode(value["B"]).decode()} if isinstance(value.get("B"), bytes) else value


def holds_key(table: str, item: Mapping[str, Any], *, region: str) -> bool:
    """Whether moto has this table and the item, perhaps a projection of one, has the table's key."""
    with _guard:
        found = dynamodb_backends[ACCOUNT][region].tables.get(table)
        return found is not None and all(name in item for name in found.table_key_attrs)


def local_indexes(table: str, *, region: str) -> list[dict[str, Any]]:
    """The table's local secondary indexes: `KeySchema`, `Projection`, and the table's own keys as `TableKeys`."""
    with _guard:
        found = dynamodb_backends[ACCOUNT][region].tables.get(table)
        if found is None:
            return []
        keys = found.table_key_attrs
        return [{"KeySchema": one.schema, "Projection": one.projection, "TableKeys": keys} for one in found.indexes]


def stored_items(table: str, *, region: str) -> list[dict[str, Any]]:
    """Everything in a table in DynamoDB's typed form, binary as bytes, in no order; without a call being made."""
    with _guard:
        partitions = dynamodb_backends[ACCOUNT][region].tables[table].items.values()
        return [dynamo_to_dict(item.attrs) for items in partitions for item in items.values()]


def range_keys(table: str, *, region: str) -> list[str]:
    """The range keys, of type S, of all items in a table, in order; without a call being made."""
    with _guard:
        partitions = dynamodb_backends[ACCOUNT][region].tables[table].items.values()
        return sorted(key.value for items in partitions for key in items)


def wipe(table: str, *, region: str) -> None:
    """Remove every item of a table at once."""
    with _guard:
        dynamodb_backends[ACCOUNT][region].tables[table].items.clear()


def _one_at_a_time(original: Any) -> Any:
    def process_request(self: Any, request: Any) -> Any:
        with _guard:
            return moto_shortcuts.answer(request, account=ACCOUNT) or original(self, request)

    return process_request


def _of_one_partition(original: Any) -> Any:
    """Query the asked partition alone. A global index spreads over all of them."""

    @functools.wraps(original)
    def query(self: Any, hash_key: Any, *args: Any, **named: Any) -> Any:
        index_name = named.get("index_name", args[6] if len(args) > 6 else None)
        if self.range_key_attr is None or any(index.name == index_name for index in self.global_indexes):
            return original(self, hash_key, *args, **named)
        return moto_shortcuts.query(self, hash_key, *args)

    return query


def _leaving_no_partition(original: Any) -> Any:
    """A look-up of an absent item makes its partition in moto, and the last delete leaves it: drop both."""

    def method(self: Any, hash_key: Any, *args: Any, **named: Any) -> Any:
        try:
            return original(self, hash_key, *args, **named)
        finally:
            if self.has_range_key and hash_key in self.items and not self.items[hash_key]:
                del self.items[hash_key]

    return method


def _all_or_nothing(original: Any) -> Any:
    """Run a transaction without moto's copy of the whole table per action: take back the touched items only."""

    def transact_write_items(self: Any, transact_items: list[dict[str, Any]]) -> Any:
        before = []
        for action in transact_items:
            (details,) = action.values()
            table = self.get_table(details["TableName"])
            key = self.get_keys_value(table, details.get("Key") or details["Item"])
            before.append((table, key, copy.deepcopy(table.get_item(*key))))
        with patch.object(Table, "__deepcopy__", lambda table, _memo: table, create=True):
            try:
                return original(self, transact_items)
            except Exception:
                for table, key, item in before:
                    _restore(table, key, item)
                raise

    return transact_write_items


def _restore(table: Any, key: tuple[Any, Any], item: Any) -> None:
    hash_key, range_key = key
    if item is None:
        table.delete_item(hash_key, range_key)
    elif range_key is None:
        table.items[hash_key] = item
    else:
        table.items[hash_key][range_key] = item


def _once_per_token(original: Any, tokens: "collections.OrderedDict[str, str]") -> Any:
    def transact_write_items(self: Any) -> Any:
        token = self.body.get("ClientRequestToken")
        asked = json.dumps(self.body["TransactItems"], sort_keys=True, default=repr)
        if token in tokens:
            if tokens[token] != asked:
                raise TokenReusedError
            return EmptyResult()
        answer = original(self)
        if token is not None:
            tokens[token] = asked
            if len(tokens) > TOKENS_KEPT:
                tokens.popitem(last=False)
        return answer

    return transact_write_items


def _strict_batches(original: Any) -> Any:
    def batch_write_item(self: Any) -> Any:
        keys = []
        for name, requests in self.body["RequestItems"].items():
            table = self.dynamodb_backend.get_table(name)
            for request in requests:
                (details,) = request.values()
                item = details.get("Key") or details["Item"]
                keys.append((name, *(repr(item.get(attribute)) for attribute in table.table_key_attrs)))
        if not 1 <= len(keys) <= BATCH_WRITE_LIMIT:
            raise MockValidationException(f"A batch has 1 to {BATCH_WRITE_LIMIT} requests, not {len(keys)}")
        if len(set(keys)) < len(keys):
            raise MockValidationException("Provided list of item keys contains duplicates")
        return original(self)

    return batch_write_item
