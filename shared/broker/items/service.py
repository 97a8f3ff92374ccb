"""The routes of items: find the queue, permit, and read or delete."""

from typing import Any

from broker import times
from broker.caller import Action, Caller
from broker.crypto import Scope
from broker.errors import (
    InvalidToken,
    NotFound,
    PayloadTooLarge,
    PreconditionFailed,
    ResyncRequired,
    TooManyEntries,
    Unavailable,
    ValidationFailed,
    WrongQueueType,
)
from broker.identity import digest
from broker.items.addresses import array_key, checked_key, named_versions, path_keys
from broker.items.deltas import Deltas
from broker.items.listing import ItemLists
from broker.items.models import (
    LOOKUP_MOST,
    ItemAnswer,
    ItemListQuery,
    LookupAnswer,
    LookupRequest,
    UpdatesAnswer,
    UpdatesRequest,
)
from broker.items.reading import ItemReader
from broker.items.rows import Stored
from broker.items.watermark import Watermark
from broker.items.writing import ItemWriter
from broker.jsontext import Number
from broker.listing import Listing
from broker.queues.contents import ANSWER_MOST
from broker.queues.queue import Queue, settings_of
from broker.queues.registry import Registry
from broker.queues.settings import KeyValueSettings
from broker.tokens import Tokens

_ATTEMPTS = 8


