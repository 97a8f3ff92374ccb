"""GET /queues/{queue}/subscribers: the queues that get a queue's documents."""

from broker.bodies import ListQuery
from broker.http import Answer, Request, endpoint, listing
from broker.wiring import documents as wiring

sharing = wiring.sharing()


@endpoint("GET /queues/{queue}/subscribers", who="admin")
def handler(request: Request) -> Answer:
    """Read one page."""
    queue = request.name("queue")
    return listing("subscribers", sharing.subscribers(request.caller, queue, request.page(ListQuery)))
