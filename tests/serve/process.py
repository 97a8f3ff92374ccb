"""The local server as a process of its own."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BANNER_END = "Ctrl-C stops it."


@dataclass
class Server:
    """A running server; `folder` is the project's."""

    process: "subprocess.Popen[str]"
    banner: list[str]
    folder: Path

    @property
    def port(self) -> int:
        return int(self.banner[0].rsplit(":", 1)[1])

    def credentials(self) -> dict[str, str]:
        kept: dict[str, str] = json.loads((self.folder / ".local/credentials.json").read_text())
        return kept

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def call(self, method: str, path: str, **kwargs: Any) -> tuple[int, bytes]:
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, **kwargs)
            response = connection.getresponse()
            return response.status, response.read()

    def raw(self, data: bytes) -> bytes:
        """Send bytes, and receive until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Interrupt it; the exit status and what it printed since it started."""
        self.process.send_signal(number)
        output, _ = self.process.communicate(timeout=30)
        return self.process.returncode, output


@contextlib.contextmanager
def running(template: Path, **variables: str) -> Iterator[Server]:
    environment = {k: v for k, v in os.environ.items() if k not in ("PORT", "STATE", "BACKEND", "HOST")}
    environment |= {"PORT": "0", "TEMPLATE": str(template)} | variables
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.serve"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if lines[-1] == BANNER_END:
                break
        else:
            raise AssertionError("\n".join(lines))
        banner = [line for line in lines if not line[:1].isdigit()]  # without the log of the demo tenant's requests
        yield Server(process, banner, template.parent)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()
