"""The entry point of every function behind a route: authentication, the call, and its answer or its problem."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from aws_lambda_powertools import Logger

from broker import wiring
from broker.caller import Caller
from broker.errors import BrokerError, Forbidden
from broker.http.answer import Answer
from broker.http.problem import problem, translate
from broker.http.request import Request, read_headers
from broker.http.startup import started
from broker.metrics import counting
from edge import time_limit

Who: TypeAlias = Literal["anyone", "anybody_known", "tenant", "admin", "platform"]
Handler: TypeAlias = Callable[[Mapping[str, Any], Any], dict[str, Any]]

ANSWER_SECONDS = 0.5
"""Time kept back from storage for making and sending the answer."""

ANYONE = Caller("client", "", "")
logger = Logger()


def endpoint(
    route: str, *, who: Who, idempotent: Callable[[Request], str] | None = None
) -> Callable[[Callable[[Request], Answer]], Handler]:
    """Make a Lambda handler of a function that answers one route.

    Args:
        route: Method and path template, as in template.yaml.
        who: Which principals it serves: `anyone` without a key, `anybody_known` with any key, `tenant` admins and
            clients of tenants (permissions on queues are the services' business), `admin` tenant admins, `platform`.
        idempotent: Where `Idempotency-Key` is honoured: finds the id of the queue that keys are scoped to, and
            refuses a caller who may not do this to it.
    """

    def decorate(call: Callable[[Request], Answer]) -> Handler:
        def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
            request_id = str((event.get("requestContext") or {}).get("requestId") or context.aws_request_id)
            with counting(), time_limit(context.get_remaining_time_in_millis() / 1000 - ANSWER_SECONDS):
                try:
                    headers = read_headers(event)
                    caller = _admit(headers.get("authorization"), who)
                    request = Request(event, route, caller, request_id, wiring.ids())
                    answer = _answer(call, request, context, idempotent=idempotent)
                except Exception as error:  # noqa: BLE001  # whatever happens, the caller gets a problem document
                    answer = problem(_tell(error, route, request_id))
            return answer.event(request_id=request_id)

        started()
        return handler

    return decorate


def _admit(header: str | None, who: Who) -> Caller:
    if who == "anyone":
        return ANYONE
    caller = wiring.authentication().caller(header)
    allowed = {
        "anybody_known": True,
        "tenant": caller.role != "platform",
        "admin": caller.role == "admin",
        "platform": caller.role == "platform",
    }
    if not allowed[who]:
        raise Forbidden
    return caller


def _answer(
    call: Callable[[Request], Answer], request: Request, context: Any, *, idempotent: Callable[[Request], str] | None
) -> Answer:
    if idempotent is None or "idempotency-key" not in request.headers:
        return call(request)
    from broker.http.idempotency import answer_once  # 40 ms that few requests need

    return answer_once(call, request, context, queue_id=idempotent(request))


def _tell(error: Exception, route: str, request_id: str) -> BrokerError:
    told = translate(error)
    if told is not error:
        logger.error(
            "request failed",
            extra={"route": route, "request_id": request_id, "code": told.code, "cause": repr(error)},
            exc_info=told.code == "internal_error",
        )
    return told
