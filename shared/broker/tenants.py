"""What must hold of a tenant for anything to be made in it."""

from broker import keys
from broker.errors import BrokerError, Conflict, NotFound
from edge import ConditionFailed, Operation, StateTable


def alive_operation(state: StateTable, tenant_id: str) -> Operation:
    """A check, for the transaction that makes something in a tenant, that it exists and is not being deleted."""
    condition = "attribute_exists(#pk) AND attribute_not_exists(#closing)"
    return state.check_operation(keys.tenant(tenant_id), keys.CONFIG, condition=condition)


def not_alive(failure: ConditionFailed) -> BrokerError:
    """What the caller is told when that check fails."""
    if failure.old is None:
        return NotFound("The tenant does not exist any more.")
    return Conflict("The tenant is being deleted; if that is refused, repeat the request.")
