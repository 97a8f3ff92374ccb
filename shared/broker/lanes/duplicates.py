"""Whether a message is in the queue already, or another one under its primary key."""

from broker.errors import DuplicateKey, NotFound
from broker.ids import Clock
from broker.lanes import ranks
from broker.lanes.messages import Draft, Message, shares_lanes
from broker.lanes.shape import Shape
from broker.queues.kinds import Published
from broker.queues.primarykeys import PENDING
from broker.queues.queue import Queue
from edge import StateTable


class Duplicates:
    """Looks for the holders of primary keys."""

    def __init__(self, *, state: StateTable, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def find(self, queue: Queue, draft: Draft, *, shape: Shape) -> Published | None:
        """The message itself, where an earlier attempt has stored it.

        Raises:
            DuplicateKey: Another message has its primary key.
            NotFound: It was to be moved here from elsewhere, and somebody has.
        """
        now = self._clock()
        found = shape.find(queue, draft, now=now)
        if found is None:
            return None
        holder, seen = found
        if holder.message_id == draft.message_id and draft.alongside:
            raise NotFound("It has been redriven or deleted already.")
        if holder.message_id == draft.message_id:
            return Published(draft.message_id, "queued", holder.published_at)
        raise self.refusal(queue, holder, seen, now=now)

    def refusal(self, queue: Queue, holder: Message, seen: str | None, *, now: int) -> DuplicateKey:
        """What is said of another message that holds the key; `seen` is its lane's rank, if that is known."""
        if seen is None and shares_lanes(queue) and holder.lane.sk != PENDING:
            row = self._state.get(holder.lane.pk, holder.lane.sk)
            first = row is not None and row.get("message_id") == holder.message_id
            status = ranks.parse(str(row["rank"])).status(now) if row is not None and first else "ready"
        else:
            status = "pending" if seen is None else ranks.parse(seen).status(now)
        return DuplicateKey(message_id=holder.message_id, message_status=status)
