"""POST /queues/{queue}/dlq/{entry_id}/redrive: put one dead letter back into the queue."""

from broker.http import Answer, Request, endpoint, ok
from broker.http.publishing import redriven
from broker.wiring import queues as wiring

dlq = wiring.dlq()


@endpoint("POST /queues/{queue}/dlq/{entry_id}/redrive", who="admin")
def handler(request: Request) -> Answer:
    """Publish it again."""
    entry_id = request.path["entry_id"]
    outcome = dlq.redrive_one(request.caller, request.name("queue"), entry_id, ids=request.ids)
    return ok(redriven([(entry_id, outcome)]))
