"""POST /tenants: make a tenant; its admin's key is shown this once."""

from broker.http import Answer, Request, created, endpoint
from broker.tenancy.models import TenantRequest
from broker.wiring import tenancy as wiring

tenancy = wiring.tenancy()


@endpoint("POST /tenants", who="platform")
def handler(request: Request) -> Answer:
    """Make the tenant with its data key and its admin."""
    body = request.json(TenantRequest)
    return created(tenancy.create_tenant(body.name))
