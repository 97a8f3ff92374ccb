"""GET /queue/v1/namespaces/{namespace}/queues/{queue}/stats: what each partition holds."""

from broker import wiring
from broker.http import Answer, Request, endpoint, ok

log = wiring.log()


@endpoint("GET /queue/v1/namespaces/{namespace}/queues/{queue}/stats", who="tenant")
def handler(request: Request) -> Answer:
    """Count and bound the messages of every partition."""
    return ok(log.stats(request.caller, request.path["namespace"], request.path["queue"]))
