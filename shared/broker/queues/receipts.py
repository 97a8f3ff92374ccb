"""That what a request with an `Idempotency-Key` published was stored, whatever has become of it since.

The answer of a request is noted after its work. A process that dies between the two leaves a message that may have been
delivered and acked before the request is repeated; the receipt, written in one step with the message, tells the repeat.
"""

from broker import keys
from broker.ids import Clock, Repeat
from broker.queues.kinds import Published
from edge import Operation, Row, StateTable, TransactionRefused

KEPT_SECONDS = 25 * 3600
"""An hour longer than a repeat has the same ids."""

_ABSENT = "attribute_not_exists(#pk)"


class Receipts:
    """The receipts of all queues. Messages are named by ids that are the same in every attempt at a request."""

    def __init__(self, *, state: StateTable, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def operations(
        self, queue_id: str, message_id: str, *, repeat: Repeat, at: int, status: str = "queued"
    ) -> list[Operation]:
        """For the transaction that stores a message: one that refuses it when an earlier attempt has stored it.

        None for a request that is never carried out again.

        Args:
            queue_id: The queue.
            message_id: The message.
            repeat: Whether its request may be carried out again.
            at: When it is published; `stored_before` reads it from a refusal.
            status: What became of it.
        """
        if repeat == "never":
            return []
        row: Row = {
            "pk": keys.once(queue_id, message_id),
            "sk": keys.ONCE,
            "at": at,
            "status": status,
            "ttl": self._clock() // 1000 + KEPT_SECONDS,
        }
        return [self._state.put_operation(row, condition=_ABSENT)]

    def find(self, queue_id: str, message_id: str, *, repeat: Repeat) -> Published | None:
        """What an earlier attempt published, None when none has stored it; no call where there was none."""
        if repeat != "again":
            return None
        row = self._state.get(keys.once(queue_id, message_id), keys.ONCE)
        return None if row is None else Published(message_id, str(row["status"]), int(str(row["at"])))


def stored_before(refusal: TransactionRefused, *, index: int, repeat: Repeat) -> int | None:
    """When an earlier attempt published a message, None when that is not why its transaction was refused.

    Args:
        refusal: The refusal.
        index: Where in the transaction the receipt stood, if there was one.
        repeat: What the receipt was made with.
    """
    if repeat == "never" or (failure := refusal.failures[index]) is None:
        return None
    return int(str((failure.old or {"at": 0})["at"]))
