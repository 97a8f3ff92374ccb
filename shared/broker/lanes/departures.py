"""How messages leave a queue without being acked: set aside as dead letters, or dropped."""

import itertools
from collections.abc import Callable, Sequence

from broker import metrics
from broker.lanes.messages import Candidate, Guard, Message, unchanged
from broker.lanes.shape import AlongsideRefused, LaneChanged, Shape
from broker.lanes.traces import Traces, Way
from broker.queues.contents import Contents
from broker.queues.deadletters import DeadLetters
from broker.queues.depth import Depth
from broker.queues.letters import DeadLetter, Reason
from broker.queues.queue import Queue, limit_of, settings_of
from broker.queues.settings import OneToOneSettings
from edge import Operation

CLEAR_MOST = 20
"""Messages that one transaction removes from a lane: with dead letters, keys and a trace 82 operations of 100."""


class Departures:
    """Takes messages out of their lane, and does what follows from that."""

    def __init__(self, *, letters: DeadLetters, traces: Traces, contents: Contents, depth: Depth) -> None:
        self._letters = letters
        self._traces = traces
        self._contents = contents
        self._depth = depth

    def clear(
        self,
        queue: Queue,
        candidate: Candidate,
        *,
        shape: Shape,
        which: Callable[[Message], bool],
        expired: bool,
        now: int,
    ) -> int:
        """Remove the first messages of a lane, as far as they are of a kind; returns how many went.

        Args:
            queue: The queue.
            candidate: The lane; nothing goes when it has changed.
            shape: The queue's kind of lanes.
            which: Whether a message goes. The first that does not keeps all behind it.
            expired: They go because they have expired, and so may become dead letters; else they are purged.
            now: The time.
        """
        front = shape.front(queue, candidate, most=CLEAR_MOST)
        gone = list(itertools.takewhile(which, front))
        if not gone:
            return 0
        guard = unchanged(candidate.seen)
        if expired:
            done = self.expire(queue, gone, shape=shape, guard=guard, now=now)
        else:
            done = self._drop(queue, gone, shape=shape, guard=guard, way="purged", now=now)
        return len(gone) if done else 0

    def expire(self, queue: Queue, messages: Sequence[Message], *, shape: Shape, guard: Guard, now: int) -> bool:
        """Remove messages past the age limit; False when the lane has changed."""
        if settings_of(queue, OneToOneSettings).expired_to_dead_letters:
            return self.set_aside(queue, messages, reason="expired", shape=shape, guard=guard, now=now)
        return self._drop(queue, messages, shape=shape, guard=guard, way="dropped", now=now)

    def make_room(self, queue: Queue, message: Message, *, removal: Sequence[Operation], now: int) -> list[Operation]:
        """All that belongs to the removal of a message that makes room for another."""
        return [*removal, *self._traces.operations(queue, [message], way="dropped", now=now)]

    def _drop(
        self, queue: Queue, messages: Sequence[Message], *, shape: Shape, guard: Guard, way: Way, now: int
    ) -> bool:
        """Remove messages for good; False when the lane has changed."""
        try:
            traces = self._traces.operations(queue, messages, way=way, now=now)
            shape.take_out(queue, messages, guard=guard, alongside=traces)
        except LaneChanged:
            return False
        self.settled(queue, messages)
        return True

    def set_aside(
        self,
        queue: Queue,
        messages: Sequence[Message],
        *,
        reason: Reason,
        shape: Shape,
        guard: Guard,
        now: int,
        detail: str = "",
        lease: str = "",
    ) -> bool:
        """Make dead letters of the first messages of a lane, each once; False when the lane has changed.

        Args:
            queue: The queue.
            messages: The messages, their deliveries those they have had.
            reason: Why.
            shape: The queue's kind of lanes.
            guard: What must hold of the lane.
            now: The time.
            detail: What there is to say beside it.
            lease: The lease that gives the message up.
        """
        operations: dict[int, list[Operation]] = {}
        for index, message in enumerate(messages):
            letter = DeadLetter(
                entry_id=message.message_id,
                message_id=message.message_id,
                reason=reason,
                detail=detail,
                failed_at=now,
                deliveries=message.deliveries,
                published_at=message.published_at,
                body=message.body,
            )
            operations[index] = self._letters.entry_operations(queue.queue_id, letter, tenant_id=queue.tenant_id)
            operations[index] += self._traces.operations(queue, [message], way="dead", now=now, lease=lease)
        while True:
            alongside = [operation for several in operations.values() for operation in several]
            try:
                shape.take_out(queue, messages, guard=guard, alongside=alongside)
            except LaneChanged:
                return False
            except AlongsideRefused as refusal:
                # It is a dead letter already: published again under its old id, by a request carried out twice.
                known = next(index for index, several in operations.items() if alongside[refusal.index] in several)
                del operations[known]
            else:
                self._release(queue, len(messages))
                _count(queue, "DeadLettered", len(messages))
                return True

    def settled(self, queue: Queue, messages: Sequence[Message]) -> None:
        """What is to be done after messages have left for good: their objects go, and their room is free."""
        self._release(queue, len(messages))
        self._contents.discard([message.body for message in messages])

    def _release(self, queue: Queue, amount: int) -> None:
        if limit_of(queue) is not None:
            self._depth.release(queue.queue_id, amount=amount)


def _count(queue: Queue, name: str, value: float) -> None:
    metrics.count(name, value, kind=queue.type, tenant_id=queue.tenant_id, queue_id=queue.queue_id)
