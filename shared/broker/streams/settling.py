"""Ack, nack, extend: one conditional write each on the consumer's row, without reading it first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from broker import keys
from broker.errors import BrokerError, Conflict, NotFound
from broker.failures import FAILURES, told
from broker.ids import Clock
from broker.queues.models import NackRequest, SettledAck, SettledNack, SettleRequest
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToManySettings
from broker.streams.consumer import new_rev
from broker.streams.figures import count
from broker.streams.leases import Lease, Leases, Wish, judge
from broker.streams.letters import Letters
from broker.streams.redriven import Redriven
from broker.streams.stored import Stored, read_stored
from edge import ConditionFailed, EdgeTable, Operation, Row, StateTable, TransactionRefused, Value


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of one slot, as long as its lease holds."""

    lease: Lease
    wish: Wish
    members: Mapping[str, Value]


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
        self._change(queue, Change(lease, "acked", {"state": "acked"}), client_id=client_id)

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
        change = self._given_back(queue, lease, request.delay_seconds)
        if reason:
            detail = self._letters.seal_detail(reason, queue=queue, client_id=client_id, message_id=message_id)
            change = replace(change, members={**change.members, "detail": detail})
        self._change(queue, change, client_id=client_id)

    def settle(self, queue: Queue, request: SettleRequest, *, client_id: str) -> list[BrokerError | None]:
        """Acks and nacks, what refuses each, acks first, in order. One call for those of a run, if all hold."""
        entries: list[tuple[SettledAck | SettledNack, bool]] = [(ack, True) for ack in request.acks]
        entries += [(nack, False) for nack in request.nacks]
        together = self._together(queue, entries, client_id=client_id)
        done = len(together) > 1 and self._write(queue, list(together.values()), client_id=client_id) is None
        outcomes: list[BrokerError | None] = []
        for index, (entry, ack) in enumerate(entries):
            outcome: BrokerError | None = None
            if not (done and index in together):
                try:
                    if ack or not isinstance(entry, SettledNack):
                        self.ack(queue, entry.message_id, entry.lease_id, client_id=client_id)
                    else:
                        self.nack(queue, entry.message_id, entry, entry.lease_id, client_id=client_id)
                except FAILURES as error:
                    outcome = told(error)
            outcomes.append(outcome)
        return outcomes

    def extend(self, queue: Queue, message_id: str, token: str, *, seconds: int, client_id: str) -> int:
        """Let a lease end so long from now; returns when that is. One call."""
        lease = self._leases.open(queue, token, client_id=client_id, message_id=message_id)
        until = self._clock() + seconds * 1000
        self._change(queue, Change(lease, "extended", {"until": until}), client_id=client_id)
        return until

    def _given_back(self, queue: Queue, lease: Lease, delay_seconds: int | None) -> Change:
        settings = settings_of(queue, OneToManySettings)
        delay = settings.retry_delay_seconds if delay_seconds is None else delay_seconds
        return Change(lease, "nacked", {"state": "nacked", "until": self._clock() + delay * 1000})

    def _together(
        self, queue: Queue, entries: Sequence[tuple[SettledAck | SettledNack, bool]], *, client_id: str
    ) -> dict[int, Change]:
        """The changes, by entry, that one write can make: of one delivery, one for each slot, none to be buried."""
        changes: dict[int, Change] = {}
        slots: set[int] = set()
        most = settings_of(queue, OneToManySettings).max_deliveries
        for index, (entry, ack) in enumerate(entries):
            try:
                lease = self._leases.open(queue, entry.lease_id, client_id=client_id, message_id=entry.message_id)
            except NotFound:
                continue
            first = next(iter(changes.values()), None)
            if lease.index in slots or (first is not None and first.lease.lease != lease.lease):
                continue
            if ack:
                changes[index] = Change(lease, "acked", {"state": "acked"})
            elif isinstance(entry, SettledNack) and lease.deliveries < most:
                changes[index] = self._given_back(queue, lease, entry.delay_seconds)
            slots.add(lease.index)
        return changes

    def _change(self, queue: Queue, change: Change, *, client_id: str) -> None:
        now = self._clock()
        failure = self._write(queue, [change], client_id=client_id)
        if failure is not None:
            judge(failure.old, change.lease, wish=change.wish, now=now)

    def _write(self, queue: Queue, changes: Sequence[Change], *, client_id: str) -> ConditionFailed | None:
        """Make all changes, or none and say why."""
        rev = new_rev()
        expression, condition, values = _expressions(changes, now=self._clock(), rev=rev)
        try:
            self._state.update(
                keys.queue(queue.queue_id),
                keys.consumer(client_id),
                expression,
                values=values,
                condition=condition,
                done_if={"rev": rev},
            )
        except ConditionFailed as failure:
            return failure
        for change in changes:
            count(queue, change.wish.title())
        return None

    def _bury(self, queue: Queue, lease: Lease, reason: str, *, rejected: bool, client_id: str) -> None:
        now = self._clock()
        message = self._read(queue, lease, client_id=client_id)
        # A message that has left the queue meanwhile has nothing left to be kept.
        change = Change(lease, "nacked", {"state": "dead"})
        expression, condition, values = _expressions([change], now=now, rev=new_rev())
        settled = self._state.update_operation(
            keys.queue(queue.queue_id),
            keys.consumer(client_id),
            expression,
            values=values,
            condition=condition,
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
        else:
            count(queue, "Nacked")
            count(queue, "DeadLettered", message is not None)

    def _read(self, queue: Queue, lease: Lease, *, client_id: str) -> Stored | None:
        if lease.entry:
            return self._redriven.read(queue.queue_id, client_id=client_id, at=lease.number, entry=lease.entry)
        source = keys.stream(queue.queue_id, partition=lease.partition)
        page = self._edges.scan(source, after=lease.number - 1, until=lease.number, limit=1)
        return next((read_stored(edge) for edge in page.edges), None)


def _expressions(changes: Sequence[Change], *, now: int, rev: str) -> tuple[str, str, Row]:
    """Update and condition of changes of one delivery, with their values."""
    values: Row = {"rev": rev, "now": now, "lease": changes[0].lease.lease, "leased": "leased"}
    assignments = []
    for number, change in enumerate(changes):
        for name, value in change.members.items():
            assignments.append(f"#{change.lease.slot}.#{name} = :{name}{number}")
            values[f"{name}{number}"] = value
    condition = " AND ".join(change.lease.held for change in changes)
    return f"SET {', '.join(assignments)}, #rev = :rev, #seen_at = :now", condition, values
