"""GET /queues/{queue}/stats: what a queue holds."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("GET /queues/{queue}/stats", who="tenant")
def handler(request: Request) -> Answer:
    """Count what it holds, as its type does."""
    return ok(queues.stats(request.caller, request.name("queue")))
