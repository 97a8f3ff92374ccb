"""DELETE /queues/{queue}: delete a queue with everything in it."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("DELETE /queues/{queue}", who="admin")
def handler(request: Request) -> Answer:
    """Delete it; it is gone at once, what it held is removed by a schedule."""
    queues.delete(request.caller, request.name("queue"))
    return no_content()
