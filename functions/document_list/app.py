"""GET /queues/{queue}/documents: list documents, newest last."""

from broker.documents.models import DocumentQuery
from broker.http import Answer, Request, endpoint, listing
from broker.wiring import documents as wiring

documents = wiring.documents()


@endpoint("GET /queues/{queue}/documents", who="tenant")
def handler(request: Request) -> Answer:
    """Read one page."""
    return listing("documents", documents.listed(request.caller, request.name("queue"), request.query(DocumentQuery)))
