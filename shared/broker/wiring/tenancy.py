"""Tenants and clients."""

import functools

from broker import wiring
from broker.tenancy.service import Tenancy


@functools.cache
def tenancy() -> Tenancy:
    """The tenants of the platform and their clients."""
    return Tenancy(
        state=wiring.state(),
        data_keys=wiring.data_keys(),
        authentication=wiring.authentication(),
        lister=wiring.lister(),
        clock=wiring.clock,
        ids=wiring.ids(),
    )
