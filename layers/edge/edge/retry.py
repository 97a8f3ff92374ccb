"""The border: every AWS call passes `Retry.call`, which retries what may pass and translates what does not.

The SDK's own retries are off. It cannot know how long the function may still run, and it does not tell whether an
earlier attempt may have taken effect; both decide what a failed condition means.
"""

import contextlib
import contextvars
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError
from botocore.exceptions import ConnectionError as NoConnection

from edge.errors import (
    BlobMissing,
    ConditionFailed,
    EdgeRejected,
    EdgeUnavailable,
    PartitionFull,
    TransactionRefused,
)
from edge.values import decode_row

THROTTLES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "SlowDown",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
CONFLICTS = frozenset({"TransactionConflict", "TransactionConflictException", "TransactionInProgressException"})
MISSING = frozenset({"NoSuchKey", "404"})

_ends_at: contextvars.ContextVar[float | None] = contextvars.ContextVar("edge_ends_at", default=None)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Bound all storage work inside the block: no retry starts that could not end within `seconds`."""
    token = _ends_at.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends_at.reset(token)


def remaining_seconds() -> float:
    """Seconds left of the innermost `time_limit`, infinity outside of one; negative once it has passed."""
    ends_at = _ends_at.get()
    return float("inf") if ends_at is None else ends_at - time.monotonic()


@dataclass(frozen=True, slots=True)
class Retry:
    """Full-jitter exponential backoff, bounded by a number of attempts and by the time that is left.

    Attributes:
        attempts: Attempts in all, at least 1.
        base_seconds: The first pause is drawn from [0, base_seconds), the next from twice that, and so on.
        cap_seconds: No single pause is longer.
        reserve_seconds: Time that must be left after a pause, for the attempt itself and the answer.
    """

    attempts: int = 8
    base_seconds: float = 0.03
    cap_seconds: float = 1.0
    reserve_seconds: float = 1.0
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = random.random

    def call(
        self,
        operation: Callable[..., Any],
        *,
        on_lost: Callable[[], None] | None = None,
        stored: Callable[[], bool] | None = None,
        **request: Any,
    ) -> Any:
        """Call one AWS operation until it answers.

        `on_lost` is told of every attempt that may have taken effect without an answer, also when a later one
        succeeds: a batch needs to know, as its success may be partial.

        `stored` is given for a write that must never take effect twice, because what it stores may be used up at once:
        after a lost answer it is not repeated, but asked whether what it stores is there.

        Raises:
            ConditionFailed, TransactionRefused: A condition did not hold.
            EdgeUnavailable: It did not answer within the attempts and the time left.
            PartitionFull, EdgeRejected, BlobMissing: As their names say.
        """
        maybe_done, attempt = False, 0
        while True:
            try:
                return operation(**request)
            except ClientError as error:
                throttled, lost = _judge(error, maybe_done=maybe_done)
                cause: Exception = error
            except BotoCoreError as error:
                if not isinstance(error, (NoConnection, HTTPClientError, IncompleteReadError)):
                    raise EdgeRejected(str(error)) from error
                throttled, lost, cause = False, not isinstance(error, NoConnection), error
            if lost:
                maybe_done = True
                if on_lost is not None:
                    on_lost()
                if stored is not None:
                    return _must_be(stored)
            if attempt + 1 == self.attempts or not self.pause(attempt):
                raise EdgeUnavailable(str(cause), throttled=throttled, maybe_done=maybe_done) from cause
            attempt += 1

    def pause(self, attempt: int) -> bool:
        """Wait before the attempt after `attempt` (from 0). False, at once, when too little time is left."""
        seconds = self.draw() * min(self.cap_seconds, self.base_seconds * 2**attempt)
        if remaining_seconds() < seconds + self.reserve_seconds:
            return False
        self.sleep(seconds)
        return True

    def pause_or_raise(self, attempt: int) -> None:
        """Wait before asking again for what the service left unprocessed.

        Raises:
            EdgeUnavailable: The attempts or the time are used up.
        """
        if attempt + 1 >= self.attempts or not self.pause(attempt):
            raise EdgeUnavailable("requests were left unprocessed", throttled=True)


def _must_be(stored: Callable[[], bool]) -> None:
    """Return when a write whose answer was lost has taken effect.

    Raises:
        EdgeUnavailable: What it stores is not there: it was never stored, or is gone again.
    """
    try:
        there = stored()
    except EdgeUnavailable as error:
        raise EdgeUnavailable(str(error), throttled=error.throttled, maybe_done=True) from error
    if not there:
        raise EdgeUnavailable("an answer was lost, and what was to be stored is not there", maybe_done=True)


def _judge(error: ClientError, *, maybe_done: bool) -> tuple[bool, bool]:
    """Say (throttled, answer lost) of an error worth another attempt; raise the domain's error for any other."""
    code = error.response.get("Error", {}).get("Code", "")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code == "ConditionalCheckFailedException":
        raise ConditionFailed(old=_old(error.response), maybe_done=maybe_done) from error
    if code == "TransactionCanceledException":
        return _judge_cancelled(error, maybe_done=maybe_done)
    if code in THROTTLES or code in CONFLICTS:
        return True, False
    if code in MISSING:
        raise BlobMissing(str(error)) from error
    if code == "ItemCollectionSizeLimitExceededException":
        raise PartitionFull(str(error)) from error
    if status >= 500 or code in {"InternalServerError", "InternalError", "ServiceUnavailable", "RequestTimeout"}:
        return False, True
    raise EdgeRejected(str(error)) from error


def _judge_cancelled(error: ClientError, *, maybe_done: bool) -> tuple[bool, bool]:
    reasons: list[Mapping[str, Any]] = list(error.response.get("CancellationReasons") or [])
    codes = [reason.get("Code") for reason in reasons]
    if "ConditionalCheckFailed" in codes:
        failures = [
            ConditionFailed(old=_old(reason), maybe_done=maybe_done)
            if reason.get("Code") == "ConditionalCheckFailed"
            else None
            for reason in reasons
        ]
        raise TransactionRefused(failures) from error
    if "ItemCollectionSizeLimitExceeded" in codes:
        raise PartitionFull(str(error)) from error
    if any(code in THROTTLES or code in CONFLICTS for code in codes):
        return True, False
    raise EdgeRejected(str(error)) from error


def _old(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    item = answer.get("Item")
    return decode_row(item) if item else None
