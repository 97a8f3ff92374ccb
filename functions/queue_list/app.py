"""GET /queues: the tenant's queues by page."""

from broker.http import Answer, Request, endpoint, listing
from broker.queues.models import QueueListQuery
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("GET /queues", who="tenant")
def handler(request: Request) -> Answer:
    """List those on which the caller has any permission."""
    return listing("queues", queues.listed(request.caller, request.query(QueueListQuery)))
