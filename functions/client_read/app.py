"""GET /clients/{client_id}: one client."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import tenancy as wiring

clients = wiring.clients()


@endpoint("GET /clients/{client_id}", who="admin")
def handler(request: Request) -> Answer:
    """Show the client."""
    return ok(clients.read(request.caller, request.identifier("client_id")))
