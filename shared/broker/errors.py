"""What a caller can be told instead of an answer. No status codes here: `broker.http.problem` gives each its own.

The docstring of a class is the message, unless the place that raises it knows better.

BrokerError
├── InvalidRequest            the request cannot be understood; it changed nothing
│   ├── ValidationFailed      · members with their faults
│   ├── MalformedJson
│   ├── PayloadTooDeep
│   ├── InvalidToken
│   └── EncodingNotPreserved
├── Unauthenticated
├── Forbidden
├── NotFound
│   └── RouteNotFound
├── Conflict                  the request is fine, the state is not
│   ├── DuplicateName
│   ├── DefinitionMismatch
│   ├── QueueDisabled
│   ├── QueueEnabled
│   ├── TenantHasQueues
│   ├── AdminClient
│   ├── DuplicateKey
│   ├── QueueFull
│   ├── WrongQueueType
│   ├── LookupInUse
│   ├── AutoAckQueue
│   ├── LeaseLost
│   ├── Unacknowledged
│   └── IdempotencyInProgress
├── Gone                      it was there, and is not any more
│   ├── LeaseExpired
│   └── ResyncRequired
├── PreconditionFailed
├── NotAcceptable
├── UnsupportedMediaType
├── TooLarge
│   ├── PayloadTooLarge
│   └── TooManyEntries
├── Unprocessable             well formed, but its content cannot be worked with
│   ├── KeyFieldInvalid
│   ├── KeyNotFound
│   ├── ForeignKeyMissing
│   ├── PointInvalid
│   ├── BucketEvicted
│   ├── NotConvertible
│   └── IdempotencyMismatch
├── StorageFull
│   └── PartitionFull
├── NotNow                    nothing wrong with the request; the same one may succeed later
│   ├── Throttled
│   └── Unavailable
└── InternalError             a defect in this program
"""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar


class BrokerError(Exception):
    """The request was not carried out."""

    code: ClassVar[str] = ""

    def __init__(self, detail: str | None = None, **members: Any) -> None:
        self.detail = detail or inspect.cleandoc(type(self).__doc__ or "")
        self.members: Mapping[str, Any] = members
        super().__init__(self.detail)


class InvalidRequest(BrokerError):
    """The request cannot be understood."""


class ValidationFailed(InvalidRequest):
    """The request has members that are missing, unknown or out of bounds; see errors."""

    code = "validation_failed"

    def __init__(self, detail: str | None = None, *, errors: list[dict[str, str]]) -> None:
        super().__init__(detail, errors=errors)

    @classmethod
    def of(cls, field: str, message: str) -> "ValidationFailed":
        """One member with one fault."""
        return cls(f"{field}: {message}", errors=[{"field": field, "message": message}])


class MalformedJson(InvalidRequest):
    """The body is not JSON."""

    code = "malformed_json"


class PayloadTooDeep(InvalidRequest):
    """The payload is nested more than 64 levels deep; flatten it."""

    code = "payload_too_deep"


class InvalidToken(InvalidRequest):
    """This token was not given out for this request, or was altered; start again without it."""

    code = "invalid_token"


class EncodingNotPreserved(InvalidRequest):
    """The body was changed on the way in; send it as application/octet-stream with X-Document-Content-Type."""

    code = "encoding_not_preserved"


class Unauthenticated(BrokerError):
    """A valid API key is needed: Authorization: Bearer <client_id>.<secret>."""

    code = "unauthenticated"


class Forbidden(BrokerError):
    """The key is valid, but does not permit this."""

    code = "forbidden"


class NotFound(BrokerError):
    """There is nothing under this name or id."""

    code = "not_found"


class RouteNotFound(NotFound):
    """There is no such route; see the API description for the paths and methods."""

    code = "route_not_found"


class Conflict(BrokerError):
    """The request does not fit the present state."""

    code = "conflict"


class DuplicateName(Conflict):
    """The name is taken; choose another one."""

    code = "duplicate_name"


class DefinitionMismatch(Conflict):
    """A queue of this name exists with another definition; definitions are fixed for good."""

    code = "definition_mismatch"


