"""GET /queues/{queue}/documents/{document_id}: download a document, in the format asked for."""

from broker.http import Answer, Request, endpoint
from broker.http.documents import shown
from broker.wiring import documents as wiring

documents = wiring.documents()


@endpoint("GET /queues/{queue}/documents/{document_id}", who="tenant")
def handler(request: Request) -> Answer:
    """The bytes."""
    accept, held = request.headers.get("accept"), request.headers.get("if-none-match")
    queue, document_id = request.name("queue"), request.path["document_id"]
    return shown(documents.show(request.caller, queue, document_id, accept=accept, held=held))
