"""DELETE /queue/v1/namespaces/{namespace}/queues/{queue}/partitions/{partition}/messages: delete what was processed."""

from broker.http import Answer, Request, endpoint, ok
from broker.log.models import CommitQuery
from broker.wiring import log as wiring

log = wiring.log()


@endpoint("DELETE /queue/v1/namespaces/{namespace}/queues/{queue}/partitions/{partition}/messages", who="tenant")
def handler(request: Request) -> Answer:
    """Delete up to an offset, or what the polls behind a cursor returned."""
    namespace, queue, partition = request.name("namespace"), request.name("queue"), request.path_integer("partition")
    query = request.query(CommitQuery)
    return ok(
        log.commit(request.caller, namespace, queue, partition=partition, offset=query.offset, cursor=query.cursor)
    )
