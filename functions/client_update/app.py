"""PATCH /clients/{client_id}: replace what a client may do."""

from broker.http import Answer, Request, endpoint, ok
from broker.tenancy.models import PermissionsRequest
from broker.wiring import tenancy as wiring

clients = wiring.clients()


@endpoint("PATCH /clients/{client_id}", who="admin")
def handler(request: Request) -> Answer:
    """Replace the permissions."""
    granted = request.json(PermissionsRequest).granted()
    return ok(clients.change_permissions(request.caller, request.identifier("client_id"), permissions=granted))
