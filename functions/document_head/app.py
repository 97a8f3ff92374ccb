"""HEAD /queues/{queue}/documents/{document_id}: what a download would say of itself."""

from broker.http import Answer, Request, endpoint
from broker.http.documents import shown
from broker.wiring import documents as wiring

documents = wiring.documents()


@endpoint("HEAD /queues/{queue}/documents/{document_id}", who="tenant")
def handler(request: Request) -> Answer:
    """What a GET answers; the gateway leaves the bytes out."""
    accept, held = request.headers.get("accept"), request.headers.get("if-none-match")
    queue, document_id = request.name("queue"), request.path["document_id"]
    return shown(documents.show(request.caller, queue, document_id, accept=accept, held=held))
