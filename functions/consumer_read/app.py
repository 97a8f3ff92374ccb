"""GET /queues/{queue}/consumers/{client_id}: one consumer of a to-many queue."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import streams as wiring

places = wiring.places()


@endpoint("GET /queues/{queue}/consumers/{client_id}", who="tenant")
def handler(request: Request) -> Answer:
    """Show its place, and what it holds."""
    return ok(places.read(request.caller, request.name("queue"), request.path["client_id"]))
