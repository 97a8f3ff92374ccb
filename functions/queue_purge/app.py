"""POST /queues/{queue}/purge: empty a queue."""

from broker.http import Answer, Request, accepted, endpoint
from broker.wiring import queues as wiring

queues = wiring.queues()


@endpoint("POST /queues/{queue}/purge", who="admin")
def handler(request: Request) -> Answer:
    """Begin to remove everything but the dead letters."""
    queues.purge(request.caller, request.name("queue"))
    return accepted()
