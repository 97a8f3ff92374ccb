"""GET /queues/{queue}/items/{key}: one item, by its key as text."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import items as wiring

items = wiring.items()


@endpoint("GET /queues/{queue}/items/{key}", who="tenant")
def handler(request: Request) -> Answer:
    """Read it."""
    return ok(items.read(request.caller, request.name("queue"), request.path["key"]))
