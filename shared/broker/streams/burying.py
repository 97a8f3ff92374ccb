"""Runs whose leases have run out: read again, and what is past its last delivery set aside."""

from dataclasses import replace

from broker import keys
from broker.ids import Clock
from broker.queues.queue import Queue
from broker.streams.consumer import REDRIVEN, Consumer, new_rev, read_consumer
from broker.streams.figures import count
from broker.streams.letters import Letters
from broker.streams.redriven import Redriven
from broker.streams.stored import Stored, read_stored, weigh
from edge import ConditionFailed, EdgeTable, StateTable, TransactionRefused

_RUN_WEIGHT = 16 * 1024 * 1024


class Burying:
    """Sets aside what a consumer has let run out too often; whoever meets it first, consume or schedule."""

    def __init__(
        self, *, state: StateTable, edges: EdgeTable, letters: Letters, redriven: Redriven, clock: Clock
    ) -> None:
        self._state = state
        self._edges = edges
        self._letters = letters
        self._redriven = redriven
        self._clock = clock

    def read_run(self, queue: Queue, consumer: Consumer) -> dict[int, Stored]:
        """The messages of a run that are not settled, by slot; those that are gone are missing. One query."""
        pending = consumer.pending()
        if not pending:
            return {}
        if consumer.partition == REDRIVEN:
            source = keys.redriven(queue.queue_id, client_id=consumer.client_id)
        else:
            source = keys.stream(queue.queue_id, partition=consumer.partition)
        first, last = pending[0][1].number, pending[-1][1].number
        page = self._edges.scan(source, after=first - 1, until=last, limit=1000, max_weight=_RUN_WEIGHT, weigh=weigh)
        found = {
            (edge.seq, edge.id if consumer.partition == REDRIVEN else ""): read_stored(edge) for edge in page.edges
        }
        return {index: found[slot.number, slot.entry] for index, slot in pending if (slot.number, slot.entry) in found}

    def spent(self, queue: Queue, consumer: Consumer, index: int, message: Stored) -> Consumer:
        """Set aside a message that has had all its deliveries; returns the consumer as it then stands.

        Raises:
            ConditionFailed: The consumer has changed since it was read; nothing was done.
        """
        slot = consumer.slots[index]
        rev = new_rev()
        changed = consumer.with_slot(index, replace(slot, state="spent", detail=b""))
        row = changed.row(queue.queue_id, rev=rev)
        letter = self._letters.operations(
            queue,
            message,
            client_id=consumer.client_id,
            reason="max_deliveries",
            detail=self._letters.open_detail(
                slot.detail, queue=queue, client_id=consumer.client_id, message_id=slot.message_id
            ),
            failed_at=self._clock(),
            deliveries=slot.deliveries,
        )
        written = self._state.put_operation(row, condition="#rev = :rev", values={"rev": consumer.rev})
        try:
            self._state.transact([written, *letter])
        except TransactionRefused as refusal:
            raise refusal.failures[0] or ConditionFailed(old=None) from refusal
        count(queue, "DeadLettered")
        count(queue, "ExpiredLeases", slot.state == "leased")
        return read_consumer(row)
