"""GET /queues/{queue}/consumers: the consumers of a to-many queue by page."""

from broker.bodies import ListQuery
from broker.http import Answer, Request, endpoint, listing
from broker.wiring import streams as wiring

places = wiring.places()


@endpoint("GET /queues/{queue}/consumers", who="tenant")
def handler(request: Request) -> Answer:
    """List them with their places."""
    return listing("consumers", places.listed(request.caller, request.name("queue"), request.page(ListQuery)))
