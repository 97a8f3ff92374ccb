"""POST /queues/{queue}/messages/batch: publish many messages."""

from broker.http import Answer, Request, endpoint
from broker.http.publishing import published_batch
from broker.queues.models import BatchRequest
from broker.wiring import queues as wiring

queues = wiring.queues()


def queue_id(request: Request) -> str:
    """The queue that an Idempotency-Key is scoped to."""
    return queues.registry.find_enabled(request.caller, request.name("queue"), action="publish").queue_id


@endpoint("POST /queues/{queue}/messages/batch", who="tenant", idempotent=queue_id)
def handler(request: Request) -> Answer:
    """Store the messages, one result each."""
    messages, version = request.json(BatchRequest).messages, request.headers.get("if-match")
    outcomes = queues.publish_batch(request.caller, request.name("queue"), messages, ids=request.ids, if_match=version)
    return published_batch(outcomes)
