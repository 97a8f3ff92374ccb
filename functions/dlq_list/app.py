"""GET /queues/{queue}/dlq: a queue's dead letters by page."""

from broker.bodies import ListQuery
from broker.http import Answer, Request, endpoint, listing
from broker.wiring import queues as wiring

dlq = wiring.dlq()


@endpoint("GET /queues/{queue}/dlq", who="tenant")
def handler(request: Request) -> Answer:
    """List them, oldest first."""
    return listing("entries", dlq.listed(request.caller, request.name("queue"), request.page(ListQuery)))
