"""DELETE /queues/{queue}/documents/{document_id}: delete a document."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import documents as wiring

documents = wiring.documents()


@endpoint("DELETE /queues/{queue}/documents/{document_id}", who="tenant")
def handler(request: Request) -> Answer:
    """Delete it."""
    documents.delete(request.caller, request.name("queue"), request.path["document_id"])
    return no_content()
