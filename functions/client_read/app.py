"""GET /clients/{client_id}: one client."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import tenancy as wiring

tenancy = wiring.tenancy()


@endpoint("GET /clients/{client_id}", who="admin")
def handler(request: Request) -> Answer:
    """Show the client."""
    return ok(tenancy.client(request.caller, request.identifier("client_id")))
