"""DELETE /clients/{client_id}: revoke a client's key for good."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import tenancy as wiring

clients = wiring.clients()


@endpoint("DELETE /clients/{client_id}", who="admin")
def handler(request: Request) -> Answer:
    """Remove the client."""
    clients.delete(request.caller, request.identifier("client_id"))
    return no_content()
