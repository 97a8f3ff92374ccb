"""Time series."""

import functools

from broker import wiring
from broker.series.buckets import Buckets
from broker.series.kind import TimeSeries
from broker.series.ranges import Ranges
from broker.series.register import Register
from broker.series.retention import Retention
from broker.series.service import SeriesService
from broker.wiring import queues


@functools.cache
def register() -> Register:
    """The series of all queues."""
    return Register(state=wiring.state(), vault=wiring.vault(), clock=wiring.clock)


@functools.cache
def retention() -> Retention:
    """What series keep."""
    return Retention(state=wiring.state(), clock=wiring.clock)


@functools.cache
def ranges() -> Ranges:
    """Buckets read back."""
    return Ranges(state=wiring.state(), register=register(), retention=retention(), clock=wiring.clock)


@functools.cache
def time_series() -> TimeSeries:
    """The type among the others."""
    return TimeSeries(
        state=wiring.state(),
        register=register(),
        buckets=Buckets(
            state=wiring.state(),
            register=register(),
            retention=retention(),
            receipts=queues.receipts(),
            clock=wiring.clock,
        ),
        ranges=ranges(),
        retention=retention(),
        clock=wiring.clock,
    )


@functools.cache
def series() -> SeriesService:
    """The `/queues/{queue}/buckets` API."""
    return SeriesService(
        registry=queues.registry(),
        register=register(),
        ranges=ranges(),
        retention=retention(),
        kind=time_series(),
        tokens=wiring.tokens(),
        clock=wiring.clock,
    )
