"""Puts the local server together, and takes it apart again."""

import os
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.serving.backends import backend
from tools.serving.console import Console
from tools.serving.credentials import (
    PLATFORM_CLIENT,
    Credentials,
    demo_credentials,
    read_credentials,
    write_credentials,
)
from tools.serving.front import Front
from tools.serving.functions import Runtime
from tools.serving.gateway import Gateway
from tools.serving.routes import RouteTable
from tools.serving.schedules import Schedules
from tools.serving.settings import Settings, UsageError
from tools.serving.template import Template, read_template

# One line per request is enough: metrics and traces lead nowhere from here.
_QUIET = {"POWERTOOLS_METRICS_DISABLED": "true", "POWERTOOLS_TRACE_DISABLED": "true"}
# Would lead clients elsewhere than to the backend.
_ELSEWHERE = re.compile(
    "AWS_(ENDPOINT_URL.*|PROFILE|DEFAULT_PROFILE|SESSION_TOKEN|CONFIG_FILE|SHARED_CREDENTIALS_FILE)"
)
FINISH_SECONDS = 3


def run(settings: Settings, *, console: Console) -> None:
    """Serve until an exception, such as that of a signal, ends it; everything started is stopped on the way out.

    Raises:
        UsageError: The port is taken, or another setting cannot be met.
        TemplateError: The template cannot be followed.
        DemoError: The demo tenant could not be made.
    """
    template = read_template(settings.template)
    with (
        listening(settings) as listener,
        backend(state=settings.state, endpoint=settings.endpoint) as endpoint,
    ):
        runtime, platform_key = prepare(template, settings=settings, endpoint=endpoint)
        schedules = Schedules(template.functions, runtime=runtime, console=console)
        gateway = Gateway(RouteTable(template.functions), runtime, template.stage)
        with serving(Front(listener, gateway=gateway, console=console)) as front:
            url = settings.url(front.port) + ("" if template.stage == "$default" else f"/{template.stage}")
            credentials = introduce(url, platform_key=platform_key, settings=settings) if platform_key else None
            console.say(banner(url, credentials=credentials, settings=settings))
            schedules.start()
            try:
                threading.Event().wait()
            finally:
                schedules.stop()


@contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """Hold the port, before anything slow is started."""
    try:
        listener = socket.create_server((settings.host, settings.port), backlog=128)
    except OSError as error:
        place = f"port {settings.port} of {settings.host}"
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UsageError(f"cannot listen at {place}: {reason}. Choose another with PORT=<number>") from error
    with listener:
        yield listener


def prepare(template: Template, *, settings: Settings, endpoint: str | None) -> tuple[Runtime, str | None]:
    """Make tables, bucket, key and secret, and set the environment of the functions.

    Returns:
        What calls the functions, and the platform administrator's key (None if the template has none).
    """
    for name in [name for name in os.environ if _ELSEWHERE.fullmatch(name)]:
        del os.environ[name]
    from tools import tables  # half a second of boto3, after the port is held

    resources = tables.create(template, endpoint_url=endpoint)
    quiet = _QUIET | {"POWERTOOLS_LOG_LEVEL": settings.log_level}
    # All functions share this process and what they read from its environment once: it holds the variables of all of
    # them. Where two give one variable different values, each sees its own while it is imported.
    os.environ.update({**resources.environment, **quiet, "AWS_LAMBDA_FUNCTION_NAME": "local"})
    sys.path[:0] = [str(layer) for layer in template.layers]
    environments = {
        function.logical_id: {
            **{name: template.resolve(node, names=resources.names) for name, node in function.environment.items()},
            **quiet,
        }
        for function in template.functions
    }
    secret_ids = [
        f.environment["PLATFORM_SECRET_ID"] for f in template.functions if "PLATFORM_SECRET_ID" in f.environment
    ]
    platform_key = None
    if secret_ids:
        arn = template.resolve(secret_ids[0], names=resources.names)
        logical_id = next(name for name in resources.secret_values if resources.names[name] == arn)
        platform_key = f"{PLATFORM_CLIENT}.{resources.secret_values[logical_id]}"
    return Runtime(region=tables.REGION, environments=environments), platform_key


@contextmanager
def serving(front: Front) -> Iterator[Front]:
    """Accept connections while the block is open; requests under way at its end may finish."""
    thread = threading.Thread(target=front.serve_forever, args=(0.05,), name="front", daemon=True)
    thread.start()
    try:
        yield front
    finally:
        front.shutdown()
        front.finish(FINISH_SECONDS)


def introduce(url: str, *, platform_key: str, settings: Settings) -> Credentials:
    """Make the demo tenant, or find the one that was kept with the data, and write its key down."""
    settings.local.mkdir(exist_ok=True)
    current, keeper = settings.local / "credentials.json", _keeper(settings)
    credentials = demo_credentials(
        url, platform_key=platform_key, kept=read_credentials(keeper) if keeper is not None else None
    )
    for path in (current, keeper):
        if path is not None:
            write_credentials(credentials, path=path)
    return credentials


def banner(url: str, *, credentials: Credentials | None, settings: Settings) -> str:
    """What to tell the user once everything runs."""
    kept = settings.state or settings.endpoint
    lines = [
        f"Towpath listens at {url}",
        f"  data          {f'kept in {kept}' if kept else 'gone when the server stops'}",
    ]
    if credentials is not None:
        lines += [
            f"  platform key  {credentials.platform_key}",
            f"  tenant        {credentials.tenant_id}",
            f"  tenant key    {credentials.tenant_key}",
            f"  all in        {os.path.relpath(settings.local / 'credentials.json')}",
            "",
            "Make a log to begin with:",
            f"  curl -s {url}/queue/v1/namespaces/shop/queues \\",
            f"    -H 'Authorization: Bearer {credentials.tenant_key}' \\",
            "    -H 'Content-Type: application/json' -d '{\"queue\": \"orders\"}'",
            "",
        ]
    return "\n".join([*lines, "Ctrl-C stops it."])


def _keeper(settings: Settings) -> Path | None:
    """The file that stays with the data."""
    if settings.state is not None:
        return settings.state / "credentials.json"
    if settings.endpoint is not None:
        return settings.local / f"backend-{re.sub('[^A-Za-z0-9]+', '-', settings.endpoint)}.json"
    return None
