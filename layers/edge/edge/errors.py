"""What storage can answer instead of a result.

EdgeError
├── EdgeUnavailable      throttled, or out of reach, beyond the retries
├── ConditionFailed      the condition of one write did not hold: a domain answer
├── TransactionRefused   a condition inside a transaction did not hold: a domain answer
├── PartitionFull        a hash key of State has met DynamoDB's cap of 10 GB
├── EdgeRejected         the request itself is wrong: a defect in this program
└── BlobMissing          no object under this key
"""

from collections.abc import Mapping, Sequence
from typing import Any


class EdgeError(Exception):
    """Storage did not do what was asked."""


class EdgeUnavailable(EdgeError):
    """Storage did not answer within the retries.

    Attributes:
        throttled: True when the service asked for patience, False when it was out of reach or failed.
        maybe_done: True when one of the attempts may have taken effect although its answer never arrived.
    """

    def __init__(self, detail: str, *, throttled: bool = False, maybe_done: bool = False) -> None:
        super().__init__(detail)
        self.throttled = throttled
        self.maybe_done = maybe_done


class ConditionFailed(EdgeError):
    """The condition of a write did not hold; nothing was written by the attempt that was answered.

    Attributes:
        old: The row as it stands, None when there is none (or the engine does not tell).
        maybe_done: True when an earlier attempt of this same write may have taken effect without an answer, so
            that `old` may be this write's own doing.
    """

    def __init__(self, *, old: Mapping[str, Any] | None = None, maybe_done: bool = False) -> None:
        super().__init__("the condition did not hold")
        self.old = old
        self.maybe_done = maybe_done


class TransactionRefused(EdgeError):
    """A transaction was cancelled by one or more conditions; nothing of it was written.

    Attributes:
        failures: One entry per operation, in order: None where the operation itself was fine.
    """

    def __init__(self, failures: Sequence[ConditionFailed | None]) -> None:
        super().__init__("a condition in the transaction did not hold")
        self.failures = tuple(failures)

    @property
    def first(self) -> int:
        """The index of the first operation whose condition failed."""
        return next(index for index, failure in enumerate(self.failures) if failure is not None)


class PartitionFull(EdgeError):
    """One hash key of State holds the 10 GB that DynamoDB allows beside local indexes."""


class EdgeRejected(EdgeError):
    """The service called the request invalid or not permitted; repeating it cannot help."""


class BlobMissing(EdgeError):
    """There is no object under this key."""
