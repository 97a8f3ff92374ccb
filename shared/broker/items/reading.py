"""From rows to answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from broker import times
from broker.items.models import ItemAnswer
from broker.items.rows import Opened, Place, Stored
from broker.items.store import ItemStore
from broker.items.writing import place_of
from broker.jsontext import Raw
from broker.queues.queue import Queue, cutoff_of

PAGE_WEIGHT = 4 * 1024 * 1024
"""Bytes of payloads at which a page ends; what an answer may weigh is 6 MB."""


@dataclass(frozen=True, slots=True)
class Item:
    """A live item, opened.

    Attributes:
        stored: Its row.
        key: The JSON array of its key's values; None, like the payload, when it does not open.
        payload: The JSON text.
    """

    stored: Stored
    key: bytes | None
    payload: bytes | None


class ItemReader:
    """Opens the rows of a page, and says what they hold."""

    def __init__(self, *, store: ItemStore) -> None:
        self._store = store

    def find(self, queue: Queue, digests: Sequence[str]) -> list[Stored | None]:
        """The rows of the live items under distinct keys, in order, None where there is none. One call."""
        cutoff = cutoff_of(queue, now=self._store.clock())
        found = self._store.find(place_of(queue), digests)
        return [stored if stored is not None and stored.lives(cutoff) else None for stored in found]

    def open_all(self, queue: Queue, rows: Sequence[Stored]) -> list[Item | None]:
        """The items of rows of live ones, in order; as they are by now, if one was replaced while this read it.

        None for one that has gone meanwhile.

        Raises:
            EdgeUnavailable: Storage or the tenant's key cannot be had now.
        """
        place = place_of(queue)
        outside = [stored for stored in rows if stored.size]
        bodies = dict(zip(outside, self._store.payloads(place, outside), strict=True)) if outside else {}
        return [self._item(queue, place, stored, bodies.get(stored)) for stored in rows]

    def answer(self, queue: Queue, item: Item) -> ItemAnswer:
        """An item as callers see it."""
        stored = item.stored
        answer: ItemAnswer = {
            "key": None if item.key is None else Raw(item.key.decode()),
            "payload": None if item.payload is None else Raw(item.payload.decode()),
            "version": str(stored.version),
            "modified_at": times.text(stored.at),
        }
        age = queue.settings.max_message_age_seconds
        if age is not None:
            answer["expires_at"] = times.text(stored.at + age * 1000)
        if item.payload is None:
            answer["error"] = "unreadable"
        return answer

    def _item(self, queue: Queue, place: Place, stored: Stored, body: bytes | None) -> Item | None:
        opened = self._store.rows.open(place, stored)
        if opened is None:
            return Item(stored, None, None)
        if stored.size and body is None:
            return self._replaced(queue, stored, opened)
        return Item(stored, opened.key, body if stored.size else opened.payload)

    def _replaced(self, queue: Queue, stored: Stored, opened: Opened) -> Item | None:
        """Look again at an item whose payload was not there: it went with the version that was replaced."""
        (now,) = self.find(queue, [stored.digest])
        if now is None:
            return None
        if now.version == stored.version:
            return Item(stored, opened.key, None)
        (item,) = self.open_all(queue, [now])
        return item
