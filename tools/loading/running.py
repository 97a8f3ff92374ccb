"""The processes of a load test: the server, and the workers, of which one is killed every few seconds."""

import contextlib
import itertools
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tools.engine_process import ROOT, free_port
from tools.loading.plan import SOURCES, WORKERS, Keys
from tools.ministack import ministack
from tools.serving.credentials import Credentials, read_credentials


class Server:
    """The local server, which injects faults while it is told to."""

    def __init__(self, process: "subprocess.Popen[bytes]", credentials: Credentials) -> None:
        self.credentials = credentials
        self._process = process

    def inject(self, on: bool) -> None:  # noqa: FBT001  # on or off
        """Begin to inject faults, or end it."""
        self._process.send_signal(signal.SIGUSR1 if on else signal.SIGUSR2)

    def memory(self) -> int:
        """Resident megabytes."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) // 1024


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Run the server on a ministack of its own. What it prints is `server.log`, its journal `server.journal`."""
    port = free_port()
    with _project() as project, ministack() as backend, (folder / "server.log").open("wb") as log:
        environment = {
            "PATH": "/usr/bin:/bin",
            "PORT": str(port),
            "TEMPLATE": str(project / "template.yaml"),
            "BACKEND": backend,
            "JOURNAL": str(folder / "server.journal"),
        }
        command = [sys.executable, "-m", "tools.loading.server"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log)
        try:
            yield Server(process, _ready(process, port=port, kept=project / ".local" / "credentials.json"))
        finally:
            process.terminate()
            process.wait(30)


@contextlib.contextmanager
def _project() -> Iterator[Path]:
    """The project in a folder of its own, so that the credentials of a server that is being used stay as they are."""
    with tempfile.TemporaryDirectory(prefix="towpath-load-") as scratch:
        shutil.copy(ROOT / "template.yaml", scratch)
        for name in ("functions", "layers", "shared"):
            (Path(scratch) / name).symlink_to(ROOT / name)
        yield Path(scratch)


def _ready(process: "subprocess.Popen[bytes]", *, port: int, kept: Path) -> Credentials:
    for _ in range(600):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
            if (credentials := read_credentials(kept)) is not None:
                return credentials
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError("the server did not start")


class Workers:
    """The worker processes.

    Attributes:
        killed: How many were killed and replaced.
    """

    def __init__(self, folder: Path, keys: Keys) -> None:
        self.killed = 0
        self._folder = folder
        self._keys = keys
        self._numbers = itertools.count()
        self._rng = random.Random(2)
        self._journals: dict[int, Path] = {}
        self._processes = [self._start(index) for index in range(len(WORKERS))]

    def journal(self, role: str, queue: str) -> Path:
        """The journal of the one process that has a role now."""
        return self._journals[WORKERS.index((role, queue))]

    def kill_one(self) -> None:
        """Kill any of them, in the middle of whatever it does, and start another in its place."""
        victim = self._rng.randrange(len(WORKERS))
        self._end([victim])
        self._processes[victim] = self._start(victim)
        self.killed += 1

    def end_sources(self) -> None:
        """Kill those that bring something in."""
        self._end([index for index, (role, _) in enumerate(WORKERS) if role in SOURCES])

    def end(self) -> None:
        """Kill all."""
        self._end(range(len(WORKERS)))

    def _start(self, index: int) -> "subprocess.Popen[bytes]":
        role, queue = WORKERS[index]
        self._journals[index] = self._folder / f"{queue}.{role}.{next(self._numbers)}.journal"
        command = [sys.executable, "-m", "tools.loading.work", role, queue]
        return subprocess.Popen([*command, self._keys.url, self._keys.of(queue), str(self._journals[index])], cwd=ROOT)

    def _end(self, indexes: "range | list[int]") -> None:
        for index in indexes:
            self._processes[index].kill()
            self._processes[index].wait()
