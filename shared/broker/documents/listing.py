"""Lists of documents, newest last, a page at a time.

Without a prefix, documents are read in the order of their ids, which is that of time. With one, an index by name leads
to what begins with it, and to nothing else. What one read of the index gives is put into the order of time; where more
begins with the prefix than one read gives, about 5,000 documents, the list comes in several such runs.
"""

from dataclasses import dataclass
from typing import Any

from broker import jsontext, times
from broker.crypto import Scope, Unreadable
from broker.documents import keys
from broker.documents.document import id_of_sort
from broker.documents.expiry import first_living
from broker.documents.models import DocumentAnswer, DocumentQuery, UnreadableAnswer
from broker.documents.store import Store
from broker.errors import ValidationFailed
from broker.ids import Clock, moment, smallest
from broker.listing import Listing
from broker.metrics import count
from broker.queues.queue import Queue
from broker.tokens import Tokens
from edge import Row, StateTable


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page goes on.

    Attributes:
        after: The last document listed; empty at the start of a run.
        start: What stands just before the run in the index; empty for the first run.
        end: The last entry of the run; empty when it is not known, or when the run ends with the prefix.
    """

    after: str = ""
    start: str = ""
    end: str = ""


class DocumentLists:
    """The lists of all queues."""

    def __init__(self, *, state: StateTable, store: Store, tokens: Tokens, clock: Clock) -> None:
        self._state = state
        self._store = store
        self._tokens = tokens
        self._clock = clock

    def page(self, queue: Queue, query: DocumentQuery) -> Listing[DocumentAnswer | UnreadableAnswer]:
        """One page of a queue's documents.

        Raises:
            InvalidToken: The token is of another list.
            ValidationFailed: The times are the wrong way round.
        """
        if (
            query.uploaded_from is not None
            and query.uploaded_to is not None
            and query.uploaded_to < query.uploaded_from
        ):
            raise ValidationFailed.of("uploaded_to", "lies before uploaded_from")
        scope = Scope(queue.tenant_id, queue.queue_id, "documents", _filter_text(query))
        place = _Place() if query.next_token is None else _read_place(self._tokens.open(query.next_token, scope=scope))
        low = max(first_living(queue, now=self._clock()), _bound(query.uploaded_from))
        high = _bound(query.uploaded_to)
        if query.uploaded_to is not None and high <= low:
            return Listing([], None)
        if query.name_prefix is None:
            rows, following = self._by_time(queue, place, low=low, high=high, limit=query.limit)
        else:
            rows, following = self._by_name(
                queue, place, prefix=query.name_prefix, low=low, high=high, limit=query.limit
            )
        token = None if following is None else self._tokens.seal(_place_text(following), scope=scope)
        return Listing([self._answer(row, queue) for row in rows], token)

    def _by_time(
        self, queue: Queue, place: _Place, *, low: str, high: str, limit: int
    ) -> tuple[list[Row], _Place | None]:
        first = max(low, f"{place.after}\0" if place.after else "")
        page = self._state.query(
            keys.documents(queue.queue_id), low=first or None, high=_below(high) or None, limit=limit + 1
        )
        rows = list(page.rows[:limit])
        more = len(page.rows) > limit or page.next is not None
        return rows, _Place(after=str(rows[-1]["sk"])) if more and rows else None

    def _by_name(
        self, queue: Queue, place: _Place, *, prefix: str, low: str, high: str, limit: int
    ) -> tuple[list[Row], _Place | None]:
        found, end = self._run(queue, place, prefix=prefix)
        wanted = sorted(one for one in found if one > place.after and one >= low and (not high or one < high))
        pk = keys.documents(queue.queue_id)
        rows = [row for row in self._state.get_many([(pk, one) for one in wanted[:limit]]) if row is not None]
        if len(wanted) > limit:
            return rows, _Place(after=wanted[limit - 1], start=place.start, end=end)
        return rows, _Place(start=end) if end else None

    def _run(self, queue: Queue, place: _Place, *, prefix: str) -> tuple[list[str], str]:
        """The documents of a run by the index, and its last entry; empty when the run ends with the prefix."""
        pk = keys.documents(queue.queue_id)
        start: Row | None = None
        if place.start:
            start = {"pk": pk, "sk": id_of_sort(place.start), "sort": place.start}
        found: list[str] = []
        while True:
            page = self._state.query(pk, index="by_sort", prefix=prefix, start=start)
            sorts = [str(row["sort"]) for row in page.rows]
            found += [id_of_sort(sort) for sort in sorts if not place.end or sort <= place.end]
            start = page.next
            last = str(start["sort"]) if start else ""
            if not place.end:
                return found, last
            if not last or last >= place.end:
                return found, place.end

    def _answer(self, row: Row, queue: Queue) -> DocumentAnswer | UnreadableAnswer:
        try:
            return self._store.read(row, queue=queue).answer()
        except Unreadable:
            count("Unreadable", kind=queue.type, tenant_id=queue.tenant_id, queue_id=queue.queue_id)
            document_id = str(row["sk"])
            uploaded_at = times.text(moment(document_id))
            return {"document_id": document_id, "uploaded_at": uploaded_at, "error": "unreadable"}


def _bound(at: int | None) -> str:
    return "" if at is None else smallest(max(0, at))


def _below(high: str) -> str:
    """An inclusive upper bound for ids below an exclusive one: no id is a prefix of this."""
    return f"{high[:-1]}/" if high else ""


def _filter_text(query: DocumentQuery) -> str:
    values: list[Any] = [query.name_prefix, query.uploaded_from, query.uploaded_to]
    return jsontext.dumps(values).decode()


def _place_text(place: _Place) -> bytes:
    return jsontext.dumps([place.after, place.start, place.end])


def _read_place(text: bytes) -> _Place:
    return _Place(*jsontext.loads(text))
