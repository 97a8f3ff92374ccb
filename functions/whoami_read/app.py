"""GET /whoami: the caller's tenant, client and permissions."""

from broker import wiring
from broker.http import Answer, Request, endpoint, ok

tenancy = wiring.tenancy()


@endpoint("GET /whoami", who="anybody_known")
def handler(request: Request) -> Answer:
    """Show the caller what its key stands for."""
    return ok(tenancy.whoami(request.caller))
