"""DELETE /queues/{queue}/consumers/{client_id}: forget a consumer of a to-many queue."""

from broker.http import Answer, Request, endpoint, no_content
from broker.wiring import streams as wiring

places = wiring.places()


@endpoint("DELETE /queues/{queue}/consumers/{client_id}", who="tenant")
def handler(request: Request) -> Answer:
    """Forget it; should it come again, it begins as a new one."""
    places.forget(request.caller, request.name("queue"), request.path["client_id"])
    return no_content()
