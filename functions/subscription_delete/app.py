"""DELETE /queues/{queue}/subscription: end the subscription of a queue."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import documents as wiring

sharing = wiring.sharing()


@endpoint("DELETE /queues/{queue}/subscription", who="admin")
def handler(request: Request) -> Answer:
    """End it."""
    sharing.unsubscribe(request.caller, request.name("queue"))
    return no_content()
