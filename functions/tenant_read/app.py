"""GET /tenants/{tenant_id}: one tenant."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import tenancy as wiring

tenancy = wiring.tenancy()


@endpoint("GET /tenants/{tenant_id}", who="platform")
def handler(request: Request) -> Answer:
    """Show the tenant."""
    return ok(tenancy.tenant(request.identifier("tenant_id")))
