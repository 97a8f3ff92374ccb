"""DELETE /tenants/{tenant_id}: remove a tenant without queues, and its clients."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import tenancy as wiring

tenancy = wiring.tenancy()


@endpoint("DELETE /tenants/{tenant_id}", who="platform")
def handler(request: Request) -> Answer:
    """Remove the tenant."""
    tenancy.delete_tenant(request.identifier("tenant_id"))
    return no_content()
