"""The parts of requests on rows: keys, conditions, and the bounds of queries."""

from collections.abc import Mapping
from typing import Any

from edge.values import Value, expression_attributes


def row_key(pk: str, sk: str) -> dict[str, Any]:
    """The key of a row as DynamoDB wants it."""
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def conditional(condition: str | None, expression: str | None, values: Mapping[str, Value] | None) -> dict[str, Any]:
    """The members of a write that carry its condition, and the names and values of both expressions."""
    request = expression_attributes(condition, expression, values=values or {})
    if condition is not None:
        request["ConditionExpression"] = condition
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return request


def range_condition(
    attribute: str, *, low: str | None, high: str | None, prefix: str | None
) -> tuple[str, dict[str, Value]]:
    """The key condition of a query and its values, but for the hash key's."""
    if prefix is not None:
        return f"#pk = :pk AND begins_with(#{attribute}, :prefix)", {"prefix": prefix}
    if low is not None and high is not None:
        return f"#pk = :pk AND #{attribute} BETWEEN :low AND :high", {"low": low, "high": high}
    if low is not None:
        return f"#pk = :pk AND #{attribute} >= :low", {"low": low}
    if high is not None:
        return f"#pk = :pk AND #{attribute} <= :high", {"high": high}
    return "#pk = :pk", {}
