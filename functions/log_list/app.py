"""GET /queue/v1/namespaces/{namespace}/queues: the logs of a namespace by page."""

from broker.bodies import ListQuery
from broker.http import Answer, Request, endpoint, listing
from broker.wiring import log as wiring

definitions = wiring.definitions()


@endpoint("GET /queue/v1/namespaces/{namespace}/queues", who="tenant")
def handler(request: Request) -> Answer:
    """List those on which the caller has any permission."""
    page = definitions.listed(request.caller, request.name("namespace"), request=request.page(ListQuery))
    return listing("queues", page)
