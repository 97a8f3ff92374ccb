"""The tail of one partition of a stream: which numbers have been given out, and which have left.

Every message has a number. Publishers reserve theirs here, without waiting for one another, and write under it
afterwards. A number under which nothing is ever written is a hole; a fence puts a tombstone there, after which its
publisher, should it still live, finds the place taken and reserves again.

`held` is exact at every moment: numbers above the floor, less the tombstones among them. Whoever reserves adds, a
fence takes away in the transaction that puts the tombstone, and the floor rises together with what it passes.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from broker import keys
from broker.ids import Clock
from edge import ConditionFailed, Edge, EdgeTable, Row, StateTable, TransactionRefused, Value

GRACE_SECONDS = 5
"""How long a reader waits for the publisher of a hole that has a later message behind it."""

LONGEST_CALL_SECONDS = 60
"""No function lives longer. A tombstone is kept for twice this time: its publisher must still find it."""

FENCED_AT_ONCE = 50
_SLOTS = 8
ONLY_ID = "message"
"""All edges of a stream have this id, so that a number can be taken once only."""


@dataclass(frozen=True, slots=True)
class Tail:
    """A partition as it was at one moment.

    Attributes:
        last: The highest number given out; 0 before the first.
        floor: Messages up to this number have left.
        held: How many numbers above the floor are a message, or may still become one.
        settled: Up to here there are no holes, as far as anybody has looked.
        reserved_at: When a number was last given out, by the clock of who asked for it.
    """

    last: int = 0
    floor: int = 0
    held: int = 0
    settled: int = 0
    reserved_at: int = 0


class NoRoom(Exception):
    """The partition holds as many messages as it may.

    Attributes:
        tail: The partition as it is.
    """

    def __init__(self, tail: Tail) -> None:
        super().__init__("no room")
        self.tail = tail


class Tails:
    """The tails of all streams."""

    def __init__(self, *, state: StateTable, edges: EdgeTable, clock: Clock) -> None:
        self._state = state
        self._edges = edges
        self._clock = clock

    def read(self, queue_id: str, *, partition: int) -> Tail:
        """The tail of one partition."""
        return read_tail(self._state.get(keys.stream(queue_id, partition=partition), keys.TAIL))

    def reserve(self, queue_id: str, *, partition: int, amount: int = 1, limit: int | None = None) -> tuple[int, int]:
        """Take the next `amount` numbers; returns the first of them and the moment of it.

        An answer that is lost costs no numbers: one of a few slots remembers what was given out last, and to whom.

        Raises:
            NoRoom: With them the partition would hold more than `limit`; nothing was taken.
        """
        now = self._clock()
        token = secrets.token_hex(4)
        whom, what = f"whom{int(token[0], 16) % _SLOTS}", f"what{int(token[0], 16) % _SLOTS}"
        values: Row = {"amount": amount, "now": now, "token": token, "none": 0}
        condition = f"NOT #{whom} = :token"
        if limit is not None:
            if amount > limit:
                raise NoRoom(self.read(queue_id, partition=partition))
            values["room"] = limit - amount
            condition = f"({condition}) AND (attribute_not_exists(#held) OR #held <= :room)"
        try:
            row = self._update(
                queue_id,
                partition,
                f"ADD #last :amount, #held :amount SET #reserved_at = :now, #{whom} = :token,"
                f" #{what} = if_not_exists(#last, :none) + :amount",
                values=values,
                condition=condition,
                done_if={whom: token},
            )
        except ConditionFailed as failure:
            raise NoRoom(read_tail(failure.old)) from failure
        return int(str(row[what])) - amount + 1, now

    def fence(self, queue_id: str, *, partition: int, numbers: Sequence[int]) -> Tail | None:
        """Put tombstones into holes, lowest first, at most `FENCED_AT_ONCE`.

        Returns None when they stand; also when one of the holes turned out to be none, so that nothing was done and
        what is there must be read again. Where retention has passed the lowest of them meanwhile, they are no holes:
        then nothing is done, and the tail is returned.
        """
        holes = numbers[:FENCED_AT_ONCE]
        source = keys.stream(queue_id, partition=partition)
        now = self._clock()
        operations = [
            self._edges.insert_operation(Edge(source, number, ONLY_ID, {"at": now}), if_absent=True) for number in holes
        ]
        counted = self._state.update_operation(
            source,
            keys.TAIL,
            "ADD #held :less",
            values={"less": -len(holes), "first": holes[0]},
            condition="attribute_not_exists(#floor) OR #floor < :first",
        )
        try:
            self._state.transact([counted, *operations])
        except TransactionRefused as refusal:
            passed = refusal.failures[0]
            return None if passed is None else self.read(queue_id, partition=partition)
        return None

    def raise_floor(self, queue_id: str, *, partition: int, start: int, end: int, messages: int) -> bool:
        """Let everything up to `end` leave: that is, `messages` messages and otherwise tombstones only, no hole.

        Returns False when the floor is not `start` any more, and nothing was done.
        """
        values: Row = {"end": end, "less": -messages}
        if start:
            values["start"] = start
        try:
            self._update(
                queue_id,
                partition,
                "SET #floor = :end ADD #held :less",
                values=values,
                condition="#floor = :start" if start else "attribute_not_exists(#floor)",
                done_if={"floor": end},
            )
        except ConditionFailed:
            return False
        return True

    def empty(self, queue_id: str, *, partition: int, purge: int) -> None:
        """Let everything leave that has a number now, once for each `purge`, which names a moment.

        A message whose publisher has its number and has not written it yet leaves with them.
        """
        try:
            self._update(
                queue_id,
                partition,
                "SET #floor = #last, #held = :none, #settled = #last, #purge = :purge",
                values={"none": 0, "purge": purge},
                condition="attribute_exists(#last) AND (attribute_not_exists(#purge) OR #purge < :purge)",
            )
        except ConditionFailed:
            return

    def settle(self, queue_id: str, *, partition: int, through: int) -> None:
        """Note that up to here there are no holes, so that nobody looks for them again."""
        self._update(queue_id, partition, "SET #settled = :through", values={"through": through})

    def _update(
        self,
        queue_id: str,
        partition: int,
        expression: str,
        *,
        values: Row,
        condition: str | None = None,
        done_if: Row | None = None,
    ) -> Row:
        return self._state.update(
            keys.stream(queue_id, partition=partition),
            keys.TAIL,
            expression,
            values=values,
            condition=condition,
            done_if=done_if,
        )


def read_tail(row: Mapping[str, Value] | None) -> Tail:
    """A tail from its row, which is made by the first publish."""
    if row is None:
        return Tail()
    names = ("last", "floor", "held", "settled", "reserved_at")
    return Tail(*(int(str(row.get(name, 0))) for name in names))
