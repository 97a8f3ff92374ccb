"""PUT /queue/v1/namespaces/{namespace}/queues/{queue}/enable: enable a log."""

from broker import wiring
from broker.http import Answer, Request, endpoint, ok

definitions = wiring.definitions()


@endpoint("PUT /queue/v1/namespaces/{namespace}/queues/{queue}/enable", who="admin")
def handler(request: Request) -> Answer:
    """Enable it; in effect everywhere within five seconds."""
    namespace, queue = request.path["namespace"], request.path["queue"]
    return ok(definitions.switch(request.caller, namespace, queue, enabled=True))
