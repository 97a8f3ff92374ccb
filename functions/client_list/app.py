"""GET /clients: the tenant's clients by page."""

from broker.bodies import ListQuery
from broker.http import Answer, Request, endpoint, listing
from broker.wiring import tenancy as wiring

clients = wiring.clients()


@endpoint("GET /clients", who="admin")
def handler(request: Request) -> Answer:
    """List the clients, oldest first."""
    return listing("clients", clients.listed(request.caller, request.page(ListQuery)))
