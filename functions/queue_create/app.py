"""POST /queues: make a queue."""

from broker.http import Answer, Request, created, endpoint
from broker.queues.models import QueueRequest
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("POST /queues", who="admin")
def handler(request: Request) -> Answer:
    """Make the queue with its settings."""
    return created(queues.create(request.caller, request.json(QueueRequest)))
