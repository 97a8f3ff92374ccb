"""POST /queue/v1/namespaces/{namespace}/queues/{queue}/messages: append messages to a partitioned log."""

from broker.http import Answer, Request, endpoint, ok
from broker.log.models import EnqueueRequest
from broker.wiring import log as wiring

log = wiring.log()


def queue_id(request: Request) -> str:
    """The log that an Idempotency-Key is scoped to."""
    namespace, queue = request.name("namespace"), request.name("queue")
    return log.definitions.find_enabled(request.caller, namespace, queue, action="publish").queue_id


@endpoint("POST /queue/v1/namespaces/{namespace}/queues/{queue}/messages", who="tenant", idempotent=queue_id)
def handler(request: Request) -> Answer:
    """Append the messages and say where each went."""
    namespace, queue = request.name("namespace"), request.name("queue")
    entries = request.json(EnqueueRequest).messages
    return ok(log.enqueue(request.caller, namespace, queue, entries=entries, ids=request.ids))
