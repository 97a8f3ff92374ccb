"""Ack, nack, extend: one conditional write each on the consumer's row, without reading it first."""

from collections.abc import Mapping

from broker import keys
from broker.errors import Conflict
from broker.ids import Clock
from broker.queues.models import NackRequest, SettledNack
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToManySettings
from broker.streams.consumer import new_rev
from broker.streams.leases import Lease, Leases, Wish, judge
from broker.streams.letters import Letters
from broker.streams.redriven import Redriven
from broker.streams.stored import Stored, read_stored
from edge import ConditionFailed, EdgeTable, Operation, Row, StateTable, TransactionRefused, Value


class Settling:
    """Settles messages that a consumer holds."""

    def __init__(
        self,
        *,
        state: StateTable,
        edges: EdgeTable,
        leases: Leases,
        letters: Letters,
        redriven: Redriven,
        clock: Clock,
    ) -> None:
        self._state = state
        self._edges = edges
        self._leases = leases
        self._letters = letters
        self._redriven = redriven
        self._clock = clock

    def ack(self, queue: Queue, message_id: str, token: str, *, client_id: str) -> None:
        """Settle a message of a consumer for good. One call."""
        lease = self._leases.open(queue, token, client_id=client_id, message_id=message_id)
        self._change(queue, lease, "acked", {"state": "acked"}, client_id=client_id)

    def nack(
        self, queue: Queue, message_id: str, request: NackRequest | SettledNack, token: str, *, client_id: str
    ) -> None:
        """Give a message back, for the same consumer to get it again, or, after its last delivery, never.

        One call; three where it goes to the dead letters.
        """
        lease = self._leases.open(queue, token, client_id=client_id, message_id=message_id)
        settings = settings_of(queue, OneToManySettings)
        reason = request.reason if isinstance(request, NackRequest) else None
        rejected = isinstance(request, NackRequest) and request.dead_letter
        if rejected or lease.deliveries >= settings.max_deliveries:
            self._bury(queue, lease, reason or "", rejected=rejected, client_id=client_id)
            return
        delay = settings.retry_delay_seconds if request.delay_seconds is None else request.delay_seconds
        changes: dict[str, Value] = {"state": "nacked", "until": self._clock() + delay * 1000}
        if reason:
            changes["detail"] = self._letters.seal_detail(
                reason, queue=queue, client_id=client_id, message_id=message_id
            )
        self._change(queue, lease, "nacked", changes, client_id=client_id)

    def extend(self, queue: Queue, message_id: str, token: str, *, seconds: int, client_id: str) -> int:
        """Let a lease end so long from now; returns when that is. One call."""
        lease = self._leases.open(queue, token, client_id=client_id, message_id=message_id)
        until = self._clock() + seconds * 1000
        self._change(queue, lease, "extended", {"until": until}, client_id=client_id)
        return until

    def _change(self, queue: Queue, lease: Lease, wish: Wish, changes: Mapping[str, Value], *, client_id: str) -> None:
        now = self._clock()
        rev = new_rev()
        expression, values = _expression(lease, changes, now=now, rev=rev)
        try:
            self._state.update(
                keys.queue(queue.queue_id),
                keys.consumer(client_id),
                expression,
                values=values,
                condition=lease.held,
                done_if={"rev": rev},
            )
        except ConditionFailed as failure:
            judge(failure.old, lease, wish=wish, now=now)

    def _bury(self, queue: Queue, lease: Lease, reason: str, *, rejected: bool, client_id: str) -> None:
        now = self._clock()
        message = self._read(queue, lease, client_id=client_id)
        # A message that has left the queue meanwhile has nothing left to be kept.
        expression, values = _expression(lease, {"state": "dead"}, now=now, rev=new_rev())
        settled = self._state.update_operation(
            keys.queue(queue.queue_id),
            keys.consumer(client_id),
            expression,
            values=values,
            condition=lease.held,
        )
        letter: list[Operation] = []
        if message is not None:
            letter = self._letters.operations(
                queue,
                message,
                client_id=client_id,
                reason="rejected" if rejected else "max_deliveries",
                detail=reason,
                failed_at=now,
                deliveries=lease.deliveries,
            )
        try:
            self._state.transact([settled, *letter])
        except TransactionRefused as refusal:
            failure = refusal.failures[0]
            if failure is None:
                raise Conflict from refusal
            judge(failure.old, lease, wish="nacked", now=now)

    def _read(self, queue: Queue, lease: Lease, *, client_id: str) -> Stored | None:
        if lease.entry:
            return self._redriven.read(queue.queue_id, client_id=client_id, at=lease.number, entry=lease.entry)
        source = keys.stream(queue.queue_id, partition=lease.partition)
        page = self._edges.scan(source, after=lease.number - 1, until=lease.number, limit=1)
        return next((read_stored(edge) for edge in page.edges), None)


def _expression(lease: Lease, changes: Mapping[str, Value], *, now: int, rev: str) -> tuple[str, Row]:
    assignments = [f"#{lease.slot}.#{name} = :{name}" for name in changes]
    values: Row = {"rev": rev, "now": now, "lease": lease.lease, "leased": "leased", **changes}
    return f"SET {', '.join(assignments)}, #rev = :rev, #seen_at = :now", values
