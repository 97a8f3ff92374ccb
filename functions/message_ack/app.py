"""POST /queues/{queue}/messages/{message_id}/ack: settle a message for good."""

from broker.http import Answer, Request, endpoint, ok
from broker.queues.models import LeaseRequest
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("POST /queues/{queue}/messages/{message_id}/ack", who="tenant")
def handler(request: Request) -> Answer:
    """Settle it."""
    queues.ack(request.caller, request.name("queue"), request.path["message_id"], request.json(LeaseRequest))
    return ok({"message_id": request.path["message_id"], "status": "acked"})
