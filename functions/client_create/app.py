"""POST /clients: make a client; its key is shown this once."""

from broker.http import Answer, Request, created, endpoint
from broker.tenancy.models import ClientRequest
from broker.wiring import tenancy as wiring

clients = wiring.clients()


@endpoint("POST /clients", who="admin")
def handler(request: Request) -> Answer:
    """Make the client with its permissions."""
    body = request.json(ClientRequest)
    return created(clients.create(request.caller, name=body.name, permissions=body.granted()))
