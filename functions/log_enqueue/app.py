"""POST /queue/v1/namespaces/{namespace}/queues/{queue}/messages: append messages to a partitioned log."""

from broker import wiring
from broker.http import Answer, Request, endpoint, ok
from broker.log.models import EnqueueRequest

log = wiring.log()


@endpoint("POST /queue/v1/namespaces/{namespace}/queues/{queue}/messages", who="tenant", idempotent=True)
def handler(request: Request) -> Answer:
    """Append the messages and say where each went."""
    namespace, queue = request.path["namespace"], request.path["queue"]
    entries = request.json(EnqueueRequest).messages
    return ok(log.enqueue(request.caller, namespace, queue, entries=entries, ids=request.ids))
