"""POST /queues/{queue}/consume: deliver messages."""

from broker.http import Answer, Request, endpoint
from broker.http.publishing import delivered
from broker.queues.models import ConsumeRequest
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("POST /queues/{queue}/consume", who="tenant")
def handler(request: Request) -> Answer:
    """Deliver what is due, waiting for it if asked to."""
    body = request.json(ConsumeRequest, optional=True)
    return delivered(queues.consume(request.caller, request.name("queue"), body))
