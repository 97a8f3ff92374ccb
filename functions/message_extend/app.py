"""POST /queues/{queue}/messages/{message_id}/extend: lengthen a lease."""

from broker.http import Answer, Request, endpoint, ok
from broker.queues.models import ExtendRequest
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("POST /queues/{queue}/messages/{message_id}/extend", who="tenant")
def handler(request: Request) -> Answer:
    """Lengthen it from now."""
    ends = queues.extend(request.caller, request.name("queue"), request.path["message_id"], request.json(ExtendRequest))
    return ok({"lease_expires_at": ends})
