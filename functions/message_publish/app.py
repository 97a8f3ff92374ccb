"""POST /queues/{queue}/messages: publish a message; the body is the payload."""

from broker.http import Answer, Request, endpoint
from broker.http.publishing import published
from broker.wiring import queues as wiring

queues = wiring.queues()


def queue_id(request: Request) -> str:
    """The queue that an Idempotency-Key is scoped to."""
    return queues.registry.find_enabled(request.caller, request.name("queue"), action="publish").queue_id


@endpoint("POST /queues/{queue}/messages", who="tenant", idempotent=queue_id)
def handler(request: Request) -> Answer:
    """Store the message."""
    version = request.headers.get("if-match")
    value, size = request.json_object(), len(request.body)
    return published(
        queues.publish(request.caller, request.name("queue"), value, size=size, ids=request.ids, if_match=version)
    )
