"""POST /queues/{queue}/documents: store a document; the body is the file."""

from broker.http import Answer, Request, created, endpoint
from broker.wiring import documents as wiring

documents = wiring.documents()


def queue_id(request: Request) -> str:
    """The queue that an Idempotency-Key is scoped to."""
    return documents.uploadable(request.caller, request.name("queue")).queue_id


@endpoint("POST /queues/{queue}/documents", who="tenant", idempotent=queue_id)
def handler(request: Request) -> Answer:
    """Store the file as it is."""
    queue, content = request.name("queue"), request.exact_body
    return created(documents.upload(request.caller, queue, headers=request.headers, content=content, ids=request.ids))
