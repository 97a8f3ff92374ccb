"""The entry point of every function behind a schedule."""

from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools import Logger

from broker.http.startup import started
from broker.metrics import counting
from edge import time_limit

RESERVE_SECONDS = 1.0
logger = Logger()


def schedule(run: Callable[[], int]) -> Callable[[Mapping[str, Any], Any], dict[str, int]]:
    """Make a Lambda handler of scheduled work, which says how much it did.

    A failure fails the invocation, so that the platform counts it, repeats it, and puts it into the dead letter
    queue of schedules in the end.
    """

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, int]:
        with counting(), time_limit(context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS):
            done = run()
        logger.info("scheduled work", extra={"done": done, "event_id": event.get("id")})
        return {"done": done}

    started()
    return handler
