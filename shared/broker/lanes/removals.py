"""Taking messages out of shared lanes: edge, primary key and the lane's own row in one transaction."""

import secrets
from collections.abc import Sequence

from broker import keys
from broker.ids import Clock
from broker.lanes import ranks
from broker.lanes.messages import Guard, Message
from broker.lanes.shape import AlongsideRefused, LaneChanged
from broker.queues.primarykeys import PrimaryKeys
from broker.queues.queue import Queue
from edge import ConditionFailed, EdgeTable, Operation, Position, Row, StateTable, TransactionRefused

_HEAD = "REMOVE #lease, #until, #settled, #message_id, #published_at, #deliveries"


class Removals:
    """Removes messages that share a lane."""

    def __init__(self, *, state: StateTable, edges: EdgeTable, primary_keys: PrimaryKeys, clock: Clock) -> None:
        self._state = state
        self._edges = edges
        self._keys = primary_keys
        self._clock = clock

    def take_out(
        self, queue: Queue, messages: Sequence[Message], *, guard: Guard, alongside: Sequence[Operation] = ()
    ) -> None:
        """See `Shape`."""
        source = keys.lane_source(queue.queue_id, lane=messages[0].lane.sk)
        taken = [self._edges.delete_operation(source, Position(one.n, one.message_id)) for one in messages]
        frees = {
            one.primary: self._keys.release_operation(queue.queue_id, one.primary, message_id=one.message_id)
            for one in messages
            if one.primary is not None
        }
        emptied = 0 < messages[-1].pending <= len(messages)
        while True:
            release = self._release(messages, guard=guard, emptied=emptied)
            try:
                self._state.transact([*alongside, release, *taken, *frees.values()])
            except TransactionRefused as refusal:
                index = refusal.first
                failure = refusal.failures[index] or ConditionFailed()
                if index < len(alongside):
                    raise AlongsideRefused(index) from refusal
                if index > len(alongside):
                    # Another message holds the key by now, having taken it over when this one expired.
                    frees.pop(list(frees)[index - len(alongside) - 1 - len(taken)])
                    continue
                old = None if failure.old is None else dict(failure.old)
                if old is None or not guard.holds(old):
                    raise LaneChanged(old) from refusal
                emptied = not emptied
            else:
                return

    def removal(self, queue: Queue, message: Message, *, guard: Guard) -> list[Operation]:
        """See `Shape`."""
        release = self._release([message], guard=guard, emptied=message.pending == 1)
        return [release, *self._taken(queue, message)]

    def removal_behind(self, queue: Queue, message: Message, *, seen: str) -> list[Operation]:
        """What removes a message that waits behind one in flight; refused first when the lane has changed."""
        skip = self._state.update_operation(
            message.lane.pk,
            message.lane.sk,
            "ADD #pending :less REMOVE #next_rank",
            values={"less": -1, "seen": seen},
            condition="#rank = :seen",
        )
        return [skip, *self._taken(queue, message)]

    def _taken(self, queue: Queue, message: Message) -> list[Operation]:
        source = keys.lane_source(queue.queue_id, lane=message.lane.sk)
        position = Position(message.n, message.message_id)
        operations = [self._edges.delete_operation(source, position, must_exist=True)]
        if message.primary is not None:
            operations.append(
                self._keys.release_operation(queue.queue_id, message.primary, message_id=message.message_id)
            )
        return operations

    def _release(self, messages: Sequence[Message], *, guard: Guard, emptied: bool) -> Operation:
        """The part of a removal that concerns the lane's row: it goes, or takes the rank of what follows."""
        lane, last = messages[0].lane, messages[-1]
        values: Row = {**guard.values, "count": len(messages)}
        if emptied:
            condition = f"{guard.condition} AND #pending <= :count"
            return self._state.delete_operation(lane.pk, lane.sk, condition=condition, values=values)
        values["less"] = -len(messages)
        following = "if_not_exists(#next_rank, :next)" if last.following is None else ":next"
        # What follows is not known when it came later: then it is as old as this moment, under a name of its own.
        unknown = ranks.ready(self._clock(), message_id=secrets.token_hex(8)).text()
        values["next"] = last.following or unknown
        return self._state.update_operation(
            lane.pk,
            lane.sk,
            f"SET #rank = {following} {_HEAD}, #next_rank ADD #pending :less",
            values=values,
            condition=f"{guard.condition} AND #pending > :count",
        )
