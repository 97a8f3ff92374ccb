"""How much a queue with `max_queue_depth` holds: one counter, which is never below the truth.

What is to be stored reserves first and is stored then; what leaves is removed first and released then. Both are
commutative additions, so that nobody waits for anybody. A process that dies in between leaves the counter too high;
`repair` finds out by counting, without stopping anyone.
"""

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress

from broker import keys
from broker.ids import Clock
from edge import ConditionFailed, EdgeUnavailable, Operation, Row, StateTable, Value

LONGEST_CALL_SECONDS = 55
"""No function lives longer: whatever it reserved or removed before that is stored, released, or lost."""

MOVING_MILLISECONDS = 200
"""Room that was reserved less than this ago may be given back: by who loses a race for a key, or comes too late."""

_SLOTS = 8
_ATTEMPTS = 4
_ROWS_PER_MINUTE = 1000


class Depth:
    """The counters of all queues that have a limit."""

    def __init__(self, *, state: StateTable, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def reserve(
        self,
        queue_id: str,
        *,
        limit: int,
        count: Callable[[], int],
        amount: int = 1,
        wait: Callable[[], bool] = lambda: False,
        expecting: bool = False,
    ) -> int:
        """Make room for up to `amount` messages; returns for how many there is. One call as a rule.

        Args:
            queue_id: The queue.
            limit: Its `max_queue_depth`. The counter never passes it.
            count: Counts what is stored now; called when nothing has been counted yet, as after the limit was set.
            amount: How many are to be stored.
            wait: Asked where the queue is full, but room was taken or given back a moment ago, so that more may come
                back: pauses, and says whether to try again.
            expecting: Ask it in any case: others are about to give room back.
        """
        wanted, attempts = min(amount, limit), _ATTEMPTS
        while wanted > 0 and attempts > 0:
            attempts -= 1
            now = self._clock()
            try:
                self._add(
                    queue_id,
                    wanted,
                    "#reserved",
                    condition="#count <= :room",
                    values={"room": limit - wanted, "now": now},
                    sets="#reserved_at = :now, ",
                )
            except ConditionFailed as failure:
                if failure.old is None or "count" not in failure.old:
                    self._begin(queue_id, count())
                    continue
                wanted = min(wanted, limit - _int(failure.old, "count"))
                moved_at = max(_int(failure.old, "reserved_at"), _int(failure.old, "released_at"))
                if wanted < 1 and (expecting or now - moved_at < MOVING_MILLISECONDS) and wait():
                    wanted, attempts = min(amount, limit), _ATTEMPTS
            else:
                return wanted
        return 0

    def release(self, queue_id: str, *, amount: int = 1) -> None:
        """Say that messages have left, after they have; storage trouble is left to `repair`."""
        if amount:
            with suppress(ConditionFailed, EdgeUnavailable):
                self._add(
                    queue_id,
                    -amount,
                    "#released",
                    condition="attribute_exists(#count)",
                    values={"now": self._clock()},
                    sets="#released_at = :now, ",
                )

    def operation(self, queue_id: str, *, amount: int, limit: int | None = None) -> Operation:
        """The change of a counter as part of a transaction with what is stored or removed, so that nothing drifts.

        It is refused while nothing has been counted yet (`begin`), and where the counter would pass the limit.
        """
        total = "#reserved" if amount > 0 else "#released"
        room = "attribute_exists(#count)" if limit is None else "#count <= :room"
        return self._state.update_operation(
            keys.queue(queue_id),
            keys.DEPTH,
            f"ADD #count :amount, {total} :moved",
            values={"amount": amount, "moved": abs(amount), **({} if limit is None else {"room": limit - amount})},
            condition=room,
        )

    def begin(self, queue_id: str, *, count: Callable[[], int]) -> None:
        """Begin to count, from what is stored now, if nobody has."""
        if self.read(queue_id) is None:
            self._begin(queue_id, count())

    def read(self, queue_id: str) -> int | None:
        """The counter, None when nothing is counted."""
        row = self._state.get(keys.queue(queue_id), keys.DEPTH)
        return None if row is None or "count" not in row else _int(row, "count")

    def forget(self, queue_id: str) -> None:
        """Stop counting: the limit was taken away, or the queue is gone."""
        self._state.delete(keys.queue(queue_id), keys.DEPTH)

    def repair(self, queue_id: str, *, count: Callable[[], int]) -> int:
        """Bring the counter nearer to the truth, if it has drifted; returns by how much. Harmless at any time.

        A run counts and leaves its finding beside the counter; the next one, later than any call lives, knows by
        then what was under way and puts right what is certain: all of the drift when nothing happened in between,
        and never more than the drift. Counting is spared while nothing changes, and spread over time for big queues.
        """
        row = self._state.get(keys.queue(queue_id), keys.DEPTH)
        if row is None or "count" not in row:
            return 0
        now = self._clock()
        found = _found(row)
        if found is not None and now - found["at"] <= LONGEST_CALL_SECONDS * 1000:
            return 0
        applied = 0
        if found is not None:
            applied = _certain(found, row)
            if applied and not self._apply(queue_id, row, applied):
                return 0
            patient = now - found["at"] < 60_000 * (_int(row, "count") // _ROWS_PER_MINUTE)
            if not applied and (patient or _settled(found, row)):
                return 0
        self._look(queue_id, previous=found, count=count)
        return applied

    def _look(self, queue_id: str, *, previous: Mapping[str, int] | None, count: Callable[[], int]) -> None:
        """Count, and note how far the counter is certain to be above or below."""
        before = self._state.get(keys.queue(queue_id), keys.DEPTH)
        stored = count()
        after = self._state.get(keys.queue(queue_id), keys.DEPTH)
        if before is None or after is None or "count" not in before or "count" not in after:
            return
        known = _int(before, "reserved") if previous is None else previous["reserved"]
        recent = _int(after, "reserved") - known
        finding: dict[str, Value] = {
            "at": self._clock(),
            "reserved": _int(after, "reserved"),
            "released": _int(after, "released"),
            "certain": 0 if previous is None else 1,
            "high": 0 if previous is None else max(0, _int(after, "count") - stored - recent),
            "low": max(0, stored - _int(after, "count") - (_int(after, "released") - _int(before, "released"))),
        }
        with suppress(ConditionFailed):
            self._state.update(
                keys.queue(queue_id),
                keys.DEPTH,
                "SET #found = :found",
                values={"found": finding},
                condition="attribute_exists(#count)",
            )

    def _apply(self, queue_id: str, row: Row, amount: int) -> bool:
        try:
            self._state.update(
                keys.queue(queue_id),
                keys.DEPTH,
                "ADD #count :amount REMOVE #found",
                values={"amount": amount, "found": row["found"]},
                condition="#found = :found",
            )
        except ConditionFailed:
            return False
        return True

    def _begin(self, queue_id: str, stored: int) -> None:
        row: Row = {"pk": keys.queue(queue_id), "sk": keys.DEPTH, "count": stored, "reserved": 0, "released": 0}
        with suppress(ConditionFailed):
            self._state.put(row, condition="attribute_not_exists(#count)")

    def _add(
        self, queue_id: str, amount: int, total: str, *, condition: str, values: Mapping[str, Value], sets: str = ""
    ) -> None:
        """Add once, also when an answer is lost: one of a few slots remembers which addition came last."""
        token = secrets.token_hex(6)
        slot = f"last{int(token[:2], 16) % _SLOTS}"
        self._state.update(
            keys.queue(queue_id),
            keys.DEPTH,
            f"SET {sets}#{slot} = :token ADD #count :amount, {total} :moved",
            values={"token": token, "amount": amount, "moved": abs(amount), **values},
            condition=f"{condition} AND NOT #{slot} = :token",
            done_if={slot: token},
        )


def _certain(found: Mapping[str, int], row: Row) -> int:
    """What of a finding is drift beyond doubt, given what has been released since it was made."""
    under_way = _int(row, "released") - found["released"]
    return found["low"] - max(0, found["high"] - under_way)


def _settled(found: Mapping[str, int], row: Row) -> bool:
    """Whether there was nothing when it was last looked at, and nothing has been stored since."""
    return bool(found["certain"]) and _int(row, "count") == 0 and found["reserved"] == _int(row, "reserved")


def _found(row: Row) -> dict[str, int] | None:
    found = row.get("found")
    return {name: int(str(value)) for name, value in found.items()} if isinstance(found, dict) else None


def _int(row: Mapping[str, Value], name: str) -> int:
    return int(str(row.get(name, 0)))
