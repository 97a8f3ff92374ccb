"""Messages of the delivery types: each settled once, in its order, joined with the right item.

When something happened is known between two notes only: a delivery lies between the `began` and the `at` of its `got`,
an ack between its `acking` and its `acked`. A process that was stalled notes late, what others have done since. So
deliveries are told apart by their numbers, and moments compared only where the order is certain.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tools.loading.journal import Entry, Fault

Order: TypeAlias = Literal["lanes", "stream", "none"]


@dataclass
class _Message:
    """What is known of one message, all in the order of time."""

    sent: list[Entry] = field(default_factory=list)
    stored: list[Entry] = field(default_factory=list)
    got: list[Entry] = field(default_factory=list)
    acking: list[Entry] = field(default_factory=list)
    acked: list[Entry] = field(default_factory=list)
    refused: list[Entry] = field(default_factory=list)

    @property
    def settling(self) -> list[Entry]:
        """The acks that settled it, or may have: their process did not live to hear the answer."""
        refused = {(entry["by"], entry["delivery"]) for entry in self.refused}
        return [one for one in self.acking if (one["by"], one["delivery"]) not in refused]

    @property
    def lost(self) -> bool:
        """Whether it is stored, and was not settled."""
        return bool(self.stored) and not self.settling


def lost(noted: Sequence[Entry]) -> list[Fault]:
    """The messages that were answered as stored, and that no consumer has got and settled."""
    return [Fault(name, "is lost") for name, message in _messages(noted).items() if message.lost]


def of_queue(noted: Sequence[Entry], *, order: Order) -> list[Fault]:
    """Faults in what one queue's workers noted, those of one consumer only if it is a queue for many.

    Args:
        noted: Their journals.
        order: What must come in order: the messages of a key, one settled before the next is given out, those of each
            producer in a stream, or nothing.
    """
    messages = _messages(noted)
    faults = [Fault(name, text) for name, message in messages.items() for text in _wrong(message)]
    match order:
        case "lanes":
            faults += _lanes(messages)
        case "stream":
            faults += _stream(messages)
    return faults


def _messages(noted: Sequence[Entry]) -> dict[str, _Message]:
    messages: dict[str, _Message] = {}
    for entry in noted:
        what, name = entry["what"], str(entry.get("id", ""))
        if what in ("sent", "stored", "got", "acking", "acked", "refused"):
            getattr(messages.setdefault(name, _Message()), what).append(entry)
    return messages


def _wrong(message: _Message) -> list[str]:
    """What is wrong with one message by itself."""
    faults: list[str] = []
    if message.lost:
        faults.append("is lost")
    if not message.sent:
        return [*faults, "was never sent"]
    numbers = [got["delivery"] for got in message.got]
    faults += [f"was given to two as delivery {one}" for one in sorted(set(numbers)) if numbers.count(one) > 1]
    acked = {entry["delivery"] for entry in message.acked}
    if acked and any(number > min(acked) for number in numbers):
        faults.append(f"came again after it was acked as delivery {min(acked)}")
    if len({entry["message_id"] for entry in (*message.stored, *message.got)}) > 1:
        faults.append("came under two ids")
    expected: Any = message.sent[0].get("joined")
    if expected is not None:
        faults += [f"was joined with {got['joined']}" for got in message.got if not _as_expected(expected, got)]
    return faults


def _as_expected(expected: list[str], got: Entry) -> bool:
    """Whether a message carries the item that it names, as it then was."""
    sku, stamp, lookup = got["joined"]
    return [sku, stamp] == expected and lookup is not None and lookup["key"] == [sku]


def _lanes(messages: dict[str, _Message]) -> list[Fault]:
    """Of a key each message is settled before the next is given out, and a producer's come in the order sent."""
    faults = []
    by_key: dict[str, list[tuple[str, _Message]]] = {}
    for name, message in sorted(messages.items(), key=lambda one: one[1].got[0]["at"] if one[1].got else 0.0):
        if message.got:
            by_key.setdefault(message.got[0]["key"], []).append((name, message))
    for lane in by_key.values():
        for (before, earlier), (name, later) in itertools.pairwise(lane):
            if not earlier.settling or earlier.settling[0]["at"] > later.got[0]["at"]:
                faults.append(Fault(name, f"was given out while {before} of the same key was in flight"))
        faults += _in_order(lane)
    return faults


def _stream(messages: dict[str, _Message]) -> list[Fault]:
    got = [(name, message) for name, message in messages.items() if message.got]
    return _in_order(sorted(got, key=lambda one: float(one[1].got[0]["at"])))


def _in_order(delivered: Sequence[tuple[str, _Message]]) -> list[Fault]:
    """That the messages of each producer came first in the order in which it sent them."""
    faults = []
    last: dict[str, int] = {}
    for name, _ in delivered:
        producer, _, number = name.partition("-")
        if int(number) < last.get(producer, -1):
            faults.append(Fault(name, f"came after {producer}-{last[producer]}, which was sent later"))
        last[producer] = max(int(number), last.get(producer, -1))
    return faults
