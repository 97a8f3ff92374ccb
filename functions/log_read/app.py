"""GET /queue/v1/namespaces/{namespace}/queues/{queue}: the definition of a log."""

from broker import wiring
from broker.http import Answer, Request, endpoint, ok

definitions = wiring.definitions()


@endpoint("GET /queue/v1/namespaces/{namespace}/queues/{queue}", who="tenant")
def handler(request: Request) -> Answer:
    """Show the definition."""
    namespace, queue = request.path["namespace"], request.path["queue"]
    return ok(definitions.find(request.caller, namespace, queue, action=None).answer())
