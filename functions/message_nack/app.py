"""POST /queues/{queue}/messages/{message_id}/nack: give a message back."""

from broker.http import Answer, Request, endpoint, ok
from broker.queues.models import NackRequest
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("POST /queues/{queue}/messages/{message_id}/nack", who="tenant")
def handler(request: Request) -> Answer:
    """Give it back."""
    queues.nack(request.caller, request.name("queue"), request.path["message_id"], request.json(NackRequest))
    return ok({"message_id": request.path["message_id"], "status": "nacked"})
