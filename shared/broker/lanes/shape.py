"""What both kinds of lanes do, each in its own way; see `alone` and `shared`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from broker.lanes.messages import Candidate, Draft, Guard, Message
from broker.queues.queue import Queue
from edge import Operation, Row, Value


class LaneChanged(Exception):
    """The guard of a write does not hold any more; nothing was written.

    Attributes:
        old: The lane's row as it stands, None when there is none.
        maybe_done: An earlier attempt of this very write may have been the change.
    """

    def __init__(self, old: Row | None, *, maybe_done: bool = False) -> None:
        super().__init__("the lane has changed")
        self.old = old
        self.maybe_done = maybe_done


class AlongsideRefused(Exception):
    """A condition of an operation that was to go along did not hold; nothing was stored or removed.

    Attributes:
        index: Which one.
        announced: The number that a message to be stored has been given; to be used by the next attempt.
    """

    def __init__(self, index: int, *, announced: int | None = None) -> None:
        super().__init__(f"operation {index} that was to go along was refused")
        self.index = index
        self.announced = announced


class KeyTaken(Exception):
    """Another message holds the primary key; nothing was stored.

    Attributes:
        holder: That message, as far as the row tells.
        seen: The rank of its lane, None when the row does not tell.
    """

    def __init__(self, holder: Message, *, seen: str | None) -> None:
        super().__init__("the primary key is taken")
        self.holder = holder
        self.seen = seen


Fate: TypeAlias = Literal["leased", "exhausted", "expired", "lost", "empty"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of taking a lane.

    Attributes:
        fate: `leased`: the message is ours. `exhausted`, `expired`: it must be set aside or dropped first. `lost`:
            somebody else was quicker. `empty`: nothing is there.
        message: The message, when it is leased, else the deliveries it has had with it; None when lost or empty.
    """

    fate: Fate
    message: Message | None = None


class Shape(Protocol):
    """A kind of lanes."""

    def find(self, queue: Queue, draft: Draft, *, now: int) -> tuple[Message, str | None] | None:
        """The living message that holds a draft's primary key, and its rank if that is known without a further read."""

    def store(self, queue: Queue, draft: Draft, *, body: dict[str, Value], now: int) -> int | None:
        """Put a message into its lane, durable when this returns.

        Returns None, or when an earlier attempt has published the message under the same id, which stands.

        Raises:
            KeyTaken: Another message holds the primary key.
            AlongsideRefused: One of `draft.alongside` was refused.
        """

    def retract(self, queue: Queue, draft: Draft, *, announced: int | None) -> None:
        """Give up on a message that `store` has numbered and not stored."""

    def take(self, queue: Queue, candidate: Candidate, *, lease: str, now: int, until: int) -> Attempt:
        """Lease the next message of a lane, on the condition that the lane is as it was seen."""

    def front(self, queue: Queue, candidate: Candidate, *, most: int) -> list[Message]:
        """The first messages of a lane in order, with the deliveries they have had; none if the lane has changed."""

    def whole(self, queue: Queue, message: Message) -> Message | None:
        """A delivered message with its body, None when it has left."""

    def removal(self, queue: Queue, message: Message, *, guard: Guard) -> list[Operation]:
        """What removes the first message of a lane, to go along with another transaction.

        `message.pending` must be right. The guard is a condition of the first operation.
        """

    def take_out(
        self, queue: Queue, messages: Sequence[Message], *, guard: Guard, alongside: Sequence[Operation] = ()
    ) -> None:
        """Remove the first messages of one lane, free their primary keys, and release the lane.

        Raises:
            LaneChanged: The guard does not hold.
            AlongsideRefused: One of `alongside` was refused.
        """
