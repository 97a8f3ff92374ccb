"""PUT /queues/{queue}/subscription: get the documents of another queue."""

from broker.documents.models import SubscriptionRequest
from broker.http import Answer, Request, created, endpoint, ok
from broker.wiring import documents as wiring

sharing = wiring.sharing()


@endpoint("PUT /queues/{queue}/subscription", who="admin")
def handler(request: Request) -> Answer:
    """Subscribe to what is uploaded from now on."""
    body = request.json(SubscriptionRequest)
    subscription, first = sharing.subscribe(request.caller, request.name("queue"), body)
    return created(subscription) if first else ok(subscription)
