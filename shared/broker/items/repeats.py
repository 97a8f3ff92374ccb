"""Writing an item for a request that may be repeated: in one transaction with a receipt.

A transaction does not say what it replaced. So the row is read first, and written if it is still the same.
"""

from dataclasses import dataclass

from broker.items.fresh import Fresh
from broker.queues.receipts import Receipts, stored_before
from edge import ConditionFailed, EdgeUnavailable, Row, StateTable, TransactionRefused

REPLACED = "replaced"
STORED = "stored"

_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Change:
    """An update of an item's row."""

    expression: str
    values: Row
    condition: str
    at: int


class StoredBefore(Exception):
    """An earlier attempt has stored the item; nothing was written.

    Attributes:
        at: When.
    """

    def __init__(self, at: int) -> None:
        super().__init__("an earlier attempt has stored the item")
        self.at = at


def write_once(
    fresh: Fresh, change: Change, *, pk: str, queue_id: str, cutoff: int | None, state: StateTable, receipts: Receipts
) -> Row:
    """Write an item once for all attempts at its request; returns its row as it was before, empty if there was none.

    Args:
        fresh: The item.
        change: What is to be done.
        pk: The hash key of its row.
        queue_id: The queue.
        cutoff: What was stored at or before this moment has expired; None: nothing has.
        state: The table.
        receipts: The receipts.

    Raises:
        StoredBefore: It has been done.
        ConditionFailed: The condition does not hold; `old` is the row.
        EdgeUnavailable: Others change the item all the time, or storage does not answer.
    """
    for _ in range(_ATTEMPTS):
        row = state.get(pk, fresh.digest) or {}
        seen = row.get("item_id")
        stands, values = (
            ("attribute_not_exists(#item_id)", {}) if seen is None else ("#item_id = :before", {"before": seen})
        )
        lived = seen is not None and (cutoff is None or int(str(row["item_at"])) > cutoff)
        receipt = receipts.operations(
            queue_id, fresh.version, repeat=fresh.repeat, at=change.at, status=REPLACED if lived else STORED
        )
        update = state.update_operation(
            pk,
            fresh.digest,
            change.expression,
            values={**change.values, **values},
            condition=f"({change.condition}) AND {stands}",
        )
        try:
            state.transact([update, *receipt])
        except TransactionRefused as refusal:
            before = stored_before(refusal, index=1, repeat=fresh.repeat)
            if before is not None:
                raise StoredBefore(before) from refusal
            failure = refusal.failures[0] or ConditionFailed()
            if (failure.old or {}).get("item_id") == seen:
                raise failure from refusal
        else:
            return row
    raise EdgeUnavailable("others change the item all the time", throttled=True)
