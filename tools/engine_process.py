"""A local engine as a process: started on a free loopback port, and gone when the block ends, however it ends.

The engine's standard input is a pipe that only this process holds open. Should this process be killed, the pipe ends
and with it the engine, so that none is ever left behind. Engines do not hear a Ctrl-C of the terminal: they are told to
stop when the block ends, which lets one that saves its state do so.
"""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent
START_SECONDS = 60.0
STOP_SECONDS = 20.0


class EngineError(Exception):
    """An engine is not installed, or did not start."""


def installed(variable: str, default: str) -> pathlib.Path:
    """The path in an environment variable, by default one inside the repository.

    Raises:
        EngineError: There is nothing there.
    """
    path = pathlib.Path(os.environ.get(variable) or ROOT / default)
    if not path.exists():
        raise EngineError(f"{path} is missing: run `make install`, or set {variable}")
    return path


def free_port() -> int:
    """A loopback port that nothing listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(
    command: Sequence[str | pathlib.Path], *, url: str, ready: str = "/", environment: Mapping[str, str]
) -> Iterator[str]:
    """Run an engine while the block is open.

    Args:
        command: The program, which ends when its standard input does, and on SIGTERM.
        url: Where it will answer.
        ready: The path that it answers, with whatever status, once it is ready.
        environment: All of its environment variables, but for the few that every program needs.

    Yields:
        The URL.

    Raises:
        EngineError: It ended, or did not answer in time; the message has what it printed.
    """
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command,
            env={**inherited, **environment},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            if not _answers(process, url + ready):
                log.seek(0)
                raise EngineError(f"{command[0]} did not start:\n{log.read().decode(errors='replace')}")
            yield url
        finally:
            _stop(process)


def _answers(process: "subprocess.Popen[bytes]", url: str) -> bool:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except urllib.error.HTTPError as answer:
            answer.close()
        except OSError:
            time.sleep(0.02)
            continue
        return True
    return False


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Ask, wait, and then insist; what the engine itself started goes with it."""
    try:
        process.terminate()
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
