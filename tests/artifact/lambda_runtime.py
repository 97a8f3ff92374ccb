"""One function of a `sam build` artifact, run as Lambda runs it: AWS' own runtime client against a local Runtime API.

The interpreter has boto3 and the runtime client, as Lambda's image does, and is shut off from everything else: what the
function and its layers do not ship cannot be imported.
"""

import itertools
import json
import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tools.serving.template import Function

INTERPRETER = Path(__file__).parents[2] / ".tools" / "lambda" / "bin" / "python"
REGION = "us-east-1"
# Lambda's own order: the function, the layers, the image.
START = """import json, os, sys
sys.path[0:0] = json.loads(os.environ.pop("ARTIFACT_PATHS"))
from awslambdaric.__main__ import main
main(["bootstrap", os.environ["_HANDLER"]])"""


class FunctionError(Exception):
    """The function raised, did not start, or did not answer in time."""


@dataclass
class _Invocations:
    """Events on their way to the function, and its answers on their way back."""

    arn: str
    waiting: "queue.Queue[tuple[str, bytes, int] | None]" = field(default_factory=queue.Queue)
    answers: "queue.Queue[tuple[str, bytes]]" = field(default_factory=queue.Queue)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silence: functions are killed while they wait for their next event."""


class _RuntimeApi(BaseHTTPRequestHandler):
    """The few routes of the Runtime API that the client calls."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is one segment, else each waits for a delayed acknowledgement
    invocations: _Invocations

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it
        pass

    def do_GET(self) -> None:
        invocation = self.invocations.waiting.get()
        if invocation is None:
            self.close_connection = True
            return
        request_id, event, deadline_ms = invocation
        self._answer(
            200,
            event,
            {
                "Lambda-Runtime-Aws-Request-Id": request_id,
                "Lambda-Runtime-Deadline-Ms": str(deadline_ms),
                "Lambda-Runtime-Invoked-Function-Arn": self.invocations.arn,
                "Content-Type": "application/json",
            },
        )

    def do_POST(self) -> None:
        kind = self.path.rsplit("/", 1)[-1]
        self.invocations.answers.put((kind, self._body()))
        self._answer(202, b"{}", {})

    def _body(self) -> bytes:
        if "Content-Length" in self.headers:
            return self.rfile.read(int(self.headers["Content-Length"]))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass
class RunningFunction:
    """A warm function."""

    process: "subprocess.Popen[str]"
    timeout_seconds: int
    _invocations: _Invocations
    _output: list[str]
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def invoke(self, event: Mapping[str, Any]) -> Any:
        """What the handler returns for an event.

        Raises:
            FunctionError: It returned nothing.
        """
        deadline = time.time() + self.timeout_seconds
        request_id = f"00000000-0000-0000-0000-{next(self._numbers):012d}"
        self._invocations.waiting.put((request_id, json.dumps(event).encode(), int(deadline * 1000)))
        while time.time() < deadline:
            try:
                kind, body = self._invocations.answers.get(timeout=0.05)
            except queue.Empty:
                if self.process.poll() is not None:
                    raise FunctionError(f"exit {self.process.returncode}: {''.join(self._output)}") from None
                continue
            if kind == "response":
                return json.loads(body)
            raise FunctionError(f"{body.decode()}\n{''.join(self._output)}")
        raise FunctionError(f"no answer in {self.timeout_seconds} seconds: {''.join(self._output)}")


@contextmanager
def running(
    function: Function, *, layers: tuple[Path, ...], environment: Mapping[str, str]
) -> Iterator[RunningFunction]:
    """Start a built function, cold.

    Args:
        function: As the built template has it.
        layers: The built layers' folders.
        environment: Its variables, and `AWS_ENDPOINT_URL` for the engine that stands in for AWS.
    """
    invocations = _Invocations(arn=f"arn:aws:lambda:{REGION}:123456789012:function:{function.logical_id}")
    api = _Server(("127.0.0.1", 0), type("Api", (_RuntimeApi,), {"invocations": invocations}))
    threading.Thread(target=api.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    process = subprocess.Popen(
        [INTERPRETER, "-I", "-c", START],
        cwd=function.folder,
        env={
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TZ": ":UTC",
            "ARTIFACT_PATHS": json.dumps([str(function.folder), *(str(layer / "python") for layer in layers)]),
            "_HANDLER": function.handler,
            "LAMBDA_TASK_ROOT": str(function.folder),
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{api.server_port}",
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.11",
            "AWS_LAMBDA_FUNCTION_NAME": function.logical_id,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"{function.logical_id}Logs",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=output.extend, args=(process.stdout,), daemon=True)
    reader.start()
    try:
        yield RunningFunction(process, function.timeout_seconds, invocations, output)
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
        invocations.waiting.put(None)
        api.shutdown()
        api.server_close()
