"""What failures of storage mean to callers."""

from broker.errors import BrokerError, PartitionFull, Throttled, Unavailable
from edge import EdgeUnavailable
from edge import PartitionFull as EdgePartitionFull

FAILURES = (BrokerError, EdgeUnavailable, EdgePartitionFull)
"""What may come of one of many messages and must not touch the others."""


def told(failure: BrokerError | EdgeUnavailable | EdgePartitionFull) -> BrokerError:
    """What a failure means to the caller. Throttled is what certainly was not done."""
    if isinstance(failure, BrokerError):
        return failure
    if isinstance(failure, EdgePartitionFull):
        return PartitionFull()
    return Throttled() if failure.throttled and not failure.maybe_done else Unavailable()