class QueueDisabled(Conflict):
    """The queue is disabled; enable it first."""

    code = "queue_disabled"


class QueueEnabled(Conflict):
    """The queue is enabled; disable it before deleting it."""

    code = "queue_enabled"


class TenantHasQueues(Conflict):
    """The tenant still has queues; delete them first."""

    code = "tenant_has_queues"


class AdminClient(Conflict):
    """The tenant's admin can do everything and cannot be changed or deleted; its key can be rotated."""

    code = "admin_client"


class DuplicateKey(Conflict):
    """A message with this primary key is still in the queue."""

    code = "duplicate_key"


class QueueFull(Conflict):
    """The queue holds as many messages as its max_queue_depth allows."""

    code = "queue_full"


class WrongQueueType(Conflict):
    """Queues of this type do not do this."""

    code = "wrong_queue_type"


class LookupInUse(Conflict):
    """A stream queue looks its data up here; delete it first."""

    code = "lookup_in_use"


class AutoAckQueue(Conflict):
    """This queue settles messages when they are consumed; there is nothing to give back."""

    code = "auto_ack_queue"


class LeaseLost(Conflict):
    """The message has been delivered again, or was settled the other way; this lease means nothing any more."""

    code = "lease_lost"


class Unacknowledged(Conflict):
    """This consumer holds a message; settle it first."""

    code = "unacknowledged"


class IdempotencyInProgress(Conflict):
    """A request with this Idempotency-Key is still running; repeat it in a moment."""

    code = "idempotency_in_progress"


class Gone(BrokerError):
    """It is not there any more."""


class LeaseExpired(Gone):
    """The lease has run out; the message is due again."""

    code = "lease_expired"


class ResyncRequired(Gone):
    """Deletions older than this are forgotten; read all items, then go on from the answer's `next`."""

    code = "resync_required"


class PreconditionFailed(BrokerError):
    """The item has changed since the version in If-Match."""

    code = "precondition_failed"


class NotAcceptable(BrokerError):
    """The document cannot be shown in any format that Accept allows."""

    code = "not_acceptable"


class UnsupportedMediaType(BrokerError):
    """The queue does not take content of this type."""

    code = "unsupported_media_type"


class TooLarge(BrokerError):
    """The request is too large."""


class PayloadTooLarge(TooLarge):
    """The body or one of its payloads is over the limit."""

    code = "payload_too_large"


class TooManyEntries(TooLarge):
    """The batch has too many entries; split it."""

    code = "too_many_entries"


class Unprocessable(BrokerError):
    """The content cannot be worked with."""


class KeyFieldInvalid(Unprocessable):
    """A key field is absent, null, or not a string, number or boolean."""

    code = "key_field_invalid"


class KeyNotFound(Unprocessable):
    """The lookup queue has no item under the foreign key; the message is in the dead letters."""

    code = "key_not_found"


class ForeignKeyMissing(Unprocessable):
    """The message has no foreign key to look up; it is in the dead letters."""

    code = "foreign_key_missing"


class PointInvalid(Unprocessable):
    """The point's numbers or its time cannot be aggregated."""

    code = "point_invalid"


class BucketEvicted(Unprocessable):
    """The point is older than the oldest bucket that its full series keeps."""

    code = "bucket_evicted"


class NotConvertible(Unprocessable):
    """The document is not what its content type says."""

    code = "not_convertible"


class IdempotencyMismatch(Unprocessable):
    """This Idempotency-Key was used with another body; use a new key."""

    code = "idempotency_mismatch"


class StorageFull(BrokerError):
    """Storage has no room for this."""


class PartitionFull(StorageFull):
    """One partition of the queue holds all that it can; create the queue with a higher `partitions` setting."""

    code = "partition_full"


class NotNow(BrokerError):
    """Not now; the same request may succeed later."""


class Throttled(NotNow):
    """Storage asks for patience; repeat the request after the time in Retry-After."""

    code = "throttled"


class Unavailable(NotNow):
    """A service this depends on does not answer; repeat the request after the time in Retry-After."""

    code = "unavailable"


class InternalError(BrokerError):
    """This should not have happened; it has been recorded under the request id."""

    code = "internal_error"
