"""GET /queues/{queue}/subscription: the subscription of a queue and its state."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import documents as wiring

sharing = wiring.sharing()


@endpoint("GET /queues/{queue}/subscription", who="admin")
def handler(request: Request) -> Answer:
    """Read it."""
    return ok(sharing.read(request.caller, request.name("queue")))
