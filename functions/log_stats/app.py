"""GET /queue/v1/namespaces/{namespace}/queues/{queue}/stats: what each partition holds."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import log as wiring

log = wiring.log()


@endpoint("GET /queue/v1/namespaces/{namespace}/queues/{queue}/stats", who="tenant")
def handler(request: Request) -> Answer:
    """Count and bound the messages of every partition."""
    return ok(log.stats(request.caller, request.name("namespace"), request.name("queue")))
