"""DELETE /queues/{queue}/dlq/{entry_id}: delete one dead letter."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import queues as wiring

dlq = wiring.dlq()


@endpoint("DELETE /queues/{queue}/dlq/{entry_id}", who="admin")
def handler(request: Request) -> Answer:
    """Delete it for good."""
    dlq.delete(request.caller, request.name("queue"), request.path["entry_id"])
    return no_content()
