"""PATCH /queues/{queue}: change what may change live."""

from broker.http import Answer, Request, endpoint, ok
from broker.queues.models import QueuePatch
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("PATCH /queues/{queue}", who="admin")
def handler(request: Request) -> Answer:
    """Change description and settings."""
    return ok(queues.change(request.caller, request.name("queue"), request.json(QueuePatch)))
