"""PUT /queue/v1/namespaces/{namespace}/queues/{queue}/disable: disable a log."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import log as wiring

definitions = wiring.definitions()


@endpoint("PUT /queue/v1/namespaces/{namespace}/queues/{queue}/disable", who="admin")
def handler(request: Request) -> Answer:
    """Disable it; in effect everywhere within five seconds."""
    namespace, queue = request.name("namespace"), request.name("queue")
    return ok(definitions.switch(request.caller, namespace, queue, enabled=False))
