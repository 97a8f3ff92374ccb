"""A consumer: its place in each partition, and the run of messages that it holds or has to get again.

One row per consumer, whatever the number of messages. Every write of it leaves a new random `rev`; what was decided
on the row is written only if the `rev` is still the same. Settling needs no decision, so it needs no read: it is one
update of one slot, on the condition that the slot is still under the same lease.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from broker import keys
from edge import Row, Value

State: TypeAlias = Literal["leased", "nacked", "acked", "dead", "spent", "gone"]
"""Of a slot. `dead`: given to the dead letters by a nack. `spent`: by running out of deliveries. `gone`: the message
left the queue before it was delivered again."""

REDRIVEN = -1
"""The partition of a run of messages that were redriven to this consumer."""

RUN_MOST = 10
_PAST_MOST = 24


@dataclass(frozen=True, slots=True)
class Slot:
    """One message of a run.

    Attributes:
        number: Its place in the partition.
        message_id: Its id.
        state: What became of it.
        lease: The lease under which it was delivered last.
        until: When that lease ends, or, once nacked, when it is due again.
        deliveries: How often it was delivered.
        detail: The reason of the last nack, sealed; may be empty.
        entry: The id of its edge among the redriven ones; empty for the stream's.
    """

    number: int
    message_id: str
    state: State
    lease: str
    until: int
    deliveries: int
    detail: bytes = b""
    entry: str = ""

    @property
    def pending(self) -> bool:
        """Whether it has yet to be settled."""
        return self.state in ("leased", "nacked")

    def row(self) -> dict[str, Value]:
        """As it is stored."""
        row: dict[str, Value] = {
            "number": self.number,
            "id": self.message_id,
            "state": self.state,
            "lease": self.lease,
            "until": self.until,
            "deliveries": self.deliveries,
        }
        optional: dict[str, Value] = {"detail": self.detail, "entry": self.entry}
        return row | {name: value for name, value in optional.items() if value}


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer as it was read.

    Attributes:
        client_id: Whose place this is.
        rev: What it was read under; empty when there was no row.
        positions: By partition the number up to which everything has been delivered or has left. A partition that is
            missing has not been begun.
        partition: Where the run comes from.
        slots: The run.
        past: The settled slots of earlier runs, newest last: lease, slot and outcome.
        waiting: How many messages wait that were redriven to it.
        turn: The partition to look at first.
        sought: Whether the next message is the one sought, before all that waits.
        made_at: When it was first seen.
        seen_at: When it last called.
        fresh: Whether it has just been made, so that it can have missed nothing. Not stored.
    """

    client_id: str
    rev: str = ""
    positions: Mapping[int, int] | None = None
    partition: int = 0
    slots: tuple[Slot, ...] = ()
    past: tuple[str, ...] = ()
    waiting: int = 0
    turn: int = 0
    sought: bool = False
    made_at: int = 0
    seen_at: int = 0
    fresh: bool = False

    @property
    def known(self) -> bool:
        """Whether it has a place; one that was only redriven to has none yet."""
        return self.positions is not None

    def position(self, partition: int) -> int:
        """Up to where everything has been delivered."""
        return (self.positions or {}).get(partition, 0)

    def reached(self, partition: int) -> int:
        """Up to where everything has been settled, or has left."""
        pending = [slot.number for slot in self.slots if slot.pending and self.partition == partition]
        return min([self.position(partition), *(number - 1 for number in pending)])

    def pending(self) -> list[tuple[int, Slot]]:
        """The slots that are not settled, with their indexes, in order."""
        return [(index, slot) for index, slot in enumerate(self.slots) if slot.pending]

    def live(self, now: int, *, above: int = -1) -> Slot | None:
        """The first slot whose lease has not run out, of those whose number is above one."""
        leased = (slot for slot in self.slots if slot.state == "leased" and slot.until > now)
        return next((slot for slot in leased if slot.number > above), None)

    def at(self, partition: int, *, position: int) -> "Consumer":
        """The same, its place in one partition moved."""
        return replace(self, positions={**(self.positions or {}), partition: position})

    def with_slot(self, index: int, slot: Slot) -> "Consumer":
        """The same, one slot changed."""
        return replace(self, slots=(*self.slots[:index], slot, *self.slots[index + 1 :]))

    def without_run(self) -> "Consumer":
        """The same, the run over; what became of its slots is remembered for those who settle twice."""
        settled = [f"{slot.lease}{index}{slot.state[0]}" for index, slot in enumerate(self.slots) if not slot.pending]
        return replace(self, slots=(), past=(*self.past, *settled)[-_PAST_MOST:])

    def row(self, queue_id: str, *, rev: str) -> Row:
        """As it is stored under its queue."""
        row: Row = {
            "pk": keys.queue(queue_id),
            "sk": keys.consumer(self.client_id),
            "rev": rev,
            "partition": self.partition,
            "past": " ".join(self.past),
            "waiting": self.waiting,
            "turn": self.turn,
            "sought": self.sought,
            "made_at": self.made_at,
            "seen_at": self.seen_at,
        }
        if self.positions is not None:
            row["positions"] = {str(partition): number for partition, number in self.positions.items()}
        return row | {slot_name(index): slot.row() for index, slot in enumerate(self.slots)}


def slot_name(index: int) -> str:
    """The attribute of a slot."""
    return f"s{index}"


def new_rev() -> str:
    """A text that no other write leaves."""
    return secrets.token_hex(6)


def new_lease() -> str:
    """A text that no other lease has; none is the beginning of another."""
    return secrets.token_urlsafe(6)


def read_consumer(row: Mapping[str, Value]) -> Consumer:
    """Back from the row."""
    positions = row.get("positions")
    places = {int(key): _int(number) for key, number in positions.items()} if isinstance(positions, dict) else None
    slots = [_read_slot(row[name]) for name in map(slot_name, range(RUN_MOST)) if name in row]
    return Consumer(
        client_id=str(row["sk"]).removeprefix(keys.CONSUMERS_PREFIX),
        rev=str(row["rev"]),
        positions=places,
        partition=_int(row.get("partition", 0)),
        slots=tuple(slots),
        past=tuple(str(row.get("past", "")).split()),
        waiting=_int(row.get("waiting", 0)),
        turn=_int(row.get("turn", 0)),
        sought=bool(row.get("sought", False)),
        made_at=_int(row.get("made_at", 0)),
        seen_at=_int(row.get("seen_at", 0)),
    )


def _read_slot(value: Value) -> Slot:
    row = value if isinstance(value, dict) else {}
    detail = row.get("detail")
    return Slot(
        number=_int(row["number"]),
        message_id=str(row["id"]),
        state=str(row["state"]),  # type: ignore[arg-type]  # only states are stored
        lease=str(row["lease"]),
        until=_int(row["until"]),
        deliveries=_int(row["deliveries"]),
        detail=detail if isinstance(detail, bytes) else b"",
        entry=str(row.get("entry", "")),
    )


def _int(value: Value) -> int:
    return int(str(value))
