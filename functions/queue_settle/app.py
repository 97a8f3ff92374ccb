"""POST /queues/{queue}/settle: many acks and nacks."""

from broker.http import Answer, Request, endpoint, ok
from broker.queues.models import SettleRequest
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("POST /queues/{queue}/settle", who="tenant")
def handler(request: Request) -> Answer:
    """Settle them, one result each."""
    return ok({"results": queues.settle(request.caller, request.name("queue"), request.json(SettleRequest))})
