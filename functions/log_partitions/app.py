"""GET /queue/v1/namespaces/{namespace}/queues/{queue}/partitions: how many partitions a log has."""

from broker.http import Answer, Request, endpoint, ok
from broker.wiring import log as wiring

definitions = wiring.definitions()


@endpoint("GET /queue/v1/namespaces/{namespace}/queues/{queue}/partitions", who="tenant")
def handler(request: Request) -> Answer:
    """Show the number of partitions."""
    log = definitions.find(request.caller, request.name("namespace"), request.name("queue"), action=None)
    return ok({"namespace": log.namespace, "queue": log.queue, "partitions": log.partitions})
