"""Ending leases: ack, nack, extend; and saying of a lease that does not hold what became of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

from broker import metrics
from broker.errors import AutoAckQueue, BrokerError, LeaseExpired, LeaseLost, NotFound, Throttled, Unavailable
from broker.failures import FAILURES, told
from broker.ids import Clock
from broker.lanes import ranks
from broker.lanes.departures import Departures
from broker.lanes.leases import Lease, Leases
from broker.lanes.messages import held
from broker.lanes.shape import LaneChanged, Shape
from broker.lanes.traces import Traces
from broker.queues.models import (
    ExtendRequest,
    NackRequest,
    SettledAck,
    SettledNack,
    SettleRequest,
    SettleResult,
)
from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToOneSettings
from edge import ConditionFailed, Row, StateTable
from edge.threads import side_by_side

Action: TypeAlias = Literal["ack", "nack", "set aside", "extend"]


class Settling:
    """Settles deliveries."""

    def __init__(
        self,
        *,
        state: StateTable,
        traces: Traces,
        departures: Departures,
        leases: Leases,
        clock: Clock,
    ) -> None:
        self._state = state
        self._traces = traces
        self._departures = departures
        self._leases = leases
        self._clock = clock

    def ack(self, queue: Queue, message_id: str, lease_id: str, *, shape: Shape) -> None:
        """Settle a message for good; the same ack again is fine.

        Raises:
            NotFound: The lease was not given out for this message.
            LeaseExpired: It has run out, and nobody has taken the message since.
            LeaseLost: The message was delivered again, or settled the other way.
        """
        lease = self._leases.open(queue, message_id, lease_id)
        now = self._clock()
        try:
            traces = self._traces.operations(queue, [lease.message], way="acked", now=now, lease=lease.lease)
            shape.take_out(queue, [lease.message], guard=held(lease.lease, now=now), alongside=traces)
        except LaneChanged as changed:
            self._judge(queue, lease, "ack", changed.old, now=now)
            return
        self._departures.settled(queue, [lease.message])
        self._count(queue, "Acked")

    def nack(self, queue: Queue, message_id: str, request: NackRequest, *, shape: Shape) -> None:
        """Give a message back: due again after its delay, or a dead letter when it was the last delivery.

        Raises:
            AutoAckQueue: Nothing is leased here.
            NotFound, LeaseExpired, LeaseLost: As for `ack`.
        """
        settings = settings_of(queue, OneToOneSettings)
        if settings.auto_ack:
            raise AutoAckQueue
        lease = self._leases.open(queue, message_id, request.lease_id)
        if request.dead_letter or lease.message.deliveries >= settings.max_deliveries:
            self._give_up(queue, lease, request, shape=shape)
        else:
            self._give_back(queue, lease, request.delay_seconds)
        self._count(queue, "Nacked")

    def extend(self, queue: Queue, message_id: str, request: ExtendRequest) -> int:
        """Lengthen a lease from now; returns when it then ends.

        Raises:
            NotFound, LeaseExpired, LeaseLost: As for `ack`.
        """
        lease = self._leases.open(queue, message_id, request.lease_id)
        now, message = self._clock(), lease.message
        until = now + request.seconds * 1000
        rank = ranks.Rank(until, message.n, message.message_id, message.deliveries, "L")
        values: Row = {"rank": rank.text(), "new": until}
        try:
            self._update(lease, "SET #rank = :rank, #until = :new", values, now=now, done_if={"until": until})
        except LaneChanged as changed:
            self._judge(queue, lease, "extend", changed.old, now=now)
        return until

    def settle(self, queue: Queue, request: SettleRequest, *, shape: Shape) -> list[SettleResult]:
        """Many acks, then many nacks; one result each, in order."""

        def ack(entry: SettledAck) -> SettleResult:
            return _result(entry.message_id, lambda: self.ack(queue, entry.message_id, entry.lease_id, shape=shape))

        def nack(entry: SettledNack) -> SettleResult:
            request = NackRequest(lease_id=entry.lease_id, delay_seconds=entry.delay_seconds)
            return _result(entry.message_id, lambda: self.nack(queue, entry.message_id, request, shape=shape))

        return side_by_side(ack, request.acks) + side_by_side(nack, request.nacks)

    def _give_back(self, queue: Queue, lease: Lease, delay_seconds: int | None) -> None:
        settings, now, message = settings_of(queue, OneToOneSettings), self._clock(), lease.message
        delay = settings.retry_delay_seconds if delay_seconds is None else delay_seconds
        rank = ranks.Rank(message.published_at, message.n, message.message_id, message.deliveries, "R")
        if delay:
            due = now + delay * 1000
            if settings.max_message_age_seconds is not None:
                # Nothing waits beyond its age: it is looked at when that ends, and goes.
                due = min(due, message.published_at + settings.max_message_age_seconds * 1000)
            rank = replace(rank, due=due, state="D")
        expression = "SET #rank = :rank, #settled = :lease REMOVE #lease, #until"
        try:
            self._update(lease, expression, {"rank": rank.text()}, now=now, done_if={"settled": lease.lease})
        except LaneChanged as changed:
            self._judge(queue, lease, "nack", changed.old, now=now)

    def _give_up(self, queue: Queue, lease: Lease, request: NackRequest, *, shape: Shape) -> None:
        now = self._clock()
        whole = shape.whole(queue, lease.message)
        done = whole is not None and self._departures.set_aside(
            queue,
            [replace(whole, deliveries=lease.message.deliveries)],
            reason="rejected" if request.dead_letter else "max_deliveries",
            detail=request.reason or "",
            shape=shape,
            guard=held(lease.lease, now=now),
            lease=lease.lease,
            now=now,
        )
        if not done:
            lane = lease.message.lane
            self._judge(queue, lease, "set aside", self._state.get(lane.pk, lane.sk), now=now)

    def _update(self, lease: Lease, expression: str, values: Row, *, now: int, done_if: Row) -> None:
        guard, lane = held(lease.lease, now=now), lease.message.lane
        values = {**values, **guard.values}
        try:
            self._state.update(lane.pk, lane.sk, expression, values=values, condition=guard.condition, done_if=done_if)
        except ConditionFailed as failure:
            raise LaneChanged(None if failure.old is None else dict(failure.old)) from failure

    def _judge(self, queue: Queue, lease: Lease, action: Action, row: Row | None, *, now: int) -> None:
        """Say what became of a lease that does not hold; return if it was this very call.

        Raises:
            LeaseExpired: It has run out, and nobody has taken the message since.
            LeaseLost: Somebody has, or the message was settled the other way.
        """
        message = lease.message
        if row is None or row.get("message_id") != message.message_id:
            self._judge_gone(queue, lease, action)
        elif row.get("settled") == lease.lease:
            if action != "nack":
                raise LeaseLost
        elif row.get("lease") == lease.lease:
            raise LeaseExpired if int(str(row["until"])) <= now else LeaseLost
        elif "lease" in row or row.get("deliveries") != message.deliveries:
            raise LeaseLost
        else:
            raise LeaseExpired

    def _judge_gone(self, queue: Queue, lease: Lease, action: Action) -> None:
        """The message has left the lane: by this lease, or otherwise; see `traces`."""
        trace = self._traces.find(queue, lease.message)
        if trace is None:
            if action != "ack" or lease.message.deliveries > 1:
                raise LeaseLost
        elif trace.lease == lease.lease:
            if action != {"acked": "ack", "dead": "set aside"}.get(trace.way):
                raise LeaseLost
        elif trace.lease or trace.way == "purged" or trace.deliveries != lease.message.deliveries:
            raise LeaseLost
        else:
            raise LeaseExpired

    def _count(self, queue: Queue, name: str) -> None:
        metrics.count(name, kind=queue.type, tenant_id=queue.tenant_id, queue_id=queue.queue_id)


def _result(message_id: str, work: Callable[[], None]) -> SettleResult:
    try:
        work()
    except FAILURES as failure:
        error = told(failure)
    else:
        return {"message_id": message_id, "status": 200}
    return {"message_id": message_id, "status": STATUS[type(error)], "code": error.code}


STATUS: dict[type[BrokerError], int] = {
    NotFound: 404,
    LeaseLost: 409,
    AutoAckQueue: 409,
    LeaseExpired: 410,
    Throttled: 503,
    Unavailable: 503,
}
"""The statuses of entries, which are those of the single routes."""
