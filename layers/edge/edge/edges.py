"""The immutable edge table: insert, scan, scan-delete, and nothing else.

Hash key `source` (one partition of one log), range key `seq`: `{seq + 2^63:020d}#{id}`, so that text order is
(seq, id) order over all of int64 and equal seqs never overwrite each other.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from edge.batch import WRITE_BATCH, BatchWriter, Unprocessed
from edge.conditions import conditional
from edge.errors import ConditionFailed, EdgeError
from edge.page import cut_page
from edge.record import SEQ_MAX, Edge, EdgePage, Position, Removed, edge_key, edge_row, read_edge
from edge.retry import Retry, remaining_seconds
from edge.threads import side_by_side
from edge.transaction import Operation
from edge.values import encode_row, expression_attributes

_AFTER_ALL_IDS = "~"
_STOP_SECONDS = 2.0
_NEXT_READ = 250


def _weigh_body(edge: Edge) -> int:
    body = edge.attributes.get("body")
    return len(body) if isinstance(body, bytes) else 0


class EdgeTable:
    """A table of edges. There is no update; order and identity are in the key."""

    def __init__(self, table: str, *, client: Any, retry: Retry | None = None) -> None:
        self._table = table
        self._client = client
        self._retry = retry or Retry()
        self._batches = BatchWriter(table, client=client, retry=self._retry)

    def insert(self, edge: Edge, *, if_absent: bool = False, once: bool = False) -> None:
        """Store one edge; durable when this returns. With `once` it is never stored twice: see `Retry.call`.

        Raises:
            ConditionFailed: With `if_absent`: another edge stands there, not this one, stored without an answer.
        """
        request = self.insert_operation(edge, if_absent=if_absent).request
        try:
            self._retry.call(self._client.put_item, stored=(lambda: self._stands(edge)) if once else None, **request)
        except ConditionFailed as failure:
            if not (failure.maybe_done and failure.old == edge_row(edge)):
                raise

    def insert_many(self, edges: Sequence[Edge]) -> list[EdgeError | None]:
        """Store edges in batches of 25, the batches side by side.

        Returns one answer per edge, in order: None when it is stored, else why it may not be (`EdgeUnavailable`
        with `maybe_done` False: it is not). One batch's failure touches no other batch.
        """
        batches = [edges[start : start + WRITE_BATCH] for start in range(0, len(edges), WRITE_BATCH)]
        return [answer for answers in side_by_side(self._insert_batch, batches) for answer in answers]

    def scan(
        self,
        source: str,
        *,
        after: int | None = None,
        resume: Position | None = None,
        until: int | None = None,
        limit: int = 100,
        max_run: int = 1000,
        max_weight: int = 4 * 1024 * 1024,
        weigh: Callable[[Edge], int] = _weigh_body,
    ) -> EdgePage:
        """Read one source forward, in (seq, id) order, strongly consistent.

        Edges that share a seq are never split over two pages as `page.offset` tells it: the page stops before
        such a run or grows past `limit` to its end. Only a run that passes `max_run` edges or `max_weight` is
        split; then `offset` stays before it and `resume` leads on inside it.

        Args:
            source: The partition to read.
            after: Exclusive lower bound on seq; None reads from the first edge. Also the offset of an empty page.
            resume: Exclusive lower bound as an exact position; `after` then only names the offset reached so far.
            until: Inclusive upper bound on seq; None reads to the end.
            limit: The number of edges aimed at, 1 to `max_run`.
            max_run: The most edges on a page.
            max_weight: The page ends before the edge that would take it past this; one edge always fits.
            weigh: The weight of an edge, by default the length of its body in bytes.

        Raises:
            EdgeUnavailable: The table could not be read; nothing is half read.
        """
        bounds = self._bounds(source, after=after, resume=resume, until=until)
        reader = self._read(bounds, first=limit + 1) if bounds else iter(())
        page = cut_page(
            reader, limit=limit, most=max_run, max_weight=max_weight, weigh=weigh, seq=lambda edge: edge.seq
        )
        edges = tuple(page.records)
        if not edges:
            return EdgePage((), after, False, resume)
        offset = after if page.inside_run else edges[-1].seq
        return EdgePage(edges, offset, page.more, edges[-1].position)

    def scan_delete(
        self,
        source: str,
        *,
        until: int | None = None,
        through: Position | None = None,
        after: Position | None = None,
        only: Callable[[Position], bool] | None = None,
        keep: Sequence[str] = (),
    ) -> Removed:
        """Delete a range of one source for real, oldest first, in batches of 25 side by side.

        When it returns `finished` the range held nothing more at the moment of its last read. Repeatable: a
        second call finds nothing.

        Args:
            source: The partition.
            until: Inclusive upper bound on seq; None for the end.
            through: Inclusive upper bound as an exact position, instead of `until`.
            after: Exclusive lower bound.
            only: Which edges of the range to delete, by position; None for all.
            keep: Attributes to read and hand back with what was deleted (all others are left unread).

        Raises:
            EdgeUnavailable: Throttled or out of reach; what was deleted so far stays deleted.
        """
        bounds = self._bounds(source, after=None, resume=after, until=until, through=through)
        removed: list[Edge] = []
        if bounds is None:
            return Removed((), True)
        for page, more in self._pages(bounds, attributes=("source", "seq", *keep)):
            doomed = [edge for edge in page if only is None or only(edge.position)]
            self._delete_many(doomed)
            removed += doomed
            if more and remaining_seconds() < _STOP_SECONDS:
                return Removed(tuple(removed), False)
        return Removed(tuple(removed), True)

    def last(self, source: str) -> Edge | None:
        """The edge with the highest (seq, id), or None."""
        request = self._bounds(source) or {}
        answer = self._retry.call(self._client.query, **request, ScanIndexForward=False, Limit=1)
        return next((read_edge(item) for item in answer["Items"]), None)

    def first(self, source: str, *, most: int, start: int | None = None) -> list[Edge]:
        """The first `most` edges, or those from seq `start` on; no more than these are read."""
        resume = None if start is None else Position(start, "")
        request = self._bounds(source, resume=resume) or {}
        answer = self._retry.call(self._client.query, **request, Limit=most)
        return [read_edge(item) for item in answer["Items"]]

    def positions(
        self, source: str, *, after: Position | None = None, through: Position | None = None, most: int | None = None
    ) -> list[Position]:
        """Where the first `most` edges after `after`, up to and with `through`, stand, in order."""
        bounds = self._bounds(source, resume=after, through=through)
        found: list[Position] = []
        for page, _ in self._pages(bounds, attributes=("source", "seq"), limit=most) if bounds else ():
            found += [edge.position for edge in page]
            if most is not None and len(found) >= most:
                return found[:most]
        return found

    def insert_operation(self, edge: Edge, *, if_absent: bool = False) -> Operation:
        """`insert`, as part of a transaction."""
        request: dict[str, Any] = {"TableName": self._table, "Item": encode_row(edge_row(edge))}
        if if_absent:
            request |= conditional("attribute_not_exists(#source)", None, None)
        return Operation("Put", request)

    def delete_operation(self, source: str, position: Position, *, must_exist: bool = False) -> Operation:
        """The removal of one edge, as part of a transaction."""
        request: dict[str, Any] = {"TableName": self._table, "Key": edge_key(source, position)}
        if must_exist:
            request |= conditional("attribute_exists(#source)", None, None)
        return Operation("Delete", request)

    def _stands(self, edge: Edge) -> bool:
        return edge.position in self.positions(edge.source, after=Position(edge.seq, ""), through=edge.position)

    def _insert_batch(self, batch: Sequence[Edge]) -> list[EdgeError | None]:
        requests = [{"PutRequest": {"Item": encode_row(edge_row(edge))}} for edge in batch]
        try:
            self._batches.write(requests)
        except Unprocessed as left:
            lost = {(item["source"]["S"], item["seq"]["S"]) for item in left.items}
            return [left.error if (edge.source, edge.position.text()) in lost else None for edge in batch]
        except EdgeError as error:
            return [error] * len(batch)
        return [None] * len(batch)

    def _delete_many(self, edges: Sequence[Edge]) -> None:
        requests = [{"DeleteRequest": {"Key": edge_key(edge.source, edge.position)}} for edge in edges]
        batches = [requests[start : start + WRITE_BATCH] for start in range(0, len(requests), WRITE_BATCH)]
        try:
            side_by_side(self._batches.write, batches)
        except Unprocessed as left:
            raise left.error from None

    def _bounds(
        self,
        source: str,
        *,
        after: int | None = None,
        resume: Position | None = None,
        until: int | None = None,
        through: Position | None = None,
    ) -> dict[str, Any] | None:
        """The query of a range, None when the range is empty by its bounds."""
        low = resume.text() + "\x00" if resume else None if after is None else Position(after, _AFTER_ALL_IDS).text()
        high = through.text() if through else Position(SEQ_MAX if until is None else until, _AFTER_ALL_IDS).text()
        if low is not None and low > high:
            return None
        if low is None:
            condition, values = "#source = :source AND #seq <= :high", {"high": high}
        else:
            condition, values = "#source = :source AND #seq BETWEEN :low AND :high", {"low": low, "high": high}
        return {
            "TableName": self._table,
            "KeyConditionExpression": condition,
            "ConsistentRead": True,
            **expression_attributes(condition, values={"source": source, **values}),
        }

    def _read(self, bounds: dict[str, Any], *, first: int) -> Iterable[Edge]:
        for page, _ in self._pages(bounds, limit=first):
            yield from page

    def _pages(
        self, bounds: dict[str, Any], *, attributes: Sequence[str] = (), limit: int | None = None
    ) -> Iterable[tuple[list[Edge], bool]]:
        """Query page by page, each only when asked for, and say whether one follows; `limit` bounds the first."""
        request = dict(bounds)
        if attributes:
            names = {f"#{name}": name for name in attributes}
            request["ProjectionExpression"] = ", ".join(names)
            request["ExpressionAttributeNames"] = {**bounds["ExpressionAttributeNames"], **names}
        if limit is not None:
            request["Limit"] = limit
        while True:
            answer = self._retry.call(self._client.query, **request)
            yield [read_edge(item) for item in answer["Items"]], "LastEvaluatedKey" in answer
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
            if limit is not None:
                request["Limit"] = max(limit, _NEXT_READ)
