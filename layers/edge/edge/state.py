"""Rows that change: conditional writes on single items, strongly consistent reads, queries on local indexes.

In expressions attributes are written `#name` and values `:name`; both are filled in from what is given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from edge.batch import WRITE_BATCH, BatchWriter, Unprocessed
from edge.conditions import conditional, range_condition, row_key
from edge.errors import ConditionFailed
from edge.retry import Retry
from edge.threads import side_by_side
from edge.transaction import Operation, transact
from edge.values import Value, decode_row, encode_row, expression_attributes

Row: TypeAlias = dict[str, Value]

GET_BATCH = 100
INDEX_ATTRIBUTE = {None: "sk", "by_rank": "rank", "by_sort": "sort"}


@dataclass(frozen=True, slots=True)
class StatePage:
    """Rows of one query, in the order of its index; `next` continues after them, None at the end."""

    rows: tuple[Row, ...]
    next: Row | None


class StateTable:
    """One table of mutable rows under (pk, sk). Every write may carry a condition; every read is consistent."""

    def __init__(self, table: str, *, client: Any, retry: Retry | None = None) -> None:
        self._table = table
        self._client = client
        self._retry = retry or Retry()

    def get(self, pk: str, sk: str) -> Row | None:
        """The row, or None."""
        answer = self._retry.call(
            self._client.get_item, TableName=self._table, Key=row_key(pk, sk), ConsistentRead=True
        )
        return decode_row(answer["Item"]) if "Item" in answer else None

    def get_many(self, keys: Sequence[tuple[str, str]]) -> list[Row | None]:
        """The rows of up to any number of distinct keys, in order, None where there is none."""
        found: dict[tuple[str, str], Row] = {}
        for start in range(0, len(keys), GET_BATCH):
            wanted = [row_key(pk, sk) for pk, sk in keys[start : start + GET_BATCH]]
            attempt = 0
            while wanted:
                request = {self._table: {"Keys": wanted, "ConsistentRead": True}}
                answer = self._retry.call(self._client.batch_get_item, RequestItems=request)
                for item in answer["Responses"].get(self._table, []):
                    found[item["pk"]["S"], item["sk"]["S"]] = decode_row(item)
                wanted = answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
                if wanted:
                    self._retry.pause_or_raise(attempt)
                    attempt += 1
        return [found.get(key) for key in keys]

    def query(
        self,
        pk: str,
        *,
        index: str | None = None,
        low: str | None = None,
        high: str | None = None,
        prefix: str | None = None,
        limit: int | None = None,
        forward: bool = True,
        start: Mapping[str, Value] | None = None,
    ) -> StatePage:
        """Rows of one hash key in the order of `sk`, or of an index's own attribute.

        Args:
            pk: The hash key.
            index: None, "by_rank" or "by_sort".
            low: Inclusive lower bound on the range attribute.
            high: Inclusive upper bound on it.
            prefix: Instead of bounds: what it must begin with.
            limit: The most rows to read; None for what fits 1 MB.
            forward: False reads from the end.
            start: A page's `next`, to go on after it.
        """
        condition, values = range_condition(INDEX_ATTRIBUTE[index], low=low, high=high, prefix=prefix)
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": condition,
            "ConsistentRead": True,
            "ScanIndexForward": forward,
            **expression_attributes(condition, values={"pk": pk, **values}),
        }
        if index is not None:
            request["IndexName"] = index
        if limit is not None:
            request["Limit"] = limit
        if start is not None:
            request["ExclusiveStartKey"] = encode_row(start)
        answer = self._retry.call(self._client.query, **request)
        last = answer.get("LastEvaluatedKey")
        return StatePage(tuple(decode_row(item) for item in answer["Items"]), decode_row(last) if last else None)

    def count(self, pk: str) -> int:
        """How many rows a hash key has; reads them all."""
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "#pk = :pk",
            "ConsistentRead": True,
            "Select": "COUNT",
            **expression_attributes("#pk = :pk", values={"pk": pk}),
        }
        count = 0
        while True:
            answer = self._retry.call(self._client.query, **request)
            count += int(answer["Count"])
            if "LastEvaluatedKey" not in answer:
                return count
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def delete_many(self, keys: Sequence[tuple[str, str]]) -> None:
        """Remove rows by (pk, sk), unconditionally, in batches of 25 side by side.

        Raises:
            EdgeUnavailable: Some may still be there.
        """
        requests = [{"DeleteRequest": {"Key": row_key(pk, sk)}} for pk, sk in keys]
        batches = [requests[start : start + WRITE_BATCH] for start in range(0, len(requests), WRITE_BATCH)]
        try:
            side_by_side(BatchWriter(self._table, client=self._client, retry=self._retry).write, batches)
        except Unprocessed as left:
            raise left.error from None

    def put(
        self,
        row: Row,
        *,
        condition: str | None = None,
        values: Mapping[str, Value] | None = None,
        once: str | None = None,
    ) -> None:
        """Write a whole row; with `once`, an attribute that it is known by, never twice (see `Retry.call`).

        Raises:
            ConditionFailed: What stands there does not fit, and is not this row, stored without an answer.
        """
        pk, sk, mark = str(row.get("pk")), str(row.get("sk")), once or "pk"
        stored = (lambda: (self.get(pk, sk) or {}).get(mark) == row[mark]) if once else None
        try:
            self._retry.call(self._client.put_item, stored=stored, **self._put(row, condition, values))
        except ConditionFailed as failure:
            if not (failure.maybe_done and failure.old == row):
                raise

    def update(
        self,
        pk: str,
        sk: str,
        expression: str,
        *,
        values: Mapping[str, Value] | None = None,
        condition: str | None = None,
        done_if: Mapping[str, Value] | None = None,
        once: bool = False,
    ) -> Row:
        """Change a row, or make it, by an update expression; returns it as it then is.

        Args:
            pk: The hash key.
            sk: The range key.
            expression: `SET`, `ADD`, `REMOVE` clauses.
            values: The values of expression and condition.
            condition: What must hold before.
            done_if: Attributes by which this very change is known in the stored row. When an answer was lost and
                the repeated condition fails, a row that has them counts as the success it was.
            once: Do not repeat it after a lost answer: that is EdgeUnavailable, `maybe_done`.

        Raises:
            ConditionFailed: The condition does not hold.
        """
        request = self._update(pk, sk, expression, values, condition)
        try:
            stored = (lambda: False) if once else None
            answer = self._retry.call(self._client.update_item, stored=stored, **request, ReturnValues="ALL_NEW")
        except ConditionFailed as failure:
            if not (failure.maybe_done and done_if and failure.old and done_if.items() <= failure.old.items()):
                raise
            return dict(failure.old)
        return decode_row(answer["Attributes"])

    def delete(
        self, pk: str, sk: str, *, condition: str | None = None, values: Mapping[str, Value] | None = None
    ) -> Row | None:
        """Remove a row; returns it as it was, None when there was none.

        Raises:
            ConditionFailed: The condition does not hold. With `maybe_done` and `old` None it may have been removed
                by an attempt whose answer was lost.
        """
        request = self._delete(pk, sk, condition, values)
        answer = self._retry.call(self._client.delete_item, **request, ReturnValues="ALL_OLD")
        return decode_row(answer["Attributes"]) if answer.get("Attributes") else None

    def transact(self, operations: Sequence[Operation]) -> None:
        """Carry out operations on this table and on edges together; see `edge.transaction.transact`."""
        transact(self._client, operations=operations, retry=self._retry)

    def put_operation(
        self, row: Row, *, condition: str | None = None, values: Mapping[str, Value] | None = None
    ) -> Operation:
        """`put`, as part of a transaction."""
        return Operation("Put", self._put(row, condition, values))

    def update_operation(
        self,
        pk: str,
        sk: str,
        expression: str,
        *,
        values: Mapping[str, Value] | None = None,
        condition: str | None = None,
    ) -> Operation:
        """`update`, as part of a transaction."""
        return Operation("Update", self._update(pk, sk, expression, values, condition))

    def delete_operation(
        self, pk: str, sk: str, *, condition: str | None = None, values: Mapping[str, Value] | None = None
    ) -> Operation:
        """`delete`, as part of a transaction."""
        return Operation("Delete", self._delete(pk, sk, condition, values))

    def check_operation(
        self, pk: str, sk: str, *, condition: str, values: Mapping[str, Value] | None = None
    ) -> Operation:
        """A condition on a row that the transaction does not write."""
        return Operation("ConditionCheck", self._delete(pk, sk, condition, values))

    def _put(self, row: Row, condition: str | None, values: Mapping[str, Value] | None) -> dict[str, Any]:
        return {"TableName": self._table, "Item": encode_row(row)} | conditional(condition, None, values)

    def _update(
        self, pk: str, sk: str, expression: str, values: Mapping[str, Value] | None, condition: str | None
    ) -> dict[str, Any]:
        key = {"TableName": self._table, "Key": row_key(pk, sk)}
        return {**key, "UpdateExpression": expression, **conditional(condition, expression, values)}

    def _delete(self, pk: str, sk: str, condition: str | None, values: Mapping[str, Value] | None) -> dict[str, Any]:
        return {"TableName": self._table, "Key": row_key(pk, sk)} | conditional(condition, None, values)
