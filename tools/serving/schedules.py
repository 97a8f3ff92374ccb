"""Runs the schedules of the template: `rate(...)` expressions, first after one period, as AWS does."""

import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from tools.serving.console import Console
from tools.serving.events import ACCOUNT_ID
from tools.serving.functions import Failed, Returned, Runtime
from tools.serving.template import Function, Schedule, TemplateError

_UNITS = {"minute": 60, "hour": 3600, "day": 86_400}


def rate_seconds(expression: str) -> int:
    """The period of `rate(5 minutes)` in seconds.

    Raises:
        TemplateError: It is not a rate; `cron` and `at` are not run locally.
    """
    parts = re.fullmatch(r"rate\(([1-9][0-9]*) (minute|hour|day)s?\)", expression.strip())
    if parts is None:
        raise TemplateError(f"only rate(...) schedules run locally, not {expression}")
    return int(parts[1]) * _UNITS[parts[2]]


def scheduled_event(schedule: Schedule, *, region: str, event_id: str, now_ms: int) -> object:
    """The event a schedule passes to its function: its constant input, or EventBridge's `Scheduled Event`."""
    if schedule.input is not None:
        return json.loads(schedule.input)
    kind = "scheduler" if schedule.scheduler else "events"
    resource = f"schedule/default/{schedule.name}" if schedule.scheduler else f"rule/{schedule.name}"
    return {
        "version": "0",
        "id": event_id,
        "detail-type": "Scheduled Event",
        "source": f"aws.{kind}",
        "account": ACCOUNT_ID,
        "time": datetime.fromtimestamp(now_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": region,
        "resources": [f"arn:aws:{kind}:{region}:{ACCOUNT_ID}:{resource}"],
        "detail": "{}" if schedule.scheduler else {},  # a scheduler's is text
    }


class Schedules:
    """A thread per schedule, so that one that takes long delays no other; no schedule overlaps itself."""

    def __init__(
        self,
        functions: Iterable[Function],
        *,
        runtime: Runtime,
        console: Console,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        """Read every schedule.

        Raises:
            TemplateError: One of them is no rate.
        """
        self._runtime, self._console, self._now_ms = runtime, console, now_ms
        self._entries = [(f, s, rate_seconds(s.expression)) for f in functions for s in f.schedules]
        self._stopping = threading.Event()

    def start(self) -> None:
        """Begin to wait for the first run of each."""
        for function, schedule, period in self._entries:
            arguments = (function, schedule, period)
            threading.Thread(target=self._repeat, args=arguments, name=schedule.name, daemon=True).start()

    def stop(self) -> None:
        """Start no further run."""
        self._stopping.set()

    def run_once(self, function: Function, *, schedule: Schedule) -> None:
        """Run a schedule now and log it."""
        started = time.monotonic()
        event = scheduled_event(
            schedule, region=self._runtime.region, event_id=str(uuid.uuid4()), now_ms=self._now_ms()
        )
        outcome = self._runtime.invoke(function, event=event, wait_seconds=function.timeout_seconds)
        problem = ""
        if isinstance(outcome, Failed):
            problem = outcome.trace
        elif not isinstance(outcome, Returned):
            problem = f"no end within {outcome.seconds:g} s"
        self._console.schedule(function=function.name, seconds=time.monotonic() - started, problem=problem)

    def _repeat(self, function: Function, schedule: Schedule, period: int) -> None:
        while not self._stopping.wait(period):
            self.run_once(function, schedule=schedule)
