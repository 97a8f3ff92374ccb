"""POST /queues/{queue}/disable: disable a queue."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("POST /queues/{queue}/disable", who="admin")
def handler(request: Request) -> Answer:
    """Disable it; in effect everywhere within five seconds."""
    return ok(queues.registry.switch(request.caller, request.name("queue"), enabled=False).answer())
