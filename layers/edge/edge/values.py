"""Python values to DynamoDB attribute values and back, without floats and without losing a digit.

`boto3.dynamodb.types` does the same with sets and binary wrappers that rows here never use, at 30 ms of import.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

Value: TypeAlias = "str | int | Decimal | bytes | bool | list[Value] | dict[str, Value] | frozenset[str] | None"

KINDS = frozenset({"S", "N", "B", "BOOL", "NULL", "L", "M", "SS"})
"""The kinds of attributes that rows hold; DynamoDB has two more."""

_NAME = re.compile(r"#([A-Za-z_][A-Za-z0-9_]*)")


def encode(value: Value) -> dict[str, Any]:
    """One value as DynamoDB wants it.

    Raises:
        TypeError: A float or another type that rows do not hold.
    """
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case Decimal():
            return {"N": format(value, "f") if -40 < value.adjusted() < 40 else str(value)}
        case bytes():
            return {"B": value}
        case None:
            return {"NULL": True}
        case list():
            return {"L": [encode(member) for member in value]}
        case dict():
            return {"M": {name: encode(member) for name, member in value.items()}}
        case frozenset():
            return {"SS": sorted(value)}
    raise TypeError(f"rows do not hold {type(value).__name__}")


def decode(value: Mapping[str, Any]) -> Value:
    """One value as it came from DynamoDB; whole numbers become int, others Decimal."""
    ((kind, content),) = value.items()
    match kind:
        case "S" | "BOOL":
            return content  # type: ignore[no-any-return]  # the wire format fixes the types
        case "N":
            return int(content) if content.lstrip("-").isdigit() else Decimal(content)
        case "B":
            return bytes(content)
        case "NULL":
            return None
        case "L":
            return [decode(member) for member in content]
        case "M":
            return {name: decode(member) for name, member in content.items()}
        case "SS":
            return frozenset(content)
    raise TypeError(f"rows do not hold {kind}")


def encode_row(row: Mapping[str, Value]) -> dict[str, Any]:
    """A row as DynamoDB wants it."""
    return {name: encode(value) for name, value in row.items()}


def decode_row(item: Mapping[str, Any]) -> dict[str, Value]:
    """A row as it came from DynamoDB."""
    return {name: decode(value) for name, value in item.items()}


def expression_attributes(*expressions: str | None, values: Mapping[str, Value]) -> dict[str, Any]:
    """The names and values of expressions in which attributes are written `#name` and values `:name`.

    Every attribute is escaped, so that no reserved word of DynamoDB's can ever matter.
    """
    names = {name for expression in expressions if expression for name in _NAME.findall(expression)}
    request: dict[str, Any] = {}
    if names:
        request["ExpressionAttributeNames"] = {f"#{name}": name for name in sorted(names)}
    if values:
        request["ExpressionAttributeValues"] = {f":{name}": encode(value) for name, value in values.items()}
    return request
