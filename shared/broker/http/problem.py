"""Errors as RFC 9457 problem details; the one place where they meet HTTP statuses."""

from http import HTTPStatus

from broker import errors
from broker.errors import BrokerError
from broker.failures import told
from broker.http.answer import Answer, json_answer
from edge import ConditionFailed, EdgeUnavailable, TransactionRefused
from edge import PartitionFull as EdgePartitionFull

RETRY_AFTER_SECONDS = 2

STATUS: dict[type[BrokerError], int] = {
    errors.ValidationFailed: 400,
    errors.MalformedJson: 400,
    errors.PayloadTooDeep: 400,
    errors.InvalidToken: 400,
    errors.EncodingNotPreserved: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.RouteNotFound: 404,
    errors.Conflict: 409,
    errors.DuplicateName: 409,
    errors.DefinitionMismatch: 409,
    errors.QueueDisabled: 409,
    errors.QueueEnabled: 409,
    errors.TenantHasQueues: 409,
    errors.AdminClient: 409,
    errors.DuplicateKey: 409,
    errors.QueueFull: 409,
    errors.WrongQueueType: 409,
    errors.LookupInUse: 409,
    errors.AutoAckQueue: 409,
    errors.LeaseLost: 409,
    errors.Unacknowledged: 409,
    errors.IdempotencyInProgress: 409,
    errors.NotAcceptable: 406,
    errors.LeaseExpired: 410,
    errors.ResyncRequired: 410,
    errors.PreconditionFailed: 412,
    errors.PayloadTooLarge: 413,
    errors.TooManyEntries: 413,
    errors.UnsupportedMediaType: 415,
    errors.KeyFieldInvalid: 422,
    errors.KeyNotFound: 422,
    errors.ForeignKeyMissing: 422,
    errors.PointInvalid: 422,
    errors.BucketEvicted: 422,
    errors.NotConvertible: 422,
    errors.IdempotencyMismatch: 422,
    errors.InternalError: 500,
    errors.Throttled: 503,
    errors.Unavailable: 503,
    errors.PartitionFull: 507,
}


def problem(error: BrokerError) -> Answer:
    """The answer that tells an error."""
    status = STATUS[type(error)]
    document = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": error.code,
        "detail": error.detail,
        **error.members,
    }
    answer = json_answer(status, document, content_type="application/problem+json")
    headers = dict(answer.headers)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["retry-after"] = str(RETRY_AFTER_SECONDS)
    if status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    return Answer(status, answer.body, headers)


def translate(error: Exception) -> BrokerError:
    """What an exception that reached the entry point means to the caller."""
    if isinstance(error, BrokerError) and type(error) in STATUS:
        return error
    if isinstance(error, (EdgeUnavailable, EdgePartitionFull)):
        return told(error)
    if isinstance(error, (ConditionFailed, TransactionRefused)):
        return errors.Conflict("Another request changed this at the same moment; look again, then repeat.")
    return errors.InternalError()
