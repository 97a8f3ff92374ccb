"""DELETE /queue/v1/namespaces/{namespace}/queues/{queue}: delete a disabled log with all its messages."""

from broker import wiring
from broker.http import Answer, Request, endpoint, no_content

definitions = wiring.definitions()


@endpoint("DELETE /queue/v1/namespaces/{namespace}/queues/{queue}", who="admin")
def handler(request: Request) -> Answer:
    """Delete it; it is gone at once, its messages are removed by a schedule."""
    definitions.delete(request.caller, request.path["namespace"], request.path["queue"])
    return no_content()
