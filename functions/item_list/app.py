"""GET /queues/{queue}/items: a page of the items of a key_value queue."""

from broker.http import Answer, Request, endpoint, listing
from broker.items.models import ItemListQuery
from broker.wiring import items as wiring

items = wiring.items()


@endpoint("GET /queues/{queue}/items", who="tenant")
def handler(request: Request) -> Answer:
    """List them, by sort key or by key."""
    page = items.listed(request.caller, request.name("queue"), request.query(ItemListQuery))
    return listing("items", page)
