"""DELETE /queues/{queue}/item: delete one item, by the JSON array of its key."""

from broker.http import Answer, Request, endpoint, no_content
from broker.items.models import ItemQuery
from broker.wiring import items as wiring

items = wiring.items()


@endpoint("DELETE /queues/{queue}/item", who="tenant")
def handler(request: Request) -> Answer:
    """Delete it."""
    key, if_match = request.query(ItemQuery).key, request.headers.get("if-match")
    items.delete_by_key(request.caller, request.name("queue"), key, if_match=if_match)
    return no_content()
