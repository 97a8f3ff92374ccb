"""GET /queues/{queue}: one queue."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("GET /queues/{queue}", who="tenant")
def handler(request: Request) -> Answer:
    """Show the queue and its settings."""
    return ok(queues.read(request.caller, request.name("queue")))
