"""queue/v1."""

import functools

from broker import wiring
from broker.log.definitions import Definitions
from broker.log.remains import Remains
from broker.log.service import LogService
from broker.records import Records


@functools.cache
def definitions() -> Definitions:
    """The logs of all tenants."""
    return Definitions(
        state=wiring.state(), lister=wiring.lister(), names=wiring.names(), clock=wiring.clock, ids=wiring.ids()
    )


@functools.cache
def log() -> LogService:
    """Their messages."""
    return LogService(
        definitions=definitions(),
        edges=wiring.edges(),
        blobs=wiring.blobs(),
        records=Records(vault=wiring.vault(), blobs=wiring.blobs(), purpose="log"),
        tokens=wiring.tokens(),
    )


@functools.cache
def remains() -> Remains:
    """What deleted ones held."""
    return Remains(edges=wiring.edges(), blobs=wiring.blobs())
