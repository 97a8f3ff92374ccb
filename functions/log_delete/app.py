"""DELETE /queue/v1/namespaces/{namespace}/queues/{queue}: delete a disabled log with all its messages."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import log as wiring

definitions = wiring.definitions()


@endpoint("DELETE /queue/v1/namespaces/{namespace}/queues/{queue}", who="admin")
def handler(request: Request) -> Answer:
    """Delete it; it is gone at once, its messages are removed by a schedule."""
    definitions.delete(request.caller, request.name("namespace"), request.name("queue"))
    return no_content()
