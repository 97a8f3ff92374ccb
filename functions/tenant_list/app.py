"""GET /tenants: all tenants by page."""

from broker import wiring
from broker.bodies import ListQuery
from broker.http import Answer, Request, endpoint, listing

tenancy = wiring.tenancy()


@endpoint("GET /tenants", who="platform")
def handler(request: Request) -> Answer:
    """List the tenants, oldest first."""
    return listing("tenants", tenancy.list_tenants(request.page(ListQuery)))
