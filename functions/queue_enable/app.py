"""POST /queues/{queue}/enable: enable a queue."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("POST /queues/{queue}/enable", who="admin")
def handler(request: Request) -> Answer:
    """Enable it; in effect everywhere within five seconds."""
    return ok(queues.registry.switch(request.caller, request.name("queue"), enabled=True).answer())
