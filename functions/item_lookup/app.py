"""POST /queues/{queue}/items/lookup: many items by their keys."""

from broker.http import Answer, Request, endpoint, ok
from broker.items.models import LookupRequest
from broker.wiring import items as wiring

items = wiring.items()


@endpoint("POST /queues/{queue}/items/lookup", who="tenant")
def handler(request: Request) -> Answer:
    """Look them up."""
    return ok(items.lookup(request.caller, request.name("queue"), request.json(LookupRequest)))