class ItemService:
    """The items of all key_value queues, as their routes need them."""

    def __init__(
        self,
        *,
        registry: Registry,
        reader: ItemReader,
        writer: ItemWriter,
        lists: ItemLists,
        deltas: Deltas,
        tokens: Tokens,
    ) -> None:
        self._registry = registry
        self._reader = reader
        self._writer = writer
        self._lists = lists
        self._deltas = deltas
        self._tokens = tokens

    def listed(self, caller: Caller, reference: str, query: ItemListQuery) -> Listing[ItemAnswer]:
        """A page of items, by sort key or by key; it may be short.

        Raises:
            InvalidToken: The token is of another list.
        """
        queue = self._find(caller, reference, action="consume")
        scope = Scope(queue.tenant_id, queue.queue_id, "items", query.prefix or "")
        after = self._tokens.open(query.next_token, scope=scope).decode() if query.next_token is not None else None
        page = self._lists.page(queue, after=after, limit=query.limit, prefix=query.prefix or "")
        items = [self._reader.answer(queue, item) for item in self._reader.open_all(queue, page.rows) if item]
        return Listing(items, None if page.after is None else self._tokens.seal(page.after.encode(), scope=scope))

    def read(self, caller: Caller, reference: str, text: str) -> ItemAnswer:
        """One item, by a text in the path.

        Raises:
            NotFound: There is none, or it has expired.
        """
        queue = self._find(caller, reference, action="consume")
        return self._read(queue, self._path_keys(queue, text))

    def read_by_key(self, caller: Caller, reference: str, text: str) -> ItemAnswer:
        """One item, by the JSON array of its key.

        Raises:
            ValidationFailed: It is no such array.
            NotFound: There is none, or it has expired.
        """
        queue = self._find(caller, reference, action="consume")
        return self._read(queue, [array_key(text, size=_size(queue))])

    def delete(self, caller: Caller, reference: str, text: str, *, if_match: str | None) -> None:
        """Delete one item, by a text in the path.

        Raises:
            NotFound: There is none, or it has expired.
            PreconditionFailed: There is none of a version in `if_match`.
        """
        queue = self._find(caller, reference, action="publish")
        self._delete(queue, self._path_keys(queue, text), if_match=if_match)

    def delete_by_key(self, caller: Caller, reference: str, text: str, *, if_match: str | None) -> None:
        """Delete one item, by the JSON array of its key.

        Raises:
            ValidationFailed: It is no such array.
            NotFound: There is none, or it has expired.
            PreconditionFailed: There is none of a version in `if_match`.
        """
        queue = self._find(caller, reference, action="publish")
        self._delete(queue, [array_key(text, size=_size(queue))], if_match=if_match)

    def lookup(self, caller: Caller, reference: str, request: LookupRequest) -> LookupAnswer:
        """Many items by their keys; a key that is asked for twice is answered once.

        Raises:
            TooManyEntries: There are more than 100 keys.
            ValidationFailed: One is not a key of this queue.
            PayloadTooLarge: The items together are too large for one answer.
        """
        queue = self._find(caller, reference, action="consume")
        if len(request.keys) > LOOKUP_MOST:
            raise TooManyEntries(f"At most {LOOKUP_MOST} keys fit one request.")
        size = _size(queue)
        checked = [checked_key(key, size=size, name=f"keys.{index}") for index, key in enumerate(request.keys)]
        wanted = {digest(key): key for key in checked}
        found = dict(zip(wanted, self._reader.find(queue, list(wanted)), strict=True)) if wanted else {}
        rows = [stored for stored in found.values() if stored is not None]
        if sum(stored.weight for stored in rows) > ANSWER_MOST:
            raise PayloadTooLarge("These items together are too large for one answer; ask for fewer.")
        opened = dict(zip((row.digest for row in rows), self._reader.open_all(queue, rows), strict=True))
        items = [self._reader.answer(queue, item) for item in opened.values() if item is not None]
        return {"items": items, "missing": [key for name, key in wanted.items() if opened.get(name) is None]}

    def updates(self, caller: Caller, reference: str, request: UpdatesRequest) -> UpdatesAnswer:
        """What has changed since a time, or since the `next` of an answer.

        Raises:
            ValidationFailed, InvalidToken: `since` is neither.
            ResyncRequired: It is older than deletions are remembered; its `next` is where to go on from.
        """
        queue = self._find(caller, reference, action="consume")
        scope = Scope(queue.tenant_id, queue.queue_id, "updates")
        try:
            watermark = self._watermark(queue, request.since, scope=scope)
        except ResyncRequired as error:
            fresh = self._deltas.now(queue)
            raise ResyncRequired(next=self._tokens.seal(fresh.encode(), scope=scope)) from error
        changes = self._deltas.read(queue, watermark, limit=request.limit)
        return {
            "items": changes.items,
            "deleted": changes.deleted,
            "next": self._tokens.seal(changes.watermark.encode(), scope=scope),
            "has_more": changes.has_more,
        }

    def _watermark(self, queue: Queue, since: Any, *, scope: Scope) -> Watermark:
        value = since.integer() if isinstance(since, Number) else since
        try:
            at = times.parse(value)
        except ValueError as error:
            if not isinstance(value, str):
                raise ValidationFailed.of("since", str(error)) from error
        else:
            return self._deltas.since(queue, at)
        try:
            watermark = Watermark.decode(self._tokens.open(value, scope=scope))
        except InvalidToken as error:
            raise InvalidToken("since must be a time, or the `next` of an answer for this queue.") from error
        self._deltas.check(watermark)
        return watermark

    def _read(self, queue: Queue, keys: list[list[Any]]) -> ItemAnswer:
        for stored in self._live(queue, keys):
            (item,) = self._reader.open_all(queue, [stored])
            if item is not None:
                return self._reader.answer(queue, item)
        raise NotFound("There is no item under this key.")

    def _delete(self, queue: Queue, keys: list[list[Any]], *, if_match: str | None) -> None:
        wanted = None if if_match is None else named_versions(if_match)
        for _ in range(_ATTEMPTS):
            live = self._live(queue, keys)
            if wanted is not None and not (live and wanted & {"*", live[0].version}):
                raise PreconditionFailed
            if not live:
                raise NotFound("There is no item under this key.")
            if self._writer.delete(queue, live[0]):
                return
        raise Unavailable("The item is being replaced all the time; repeat the request.")

    def _live(self, queue: Queue, keys: list[list[Any]]) -> list[Stored]:
        return [stored for stored in self._reader.find(queue, [digest(key) for key in keys]) if stored is not None]

    def _path_keys(self, queue: Queue, text: str) -> list[list[Any]]:
        if _size(queue) > 1:
            raise NotFound("A key of several values is given as a JSON array: /queues/{queue}/item?key=[...]")
        return path_keys(text)

    def _find(self, caller: Caller, reference: str, *, action: Action) -> Queue:
        queue = self._registry.find(caller, reference, action=action)
        if queue.type != "key_value":
            raise WrongQueueType(f"A {queue.type} queue has no items.")
        return queue


def _size(queue: Queue) -> int:
    return len(settings_of(queue, KeyValueSettings).primary_key)
