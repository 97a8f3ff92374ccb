"""Imports the handlers and calls them as Lambda does: one import each, a context, a time limit.

All functions live in one process here, so they share one environment and one copy of the layers, and a call that runs
into its time limit is abandoned, not killed. In Lambda every instance has its own.
"""

import importlib.util
import os
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tools.serving.events import ACCOUNT_ID
from tools.serving.template import Function

Handler = Callable[[Any, "LambdaContext"], Any]


@dataclass(frozen=True)
class LambdaContext:
    """What Lambda passes to a handler beside the event."""

    function_name: str
    memory_limit_in_mb: int
    invoked_function_arn: str
    aws_request_id: str
    deadline: float  # of time.monotonic()
    function_version: str = "$LATEST"
    log_group_name: str = ""
    log_stream_name: str = "local"
    identity: None = None
    client_context: None = None

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the function's time limit, never below 0."""
        return max(0, int((self.deadline - time.monotonic()) * 1000))


@dataclass(frozen=True)
class Returned:
    """The handler came back with a value."""

    value: object


@dataclass(frozen=True)
class Failed:
    """The handler, or its import, raised; `trace` is for the console only."""

    trace: str


@dataclass(frozen=True)
class TimedOut:
    """The handler did not come back within `seconds`; it may still be running."""

    seconds: float


Outcome = Returned | Failed | TimedOut


@dataclass
class Runtime:
    """Calls handlers. Each is imported when it is first called, once, with its own environment set."""

    region: str
    environments: Mapping[str, Mapping[str, str]]  # by the function's logical id, resolved
    _handlers: dict[str, Handler] = field(default_factory=dict)
    _importing: threading.Lock = field(default_factory=threading.Lock)

    def invoke(self, function: Function, *, event: object, wait_seconds: float) -> Outcome:
        """Call a handler in a thread of its own.

        Args:
            function: Which one.
            event: What to pass; plain JSON values.
            wait_seconds: How long the caller waits; the function's own Timeout ends the call too.
        """
        box: list[Outcome] = []
        limit = min(wait_seconds, function.timeout_seconds)
        worker = threading.Thread(
            target=lambda: box.append(self._call(function, event)), name=f"invoke-{function.name}", daemon=True
        )
        worker.start()
        worker.join(limit)
        return box[0] if box else TimedOut(limit)

    def _call(self, function: Function, event: object) -> Outcome:
        try:
            return Returned(self.handler(function)(event, self._context(function)))
        except BaseException:  # noqa: BLE001 - SystemExit too is only that function's failure
            return Failed(traceback.format_exc())

    def _context(self, function: Function) -> LambdaContext:
        return LambdaContext(
            function_name=function.logical_id,
            memory_limit_in_mb=function.memory_mb,
            invoked_function_arn=f"arn:aws:lambda:{self.region}:{ACCOUNT_ID}:function:{function.logical_id}",
            aws_request_id=str(uuid.uuid4()),
            deadline=time.monotonic() + function.timeout_seconds,
            log_group_name=f"/aws/lambda/{function.logical_id}",
        )

    def handler(self, function: Function) -> Handler:
        """The function's handler, imported if it is not yet."""
        with self._importing:
            if function.logical_id not in self._handlers:
                with _environment(self.environments.get(function.logical_id, {})):
                    self._handlers[function.logical_id] = _import(function)
            return self._handlers[function.logical_id]


def _import(function: Function) -> Handler:
    module_name, _, attribute = function.handler.rpartition(".")
    file = function.folder / f"{module_name}.py"
    name = f"functions.{function.name}.{module_name}"  # every folder calls its module app: the names must differ
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # the next call tries again, as a new Lambda instance would
        raise
    handler: Handler = getattr(module, attribute)
    return handler


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
