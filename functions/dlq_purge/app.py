"""DELETE /queues/{queue}/dlq: delete a queue's dead letters."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import queues as wiring

dlq = wiring.dlq()


@endpoint("DELETE /queues/{queue}/dlq", who="admin")
def handler(request: Request) -> Answer:
    """Delete all of them for good."""
    dlq.purge(request.caller, request.name("queue"))
    return no_content()
