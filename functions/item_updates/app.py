"""POST /queues/{queue}/items/updates: what has changed since a reader last asked."""

from broker.http import Answer, Request, endpoint, ok
from broker.items.models import UpdatesRequest
from broker.wiring import items as wiring

items = wiring.items()


@endpoint("POST /queues/{queue}/items/updates", who="tenant")
def handler(request: Request) -> Answer:
    """Say what has changed."""
    return ok(items.updates(request.caller, request.name("queue"), request.json(UpdatesRequest)))
