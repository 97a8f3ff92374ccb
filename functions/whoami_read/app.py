"""GET /whoami: the caller's tenant, client and permissions."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import tenancy as wiring

tenancy = wiring.tenancy()


@endpoint("GET /whoami", who="anybody_known")
def handler(request: Request) -> Answer:
    """Show the caller what its key stands for."""
    return ok(tenancy.whoami(request.caller))
