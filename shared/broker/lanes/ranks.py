"""The rank of a lane: when it is next due, and in what state, as text in the order of time.

The index hands out nothing but keys, so that looking for work stays cheap; all that a consumer decides by is in the
rank. No rank comes back once it was left, unless with it comes exactly the state it stood for: a consumer may read a
rank, think, and write on the condition that it still stands.
"""

import secrets
from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["R", "L", "D", "W"]
"""Ready; leased; delayed after a nack; waiting for the message that was announced."""

SKEW_SECONDS = 5
"""How far the clocks of two machines may differ before a fresh message is seen late."""


@dataclass(frozen=True, slots=True)
class Rank:
    """What a rank says.

    Attributes:
        due: The moment at which the lane may be taken: for a ready one when its message was published, in the past.
        n: The number in its lane of the message that `deliveries` counts.
        message_id: That message; for a lane that has not delivered yet, a name that begins with the one it became ready
            with.
        deliveries: How often that message was delivered.
        state: The lane's state.
    """

    due: int
    n: int
    message_id: str
    deliveries: int
    state: State

    def text(self) -> str:
        """As it is stored."""
        return f"{self.due:015d}#{self.message_id}#{self.n:012d}#{self.deliveries:05d}#{self.state}"

    def is_due(self, now: int) -> bool:
        """Whether the lane may be taken. What is ready is so whatever the publisher's clock said."""
        return self.state == "R" or self.due <= now

    def in_flight(self, now: int) -> bool:
        """Whether a lease holds it."""
        return self.state == "L" and self.due > now

    def status(self, now: int) -> str:
        """As callers see the status of a message."""
        if self.due <= now or self.state == "R":
            return "ready"
        return {"L": "leased", "D": "delayed"}.get(self.state, "ready")


def parse(text: str) -> Rank:
    """A rank from its text."""
    due, message_id, n, deliveries, state = text.split("#")
    return Rank(int(due), int(n), message_id, int(deliveries), state)  # type: ignore[arg-type]  # only states are written


def ready(published_at: int, *, message_id: str) -> Rank:
    """The rank of a lane whose next message has not been delivered yet."""
    return Rank(max(0, published_at), 0, message_id, 0, "R")


def following(published_at: int, *, message_id: str) -> Rank:
    """The rank for a lane that gets this message to its front, under a name of its own each time.

    The front may be another message after all, whose publisher was slow; then this one gets to the front once more.
    """
    return ready(published_at, message_id=f"{message_id}{secrets.token_hex(4)}")


def up_to(moment: int) -> str:
    """An upper bound: every rank due at or before the moment is below it."""
    return f"{max(0, moment):015d}#~"


def since(moment: int) -> str:
    """A lower bound: every rank due at or after the moment is above it."""
    return f"{max(0, moment):015d}#"
