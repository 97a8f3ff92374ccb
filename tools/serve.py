"""The local server: `make run`.

Serves the functions of template.yaml as they are, behind an imitation of API Gateway. Settings come from the
environment, where make puts them:

- `PORT` (3000) and `HOST` (127.0.0.1; any other address can be reached by others);
- `STATE`, a folder that keeps the data between runs;
- `BACKEND`, the URL of an AWS-compatible endpoint to use instead;
- `TEMPLATE` (template.yaml), `POWERTOOLS_LOG_LEVEL` (WARNING).
"""

import os
import signal
import sys

from tools.engine_process import EngineError
from tools.serving.console import Console, WithoutMetrics, quiet_threads
from tools.serving.credentials import DemoError
from tools.serving.server import run
from tools.serving.settings import Settings, UsageError
from tools.serving.template import TemplateError


class InterruptedBySignal(BaseException):
    """Ctrl-C or SIGTERM: unwinds the main thread, wherever it is."""


def main() -> int:
    """Run until interrupted; the exit status is 0 then, and 1 if the server could not start."""
    console = Console(sys.stdout)
    sys.stdout = WithoutMetrics(sys.stdout)
    quiet_threads(console)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        run(Settings.of(os.environ), console=console)
    except (UsageError, TemplateError, EngineError, DemoError) as error:
        console.say(f"towpath: {error}")
        return 1
    except InterruptedBySignal:
        console.say("stopped")
    return 0


def _interrupt(*_: object) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # once is enough: what was started is being stopped
    raise InterruptedBySignal


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # at once: connections and abandoned calls may still have threads, which must not print
