"""To-one queues."""

import functools

from broker import wiring
from broker.lanes.alone import Alone
from broker.lanes.consuming import Consuming
from broker.lanes.counts import Counting
from broker.lanes.departures import Departures
from broker.lanes.keeping import Keeping
from broker.lanes.leases import Leases
from broker.lanes.publishing import Publishing
from broker.lanes.room import Room
from broker.lanes.service import Lanes
from broker.lanes.settling import Settling
from broker.lanes.shape import Shape
from broker.lanes.shared import Shared
from broker.lanes.traces import Traces
from broker.lanes.upkeep import Upkeep
from broker.queues.queue import Queue
from broker.queues.rounds import Rounds
from broker.queues.settings import STREAMS, TO_ONE
from broker.wiring import queues

_RELIEVED_MOST = 10


@functools.cache
def departures() -> Departures:
    """How messages leave without an ack."""
    return Departures(letters=queues.dead_letters(), traces=traces(), contents=queues.contents(), depth=queues.depth())


@functools.cache
def traces() -> Traces:
    """What became of messages."""
    return Traces(state=wiring.state())


@functools.cache
def leases() -> Leases:
    """Lease ids."""
    return Leases(wiring.tokens())


@functools.cache
def counting() -> Counting:
    """What is stored."""
    return Counting(state=wiring.state(), edges=wiring.edges(), waiting=_waiting)


@functools.cache
def room() -> Room:
    """Room in full queues."""
    return _Room(state=wiring.state(), departures=departures())


@functools.cache
def lanes() -> Lanes:
    """one_to_one."""
    state, edges, clock = wiring.state(), wiring.edges(), wiring.clock
    return Lanes(
        alone=Alone(state=state, receipts=queues.receipts()),
        shared=Shared(
            state=state,
            edges=edges,
            primary_keys=queues.primary_keys(),
            receipts=queues.receipts(),
            clock=clock,
        ),
        publishing=Publishing(
            state=state,
            contents=queues.contents(),
            depth=queues.depth(),
            room=room(),
            departures=departures(),
            counting=counting(),
            receipts=queues.receipts(),
            clock=clock,
            sleep=wiring.sleep,
        ),
        consuming=Consuming(
            state=state, contents=queues.contents(), departures=departures(), leases=leases(), clock=clock
        ),
        settling=Settling(state=state, traces=traces(), departures=departures(), leases=leases(), clock=clock),
        keeping=Keeping(
            state=state,
            edges=edges,
            contents=queues.contents(),
            letters=queues.dead_letters(),
            departures=departures(),
            clock=clock,
        ),
        upkeep=Upkeep(
            state=state,
            departures=departures(),
            depth=queues.depth(),
            counting=counting(),
            room=room(),
            clock=clock,
        ),
    )


class _Room(Room):
    """Room in queues of which messages may wait outside."""

    def expire_some(self, queue: Queue, *, shape: Shape, now: int) -> int | None:
        """Remove expired messages, those that wait too; see `Room`."""
        gone = super().expire_some(queue, shape=shape, now=now)
        if gone or queue.type not in STREAMS:
            return gone
        from broker.wiring import enrichment

        return enrichment.keeping(queue.type).relieve(queue, _RELIEVED_MOST)


def _waiting(queue: Queue) -> int:
    if queue.type not in STREAMS:
        return 0
    from broker.wiring import enrichment

    return enrichment.keeping(queue.type).pending(queue)


@functools.cache
def reaper() -> Rounds:
    """Leases that have ended, at all queues."""
    return Rounds(state=wiring.state(), registry=queues.registry(), name="reap", types=TO_ONE, work=lanes().reap)


@functools.cache
def expiry() -> Rounds:
    """Messages past their age, at all queues."""
    return Rounds(state=wiring.state(), registry=queues.registry(), name="expire", types=TO_ONE, work=lanes().expire)
