"""GET /queue/v1/namespaces/{namespace}/queues/{queue}: the definition of a log."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import log as wiring

definitions = wiring.definitions()


@endpoint("GET /queue/v1/namespaces/{namespace}/queues/{queue}", who="tenant")
def handler(request: Request) -> Answer:
    """Show the definition."""
    namespace, queue = request.name("namespace"), request.name("queue")
    return ok(definitions.find(request.caller, namespace, queue, action=None).answer())
