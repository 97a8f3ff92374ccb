"""POST /clients/{client_id}/rotate: a new key for a client; the old one dies."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import tenancy as wiring

clients = wiring.clients()


@endpoint("POST /clients/{client_id}/rotate", who="admin")
def handler(request: Request) -> Answer:
    """Rotate the client's key."""
    return ok(clients.rotate(request.caller, request.identifier("client_id")))
