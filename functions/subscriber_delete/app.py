"""DELETE /queues/{queue}/subscribers/{subscription_id}: end a subscription to a queue."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import documents as wiring

sharing = wiring.sharing()


@endpoint("DELETE /queues/{queue}/subscribers/{subscription_id}", who="admin")
def handler(request: Request) -> Answer:
    """End it."""
    queue, subscription_id = request.name("queue"), request.identifier("subscription_id")
    sharing.remove_subscriber(request.caller, queue, subscription_id)
    return no_content()
