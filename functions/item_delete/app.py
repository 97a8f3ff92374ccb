"""DELETE /queues/{queue}/items/{key}: delete one item, by its key as text."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import items as wiring

items = wiring.items()


@endpoint("DELETE /queues/{queue}/items/{key}", who="tenant")
def handler(request: Request) -> Answer:
    """Delete it."""
    if_match = request.headers.get("if-match")
    items.delete(request.caller, request.name("queue"), request.path["key"], if_match=if_match)
    return no_content()
