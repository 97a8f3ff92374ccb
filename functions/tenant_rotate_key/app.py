"""POST /tenants/{tenant_id}/rotate-key: a new data key for what is written from now on."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import tenancy as wiring

tenancy = wiring.tenancy()


@endpoint("POST /tenants/{tenant_id}/rotate-key", who="anybody_known")
def handler(request: Request) -> Answer:
    """Rotate the tenant's data key."""
    return ok(tenancy.rotate_data_key(request.caller, request.identifier("tenant_id")))
