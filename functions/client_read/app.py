"""GET /clients/{client_id}: one client."""

from broker import wiring
from broker.http import Answer, Request, endpoint, ok

tenancy = wiring.tenancy()


@endpoint("GET /clients/{client_id}", who="admin")
def handler(request: Request) -> Answer:
    """Show the client."""
    return ok(tenancy.client(request.caller, request.path["client_id"]))
