"""To-many queues."""

import functools

from broker import wiring
from broker.streams.burying import Burying
from broker.streams.consumers import Consumers
from broker.streams.consuming import Consuming
from broker.streams.expiry import Expiry
from broker.streams.holders import Holders
from broker.streams.keeping import Keeping
from broker.streams.leases import Leases
from broker.streams.letters import Letters
from broker.streams.places import Places
from broker.streams.publishing import Publishing
from broker.streams.reading import Reader
from broker.streams.redriven import Redriven
from broker.streams.remains import Remains
from broker.streams.retention import Retention
from broker.streams.room import Room
from broker.streams.seeking import Seeking
from broker.streams.service import Streams
from broker.streams.settling import Settling
from broker.streams.tail import Tails
from broker.streams.upkeep import Upkeep
from broker.wiring import queues


@functools.cache
def tails() -> Tails:
    """The numbers of all streams."""
    return Tails(state=wiring.state(), edges=wiring.edges(), clock=wiring.clock)


@functools.cache
def consumers() -> Consumers:
    """Their consumers."""
    return Consumers(state=wiring.state(), clock=wiring.clock)


@functools.cache
def letters() -> Letters:
    """Dead letters of single consumers."""
    return Letters(
        dead_letters=queues.dead_letters(),
        state=wiring.state(),
        blobs=wiring.blobs(),
        vault=wiring.vault(),
        ids=wiring.ids(),
    )


@functools.cache
def expiry() -> Expiry:
    """Expired messages."""
    return Expiry(consumers=consumers(), letters=letters())


@functools.cache
def retention() -> Retention:
    """What leaves."""
    return Retention(edges=wiring.edges(), tails=tails(), expiry=expiry(), clock=wiring.clock)


@functools.cache
def redriven() -> Redriven:
    """What was redriven."""
    return Redriven(state=wiring.state(), edges=wiring.edges(), blobs=wiring.blobs(), clock=wiring.clock)


@functools.cache
def reader() -> Reader:
    """Reading forward."""
    return Reader(edges=wiring.edges(), tails=tails(), clock=wiring.clock)


@functools.cache
def holders() -> Holders:
    """The keys of messages."""
    return Holders(state=wiring.state(), primary_keys=queues.primary_keys(), clock=wiring.clock)


@functools.cache
def remains() -> Remains:
    """What has left and is still stored."""
    return Remains(
        state=wiring.state(),
        edges=wiring.edges(),
        blobs=wiring.blobs(),
        holders=holders(),
        redriven=redriven(),
        dead_letters=queues.dead_letters(),
        clock=wiring.clock,
    )


@functools.cache
def publishing() -> Publishing:
    """The publishing side."""
    return Publishing(
        state=wiring.state(),
        edges=wiring.edges(),
        contents=queues.contents(),
        tails=tails(),
        room=Room(state=wiring.state(), tails=tails(), retention=retention(), retry=wiring.retry(), clock=wiring.clock),
        holders=holders(),
        receipts=queues.receipts(),
    )


@functools.cache
def burying() -> Burying:
    """Runs that have run out."""
    return Burying(
        state=wiring.state(), edges=wiring.edges(), letters=letters(), redriven=redriven(), clock=wiring.clock
    )


@functools.cache
def leases() -> Leases:
    """Lease tokens."""
    return Leases(wiring.tokens())


@functools.cache
def streams() -> Streams:
    """The delivering side."""
    return Streams(
        consuming=Consuming(
            consumers=consumers(),
            reader=reader(),
            redriven=redriven(),
            burying=burying(),
            expiry=expiry(),
            contents=queues.contents(),
            leases=leases(),
            clock=wiring.clock,
        ),
        settling=Settling(
            state=wiring.state(),
            edges=wiring.edges(),
            leases=leases(),
            letters=letters(),
            redriven=redriven(),
            clock=wiring.clock,
        ),
        publishing=publishing(),
        redriven=redriven(),
        contents=queues.contents(),
    )


@functools.cache
def keeping() -> Keeping:
    """What every type has."""
    return Keeping(
        tails=tails(),
        consumers=consumers(),
        reader=reader(),
        redriven=redriven(),
        remains=remains(),
        dead_letters=queues.dead_letters(),
        clock=wiring.clock,
    )


@functools.cache
def places() -> Places:
    """The `/queues/{queue}/consumers` API."""
    return Places(
        registry=queues.registry(),
        lister=wiring.lister(),
        consumers=consumers(),
        seeking=Seeking(edges=wiring.edges()),
        redriven=redriven(),
        reader=reader(),
        clock=wiring.clock,
    )


@functools.cache
def upkeep() -> Upkeep:
    """The schedule."""
    return Upkeep(
        registry=queues.registry(),
        state=wiring.state(),
        consumers=consumers(),
        retention=retention(),
        remains=remains(),
        redriven=redriven(),
        burying=burying(),
        clock=wiring.clock,
    )
