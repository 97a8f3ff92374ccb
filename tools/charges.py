"""What one call costs, from its request, its answer, and on moto from the items as they stood before and after."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from tools import moto_threads
from tools.calls import Answer, Call
from tools.capacity import Item, item_size, read_units, write_units

READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})


@dataclasses.dataclass(frozen=True)
class Write:
    """One item that a call asks to write or to check.

    Attributes:
        table: The table's name.
        asked: The whole item of a put, else the key, in typed form.
        before: The item as it stood before the call; always None where that cannot be seen.
    """

    table: str
    asked: Item
    before: Item | None


def writes_of(call: Call) -> list[Write]:
    """The items that a call is about to write, looked up as they stand; none for calls that write no items."""
    if call.service != "dynamodb" or call.operation not in WRITES:
        return []
    return [Write(table, asked, _stored(call, table, asked)) for table, asked in _asked(call)]


def charge_writes(call: Call, parsed: Mapping[str, Any], writes: list[Write]) -> tuple[float, bool]:
    """Write units of an answered call, and whether the figure is exact.

    A failed condition is charged by the item that stands there; any other error costs nothing.
    """
    if not writes or not _charged(parsed):
        return 0.0, True
    if "Error" not in parsed and "ConsumedCapacity" in parsed and not _on_moto(call):
        return _consumed(parsed), True
    in_transaction = call.operation == "TransactWriteItems"
    left = [(table, _request_item(one)) for table, many in parsed.get("UnprocessedItems", {}).items() for one in many]
    units = 0.0
    for write in writes:
        if (write.table, write.asked) in left:
            continue
        if _on_moto(call):
            after = _stored(call, write.table, write.asked)
            indexes = moto_threads.local_indexes(write.table, region=_region(call))
            units += write_units(write.before, after, indexes=indexes, in_transaction=in_transaction)
        else:
            units += write_units(None, write.asked, in_transaction=in_transaction)
    return units, _on_moto(call)


def charge_reads(call: Call, parsed: Mapping[str, Any]) -> tuple[float, bool]:
    """Read units of an answered call, and whether the figure is exact."""
    if call.service != "dynamodb" or call.operation not in READS or "Error" in parsed:
        return 0.0, True
    units, exact = 0.0, True
    for table, request, items in _read(call, parsed):
        sizes = []
        for item in items:
            whole = item if "ProjectionExpression" not in request else _whole(call, table, request, item)
            exact = exact and whole is not None
            sizes.append(item_size(item if whole is None else whole))
        units += read_units(sizes, consistent=request.get("ConsistentRead", False))
    if call.operation == "TransactGetItems":
        units *= 2
    unseen = parsed.get("ScannedCount", 0) != len(parsed.get("Items", [])) and call.operation in {"Query", "Scan"}
    return max(units, 0.0 if _on_moto(call) else _consumed(parsed)), exact and not unseen


def resources(call: Call) -> frozenset[str]:
    """Names of the tables, the bucket, the key or the secret that a call names."""
    document = call.document
    names = {document[member] for member in ("TableName", "KeyId", "SecretId") if member in document}
    names |= set(document.get("RequestItems", {}))
    names |= {details["TableName"] for action in document.get("TransactItems", []) for details in action.values()}
    bucket = call.context.get("input_params", {}).get("Bucket")
    return frozenset(names | {bucket} if bucket else names)


def sent(call: Call) -> int:
    """Bytes of the request's body."""
    headers = call.request.headers
    length = headers.get("X-Amz-Decoded-Content-Length") or headers.get("Content-Length") or 0
    return int(length)


def received(answer: Answer) -> int:
    """Bytes of the answer's body, without reading a body that is still a stream."""
    http, parsed = answer
    length = {name.lower(): value for name, value in http.headers.items()}.get("content-length")
    if length is None:
        return 0 if "Body" in parsed else len(http.content)
    return int(length)


def _on_moto(call: Call) -> bool:
    return moto_threads.answers(call.request.url)


def _region(call: Call) -> str:
    return str(call.context["client_region"])


def _stored(call: Call, table: str, key: Item) -> Item | None:
    if not _on_moto(call):
        return None
    return moto_threads.stored_item(table, dict(key), region=_region(call))


def _whole(call: Call, table: str, request: Mapping[str, Any], item: Item) -> Item | None:
    """The item behind a projection of it, None when it cannot be known: an index's entry, or keys left out."""
    if "IndexName" in request or not moto_threads.holds_key(table, item, region=_region(call)):
        return None
    return _stored(call, table, item)


def _charged(parsed: Mapping[str, Any]) -> bool:
    if "Error" not in parsed:
        return True
    reasons = {reason.get("Code") for reason in parsed.get("CancellationReasons", [])}
    return parsed["Error"].get("Code") == "ConditionalCheckFailedException" or "ConditionalCheckFailed" in reasons


def _consumed(parsed: Mapping[str, Any]) -> float:
    figures = parsed.get("ConsumedCapacity") or []
    return float(sum(one["CapacityUnits"] for one in ([figures] if isinstance(figures, dict) else figures)))


def _asked(call: Call) -> Iterator[tuple[str, Item]]:
    document = call.document
    if "RequestItems" in document:
        for table, requests in document["RequestItems"].items():
            yield from ((table, _request_item(one)) for one in requests)
    else:
        for action in document.get("TransactItems", [{"Single": document}]):
            yield from ((details["TableName"], details.get("Key") or details["Item"]) for details in action.values())


def _request_item(request: Mapping[str, Any]) -> Item:
    (details,) = request.values()
    item: Item = details.get("Key") or details["Item"]
    return item


def _read(call: Call, parsed: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], list[Item]]]:
    """Table, request and items of each read that is charged by itself."""
    document = call.document
    match call.operation:
        case "GetItem":
            yield document["TableName"], document, [parsed["Item"]] if "Item" in parsed else []
        case "BatchGetItem":
            for table, request in document["RequestItems"].items():
                items = parsed["Responses"].get(table, [])
                left = len(parsed.get("UnprocessedKeys", {}).get(table, {}).get("Keys", []))
                missing = len(request["Keys"]) - len(items) - left
                yield from ((table, request, [item]) for item in items)
                yield from ((table, request, []) for _ in range(missing))
        case "TransactGetItems":
            for action, response in zip(document["TransactItems"], parsed["Responses"], strict=True):
                request = {**action["Get"], "ConsistentRead": True}
                yield request["TableName"], request, [response["Item"]] if "Item" in response else []
        case _:
            yield document["TableName"], document, parsed.get("Items", [])
