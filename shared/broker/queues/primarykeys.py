"""Who holds a primary key: one row per key while its message is in the queue.

For types whose message is not itself the row of its key. The operations are parts of the transactions that store and
remove messages, so that there is never a key without a message, nor a message without its key.
"""

from dataclasses import dataclass
from typing import Final

from broker import keys
from edge import Operation, Row, StateTable, Value

PENDING: Final = "pending"
"""The place of a message that waits outside its queue and holds its key already."""

_FREE = "attribute_not_exists(#pk)"


@dataclass(frozen=True, slots=True)
class Holder:
    """The message that holds a key.

    Attributes:
        message_id: Its id.
        published_at: When it was published, by which it expires.
        place: Where it is, in the words of its type; may be empty.
    """

    message_id: str
    published_at: int
    place: str = ""


class PrimaryKeys:
    """The holders of all queues' keys; keys are given by their digest (`broker.identity.digest`)."""

    def __init__(self, *, state: StateTable) -> None:
        self._state = state

    def find(self, queue_id: str, digest: str, *, cutoff: int | None) -> Holder | None:
        """Who holds a key, None when it is free.

        Args:
            queue_id: The queue.
            digest: The key.
            cutoff: What was published at or before this moment has expired and holds nothing; None: nothing expires.
        """
        row = self._state.get(keys.primary_key(queue_id, digest=digest), keys.KEY)
        return None if row is None else holder_of(row, cutoff=cutoff)

    def find_many(self, queue_id: str, digests: list[str], *, cutoff: int | None) -> list[Holder | None]:
        """`find` for many distinct keys, in order."""
        rows = self._state.get_many([(keys.primary_key(queue_id, digest=digest), keys.KEY) for digest in digests])
        return [None if row is None else holder_of(row, cutoff=cutoff) for row in rows]

    def hold_operation(
        self, queue_id: str, digest: str, *, holder: Holder, cutoff: int | None, displaced: Holder | None = None
    ) -> Operation:
        """Take a key; refuses the transaction while another message that has not expired holds it.

        `displaced` is a holder whose message has left otherwise, and which therefore does not count. A refusal's
        `old` is the holder's row: `holder_of` reads it. It may be this very message, stored by an earlier attempt
        under the same id.
        """
        row: Row = {
            "pk": keys.primary_key(queue_id, digest=digest),
            "sk": keys.KEY,
            "message_id": holder.message_id,
            "published_at": holder.published_at,
            "place": holder.place,
        }
        condition = _FREE
        values: dict[str, Value] = {}
        if cutoff is not None:
            condition += " OR #published_at <= :cutoff"
            values["cutoff"] = cutoff
        if displaced is not None:
            condition += " OR (#message_id = :left_id AND #place = :left_place)"
            values |= {"left_id": displaced.message_id, "left_place": displaced.place}
        return self._state.put_operation(row, condition=condition, values=values)

    def release_operation(self, queue_id: str, digest: str, *, message_id: str) -> Operation:
        """Free a key that this message holds; fine when nobody does.

        It refuses the transaction when another message holds the key, having taken it over after this one expired:
        then leave the operation out and repeat.
        """
        values: dict[str, Value] = {"message_id": message_id}
        return self._state.delete_operation(
            keys.primary_key(queue_id, digest=digest),
            keys.KEY,
            condition=f"{_FREE} OR #message_id = :message_id",
            values=values,
        )


def holder_of(row: Row, *, cutoff: int | None) -> Holder | None:
    """The holder in a row, None when it has expired."""
    published_at = int(str(row["published_at"]))
    if cutoff is not None and published_at <= cutoff:
        return None
    return Holder(str(row["message_id"]), published_at, str(row["place"]))
