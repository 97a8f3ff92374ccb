"""DELETE /clients/{client_id}: revoke a client's key for good."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import tenancy as wiring

tenancy = wiring.tenancy()


@endpoint("DELETE /clients/{client_id}", who="admin")
def handler(request: Request) -> Answer:
    """Remove the client."""
    tenancy.delete_client(request.caller, request.identifier("client_id"))
    return no_content()
