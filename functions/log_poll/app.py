"""GET /queue/v1/namespaces/{namespace}/queues/{queue}/partitions/{partition}/poll: read a partition forward."""

from broker.http import Answer, Request, endpoint, ok
from broker.log.models import PollQuery
from broker.wiring import log as wiring

log = wiring.log()


@endpoint("GET /queue/v1/namespaces/{namespace}/queues/{queue}/partitions/{partition}/poll", who="tenant")
def handler(request: Request) -> Answer:
    """Read one page."""
    namespace, queue, partition = request.name("namespace"), request.name("queue"), request.path_integer("partition")
    query = request.query(PollQuery)
    return ok(log.poll(request.caller, namespace, queue, partition=partition, **query.model_dump()))
