"""What to-many queues tell about themselves as metrics; see docs/operations.md."""

from broker import metrics
from broker.queues.queue import Queue


def count(queue: Queue, name: str, value: float = 1) -> None:
    """Add to a metric of a queue's type."""
    metrics.count(name, value, kind=queue.type, tenant_id=queue.tenant_id, queue_id=queue.queue_id)
