"""Who holds a key of a stream's message: the message that has it, as long as it has not left.

That a message has left is not written to its keys. It follows from the floor of its partition, and from its age, so
that all its keys are free at the same moment for everybody.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from broker import keys
from broker.ids import Clock
from broker.queues.primarykeys import Holder, PrimaryKeys, holder_of
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToManySettings
from broker.streams.stored import cutoff
from broker.streams.tail import read_tail
from edge import ConditionFailed, Operation, StateTable
from edge.threads import side_by_side

_PLACE = re.compile(r"(\d+)/(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Claim:
    """A key that a message wants, and who has it.

    Attributes:
        digest: The key.
        holder: Who is written there, None for nobody.
        living: Whether that message is still in the queue.
    """

    digest: str
    holder: Holder | None
    living: bool

    @property
    def stored(self) -> bool:
        """Whether the holder is in the stream, and not waiting for something first."""
        return self.holder is not None and _PLACE.fullmatch(self.holder.place) is not None

    @property
    def status(self) -> str:
        """How the holder's message is: `queued` for all consumers, or `pending`, waiting for its item."""
        return "queued" if self.stored else "pending"


def place(partition: int, number: int) -> str:
    """Where a message is, as its keys hold it."""
    return f"{partition}/{number}"


class Holders:
    """The keys of all streams."""

    def __init__(self, *, state: StateTable, primary_keys: PrimaryKeys, clock: Clock) -> None:
        self._state = state
        self._primary_keys = primary_keys
        self._clock = clock

    def find_all(self, queue: Queue, wanted: Sequence[Sequence[str]]) -> list[list[Claim]]:
        """Who holds the keys of several messages; one read, and another where some are held."""
        digests = list(dict.fromkeys(digest for some in wanted for digest in some))
        if not digests:
            return [[] for _ in wanted]
        rows = self._state.get_many([(keys.primary_key(queue.queue_id, digest=digest), keys.KEY) for digest in digests])
        holders = {
            digest: holder_of(row, cutoff=None) for digest, row in zip(digests, rows, strict=True) if row is not None
        }
        floors = self._floors(queue, [holder for holder in holders.values() if holder is not None])
        age = settings_of(queue, OneToManySettings).max_message_age_seconds
        expired = cutoff(self._clock(), age_seconds=age)

        def claim(digest: str) -> Claim:
            holder = holders.get(digest)
            if holder is None:
                return Claim(digest, None, living=False)
            at = _PLACE.fullmatch(holder.place)
            left = at is not None and int(at[2]) <= floors[int(at[1])]
            return Claim(digest, holder, living=not left and (expired is None or holder.published_at > expired))

        return [[claim(digest) for digest in some] for some in wanted]

    def hold_operation(self, queue: Queue, claim: Claim, *, holder: Holder) -> Operation:
        """Take a key that was found free; refuses the transaction when that is not so any more."""
        return self._primary_keys.hold_operation(
            queue.queue_id, claim.digest, holder=holder, cutoff=None, displaced=claim.holder
        )

    def release(self, queue_id: str, held: Sequence[tuple[str, str]]) -> None:
        """Remove the rows of keys whose messages have left, given as digest and message id."""

        def remove(claim: tuple[str, str]) -> None:
            digest, message_id = claim
            try:
                self._state.delete(
                    keys.primary_key(queue_id, digest=digest),
                    keys.KEY,
                    condition="attribute_not_exists(#pk) OR #message_id = :message_id",
                    values={"message_id": message_id},
                )
            except ConditionFailed:
                return

        side_by_side(remove, held)

    def _floors(self, queue: Queue, holders: Sequence[Holder]) -> dict[int, int]:
        found = {int(match[1]) for holder in holders if (match := _PLACE.fullmatch(holder.place))}
        partitions = sorted(found)
        rows = self._state.get_many(
            [(keys.stream(queue.queue_id, partition=number), keys.TAIL) for number in partitions]
        )
        return {number: read_tail(row).floor for number, row in zip(partitions, rows, strict=True)}
