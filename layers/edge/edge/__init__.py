"""The edge layer: the only code that calls DynamoDB and S3. It knows no queue, no tenant and no HTTP."""

from edge.blobs import BlobStore
from edge.edges import EdgeTable
from edge.errors import (
    BlobMissing,
    ConditionFailed,
    EdgeError,
    EdgeRejected,
    EdgeUnavailable,
    PartitionFull,
    TransactionRefused,
)
from edge.record import Edge, EdgePage, Position, Removed
from edge.retry import Retry, remaining_seconds, time_limit
from edge.state import Row, StatePage, StateTable
from edge.transaction import Operation, transact
from edge.values import Value

__all__ = [
    "BlobMissing",
    "BlobStore",
    "ConditionFailed",
    "Edge",
    "EdgeError",
    "EdgePage",
    "EdgeRejected",
    "EdgeTable",
    "EdgeUnavailable",
    "Operation",
    "PartitionFull",
    "Position",
    "Removed",
    "Retry",
    "Row",
    "StatePage",
    "StateTable",
    "TransactionRefused",
    "Value",
    "remaining_seconds",
    "time_limit",
    "transact",
]
