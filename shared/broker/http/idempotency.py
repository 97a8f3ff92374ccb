"""`Idempotency-Key`: the same request again is answered as the first time, and stores nothing.

Powertools keeps the answers; this module says what is the same. The ids that a request makes are derived from the
moment of its first attempt, so that even an attempt that died after storing, and is carried out again, stores the
same records under the same keys.
"""

import copy
import functools
import hashlib
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    BaseError,
    IdempotencyAlreadyInProgressError,
    IdempotencyValidationError,
)

from broker import jsontext, keys, wiring
from broker.errors import IdempotencyInProgress, IdempotencyMismatch, Unavailable, ValidationFailed
from broker.http.answer import Answer
from broker.http.request import Request
from broker.ids import SeededIds
from edge import ConditionFailed
from edge.clients import make_client

KEY_MOST = 128
KEPT_SECONDS = 24 * 3600
_MARGIN_SECONDS = 60
_SDK_ATTEMPTS = 4


def answer_once(call: Callable[[Request], Answer], request: Request, context: Any, *, queue_id: str) -> Answer:
    """The answer of `call`, or the one it gave to the same request within the last 24 hours. Failures are not kept.

    Raises:
        ValidationFailed: The key is empty, too long or not printable ASCII.
        IdempotencyMismatch: The key was used with another body.
        IdempotencyInProgress: The first request is still running.
        Unavailable: What was answered before cannot be found out now; nothing was done.
    """
    key = request.headers["idempotency-key"]
    if not (0 < len(key) <= KEY_MOST and key.isascii() and key.isprintable()):
        raise ValidationFailed.of("Idempotency-Key", f"must be 1 to {KEY_MOST} printable ASCII characters")
    parts = [request.caller.tenant_id, request.route, queue_id, key]
    scope = hashlib.sha256(jsontext.dumps(parts)).hexdigest()
    body = hashlib.sha256(jsontext.dumps(_decisive(request)) + request.body).hexdigest()

    def once(*, data: dict[str, str]) -> dict[str, Any]:
        answer = call(_with_ids(request, scope=scope, body=data["body"]))
        return {"status": answer.status, "body": (answer.body or b"").decode(), "headers": dict(answer.headers)}

    guarded = idempotent_function(
        once,
        data_keyword_argument="data",
        persistence_store=_store(scope),
        config=IdempotencyConfig(
            event_key_jmespath="key",
            payload_validation_jmespath="body",
            raise_on_no_idempotency_key=True,
            expires_after_seconds=KEPT_SECONDS,
            hash_function="sha256",
            lambda_context=context,
        ),
        key_prefix="answer",
    )
    try:
        kept = guarded(data={"key": scope, "body": body})
    except IdempotencyValidationError as error:
        raise IdempotencyMismatch from error
    except IdempotencyAlreadyInProgressError as error:
        raise IdempotencyInProgress from error
    except BaseError as error:
        raise Unavailable("Whether this request was answered before cannot be found out now.") from error
    return Answer(int(kept["status"]), str(kept["body"]).encode(), dict(kept["headers"]))


def _decisive(request: Request) -> list[str]:
    """The headers, beside the body, that decide what the request does."""
    names = [name for name in request.headers if name.startswith("x-document-") or name == "if-match"]
    if any(name.startswith("x-document-") for name in names):
        names.append("content-type")
    return [f"{name}: {request.headers.get(name)}" for name in sorted(names)]


def _store(scope: str) -> DynamoDBPersistenceLayer:
    store = copy.copy(_pattern(wiring.settings().state_table))
    store.static_pk_value = keys.idempotency(scope)
    return store


@functools.cache
def _pattern(table: str) -> DynamoDBPersistenceLayer:
    """What all stores are copies of: each that is made anew hangs a handler on the client, which is never taken off."""
    return DynamoDBPersistenceLayer(
        table_name=table,
        key_attr="pk",
        sort_key_attr="sk",
        static_pk_value="",
        expiry_attr="ttl",
        boto3_client=make_client("dynamodb", attempts=_SDK_ATTEMPTS),
    )


def _with_ids(request: Request, *, scope: str, body: str) -> Request:
    """The request with ids derived from the moment of its first attempt, which is noted for as long as an answer."""
    now = wiring.clock()
    seed = f"{scope}{body}".encode()
    fresh_from = now - (KEPT_SECONDS - _MARGIN_SECONDS) * 1000
    try:
        again = False
        row = wiring.state().update(
            keys.idempotency(scope),
            keys.ATTEMPT,
            "SET #at = :now, #ttl = :ttl",
            values={"now": now, "ttl": now // 1000 + KEPT_SECONDS, "from": fresh_from},
            condition="attribute_not_exists(#at) OR #at < :from",
        )
    except ConditionFailed as failure:
        again = True
        row = dict(failure.old or wiring.state().get(keys.idempotency(scope), keys.ATTEMPT) or {"at": now})
    ids = SeededIds(int(str(row["at"])), seed=seed, again=again)
    return Request(request.event, request.route, request.caller, request.request_id, ids)
