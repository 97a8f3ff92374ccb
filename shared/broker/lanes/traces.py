"""What became of messages that were delivered, so that late calls about them are answered rightly, for two days.

A message that left with its first delivery, by that delivery's ack, leaves no trace: where there is none, that is what
happened. Every other way out of a queue leaves one, if the message was ever delivered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from broker import keys
from broker.lanes.messages import Message
from broker.queues.queue import Queue
from edge import Operation, Row, StateTable

KEPT_SECONDS = 2 * 86_400

Way: TypeAlias = Literal["acked", "dead", "dropped", "purged"]
"""How a message left."""


@dataclass(frozen=True, slots=True)
class Trace:
    """How a message left.

    Attributes:
        way: In which way.
        lease: By which lease, empty when by none.
        deliveries: At which delivery.
        at: When.
    """

    way: Way
    lease: str
    deliveries: int
    at: int


class Traces:
    """The traces of all to-one queues."""

    def __init__(self, *, state: StateTable) -> None:
        self._state = state

    def operations(
        self, queue: Queue, messages: Sequence[Message], *, way: Way, now: int, lease: str = ""
    ) -> list[Operation]:
        """For the transaction that takes messages out: none for those that need no trace."""
        least = 2 if way == "acked" else 1
        return [
            self._state.put_operation(self._row(queue, message, way=way, now=now, lease=lease))
            for message in messages
            if message.deliveries >= least
        ]

    def find(self, queue: Queue, message: Message) -> Trace | None:
        """How a message left; None when by the ack of its first delivery, or when it was never there.

        A dead letter may be redriven, under the same id: what was before that is nothing to later deliveries.
        """
        row = self._state.get(keys.settled(queue.queue_id, message_id=message.message_id), keys.SETTLED)
        if row is None:
            return None
        way: Way = row["way"]  # type: ignore[assignment]  # as `operations` writes it
        trace = Trace(way, str(row["lease"]), int(str(row["deliveries"])), int(str(row["at"])))
        return None if way == "dead" and message.published_at > trace.at else trace

    def _row(self, queue: Queue, message: Message, *, way: Way, now: int, lease: str) -> Row:
        return {
            "pk": keys.settled(queue.queue_id, message_id=message.message_id),
            "sk": keys.SETTLED,
            "way": way,
            "lease": lease,
            "deliveries": message.deliveries,
            "at": now,
            "ttl": now // 1000 + KEPT_SECONDS,
        }
