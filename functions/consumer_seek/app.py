"""PATCH /queues/{queue}/consumers/{client_id}: move a consumer of a to-many queue."""

from broker.http import Answer, Request, endpoint, ok
from broker.streams.models import SeekRequest
from broker.wiring import streams as wiring

places = wiring.places()


@endpoint("PATCH /queues/{queue}/consumers/{client_id}", who="tenant")
def handler(request: Request) -> Answer:
    """Let it go on at another place."""
    body = request.json(SeekRequest)
    return ok(places.seek(request.caller, request.name("queue"), request.path["client_id"], body))
