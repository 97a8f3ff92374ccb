"""POST /queue/v1/namespaces/{namespace}/queues: define a partitioned log."""

from broker.http import Answer, Request, endpoint, ok
from broker.log.models import CreateRequest
from broker.wiring import log as wiring

definitions = wiring.definitions()


@endpoint("POST /queue/v1/namespaces/{namespace}/queues", who="admin")
def handler(request: Request) -> Answer:
    """Define it, or find it defined just so."""
    body, namespace = request.json(CreateRequest), request.name("namespace")
    return ok(
        definitions.create(
            request.caller, namespace, queue=body.queue, partitions=body.partitions, storage=body.storage
        )
    )
