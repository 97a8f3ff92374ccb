"""GET /queues/{queue}/item: one item, by the JSON array of its key."""

from broker.http import Answer, Request, endpoint, ok
from broker.items.models import ItemQuery
from broker.wiring import items as wiring

items = wiring.items()


@endpoint("GET /queues/{queue}/item", who="tenant")
def handler(request: Request) -> Answer:
    """Read it."""
    return ok(items.read_by_key(request.caller, request.name("queue"), request.query(ItemQuery).key))
