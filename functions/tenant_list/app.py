"""GET /tenants: all tenants by page."""

from broker.bodies import ListQuery
from broker.http import Answer, Request, endpoint, listing
from broker.wiring import tenancy as wiring

tenancy = wiring.tenancy()


@endpoint("GET /tenants", who="platform")
def handler(request: Request) -> Answer:
    """List the tenants, oldest first."""
    return listing("tenants", tenancy.list_tenants(request.page(ListQuery)))
