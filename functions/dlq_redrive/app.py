"""POST /queues/{queue}/dlq/redrive: put dead letters back into the queue."""

from broker.http import Answer, Request, endpoint, ok
from broker.http.publishing import redriven
from broker.queues.models import RedriveRequest
from broker.wiring import queues as wiring

dlq = wiring.dlq()


@endpoint("POST /queues/{queue}/dlq/redrive", who="admin")
def handler(request: Request) -> Answer:
    """Publish those named, or the oldest, again."""
    body = request.json(RedriveRequest, optional=True)
    return ok(redriven(dlq.redrive(request.caller, request.name("queue"), body, ids=request.ids)))
