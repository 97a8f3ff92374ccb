"""Tenants and clients."""

import functools

from broker import wiring
from broker.tenancy.clients import Clients
from broker.tenancy.service import Tenancy


@functools.cache
def tenancy() -> Tenancy:
    """The tenants of the platform."""
    return Tenancy(
        state=wiring.state(),
        data_keys=wiring.data_keys(),
        clients=clients(),
        lister=wiring.lister(),
        clock=wiring.clock,
        ids=wiring.ids(),
    )


@functools.cache
def clients() -> Clients:
    """The clients of all tenants."""
    return Clients(
        state=wiring.state(),
        authentication=wiring.authentication(),
        lister=wiring.lister(),
        clock=wiring.clock,
        ids=wiring.ids(),
    )
