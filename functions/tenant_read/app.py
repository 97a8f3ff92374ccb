"""GET /tenants/{tenant_id}: one tenant."""

from broker import wiring
from broker.http import Answer, Request, endpoint, ok

tenancy = wiring.tenancy()


@endpoint("GET /tenants/{tenant_id}", who="platform")
def handler(request: Request) -> Answer:
    """Show the tenant."""
    return ok(tenancy.tenant(request.path["tenant_id"]))
