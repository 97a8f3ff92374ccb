"""DELETE /tenants/{tenant_id}: remove a tenant without queues, and its clients."""

from broker import wiring
from broker.http import Answer, Request, endpoint, no_content

tenancy = wiring.tenancy()


@endpoint("DELETE /tenants/{tenant_id}", who="platform")
def handler(request: Request) -> Answer:
    """Remove the tenant."""
    tenancy.delete_tenant(request.path["tenant_id"])
    return no_content()
