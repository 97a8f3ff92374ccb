"""Stream queues."""

import functools
from collections.abc import Sequence

from broker import wiring
from broker.enrichment.definitions import Definitions
from broker.enrichment.keeping import StreamKeeping
from broker.enrichment.letters import EnrichmentLetters
from broker.enrichment.message import LookupItem, Target
from broker.enrichment.promoting import Promoter
from broker.enrichment.publishing import Enrichment
from broker.enrichment.waiting import WaitingRoom
from broker.queues.kinds import Keeps
from broker.queues.letters import Redrives
from broker.queues.queue import Queue
from broker.queues.rounds import Rounds
from broker.queues.settings import TO_ONE, QueueType
from broker.wiring import items, queues


class _Items:
    """The items of key_value queues, as enrichment needs them."""

    def find(self, lookup: Queue, digests: Sequence[str]) -> list[LookupItem | None]:
        """See `broker.enrichment.message.LookupItems`."""
        reader = items.reader()
        rows = reader.find(lookup, digests)
        living = [row for row in rows if row is not None]
        opened = iter(reader.open_all(lookup, living))
        found = [next(opened) if row is not None else None for row in rows]
        return [
            None
            if item is None or item.key is None or item.payload is None
            else LookupItem(item.key, item.payload, str(item.stored.version))
            for item in found
        ]


@functools.cache
def room() -> WaitingRoom:
    """Messages that wait."""
    return WaitingRoom(state=wiring.state(), edges=wiring.edges(), contents=queues.contents(), clock=wiring.clock)


@functools.cache
def letters() -> EnrichmentLetters:
    """Messages set aside."""
    return EnrichmentLetters(
        state=wiring.state(),
        contents=queues.contents(),
        letters=queues.dead_letters(),
        receipts=queues.receipts(),
        clock=wiring.clock,
    )


@functools.cache
def promoter() -> Promoter:
    """What promotes them."""
    return Promoter(
        room=room(),
        items=_Items(),
        letters=letters(),
        targets=target,
        known=queues.registry().known,
        clock=wiring.clock,
    )


@functools.cache
def enrichment() -> Enrichment:
    """The publishing side."""
    return Enrichment(
        state=wiring.state(),
        items=_Items(),
        room=room(),
        promoter=promoter(),
        letters=letters(),
        receipts=queues.receipts(),
        targets=target,
        known=queues.registry().known,
        given_back=_given_back,
    )


@functools.cache
def target(kind: QueueType) -> Target:
    """What stores the messages of a type."""
    if kind in TO_ONE:
        from broker.wiring import lanes
        from broker.wiring.to_one import ToOne

        return ToOne(
            lanes=lanes.lanes(),
            state=wiring.state(),
            primary_keys=queues.primary_keys(),
            depth=queues.depth(),
            counting=lanes.counting(),
            expire=lambda queue: lanes.lanes().expire(queue) or keeping(queue.type).relieve(queue, 1),
            clock=wiring.clock,
        )
    from broker.wiring import streams
    from broker.wiring.to_many import ToMany

    return ToMany(
        publishing=streams.publishing(),
        holders=streams.holders(),
        consumers=streams.consumers(),
        primary_keys=queues.primary_keys(),
        depth=queues.depth(),
        pending=lambda queue: keeping(queue.type).pending(queue),
        expire=streams.upkeep().age_out,
        relieve=lambda queue, most: keeping(queue.type).relieve(queue, most),
        sleep=wiring.sleep,
    )


@functools.cache
def keeping(kind: QueueType) -> StreamKeeping:
    """What every type has."""
    inner: Keeps
    if kind in TO_ONE:
        from broker.wiring import lanes

        inner = lanes.lanes()
    else:
        from broker.wiring import streams

        inner = streams.keeping()
    return StreamKeeping(inner=inner, promoter=promoter(), known=queues.registry().known)


@functools.cache
def definitions() -> Definitions:
    """What makes a stream queue, and what keeps a looked up one."""
    return Definitions(registry=queues.registry())


@functools.cache
def rounds() -> Rounds:
    """The schedule."""
    return Rounds(
        state=wiring.state(),
        registry=queues.registry(),
        name="promote",
        types=frozenset({"key_value"}),
        work=promoter().sweep,
    )


def _given_back() -> Redrives:
    from broker.wiring import streams

    return streams.streams()
