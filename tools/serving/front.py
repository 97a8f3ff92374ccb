"""HTTP/1.1 on a socket: a thread per connection, kept alive, answers in one piece.

`http.server` reads request line and headers; bodies, errors and answers are made here, because the gateway answers JSON
and because an answer written in small pieces waits 40 ms for the client's acknowledgement.
"""

import contextlib
import email.errors
import http.server
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http import HTTPStatus
from typing import BinaryIO, cast

from tools.serving.answers import HttpAnswer, gateway_answer
from tools.serving.bodies import (
    HEAD_BYTES,
    BadBodyError,
    BodyTooLargeError,
    declared_length,
    head_bytes,
    read_body,
)
from tools.serving.console import Console
from tools.serving.events import HttpRequest
from tools.serving.gateway import Gateway, Served
from tools.serving.paths import split_target

IDLE_SECONDS = 60
LINGER_SECONDS = 2
_BODILESS = frozenset({204, 304})
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


# What the parser, made for mail, misses where a head ends and a body of several parts has not begun.
BODY_DEFECTS = (
    email.errors.MultipartInvariantViolationDefect,
    email.errors.NoBoundaryInMultipartDefect,
    email.errors.StartBoundaryNotFoundDefect,
)


class Front(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Serves each connection in a thread that does not outlive the process."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listener: socket.socket, *, gateway: Gateway, console: Console) -> None:
        """Take over a listening socket."""
        super().__init__(listener.getsockname(), Connection, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.gateway, self.console = gateway, console
        self._under_way = 0
        self._changed = threading.Condition()

    @property
    def port(self) -> int:
        """The port that was bound; another than was asked for if that was 0."""
        return int(self.server_address[1])

    @contextlib.contextmanager
    def request_under_way(self) -> Iterator[None]:
        """Count a request that `finish` should wait for."""
        with self._changed:
            self._under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def finish(self, seconds: float) -> None:
        """Wait for the requests under way, for a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._under_way == 0, timeout=seconds)

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - the signature is socketserver's
        """A client that goes away in the middle of things is nobody's failure."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            self.console.failure("connection", error)


class Connection(http.server.BaseHTTPRequestHandler):
    """One client's connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # buffered: head and body leave as one segment
    disable_nagle_algorithm = True
    timeout = IDLE_SECONDS
    server: Front

    def handle_one_request(self) -> None:
        """Read, answer and log one request."""
        self.close_connection = True
        self.requestline, self.request_version, self.command = "", "HTTP/1.1", ""
        try:
            self.raw_requestline = self.rfile.readline(HEAD_BYTES + 1)
            if not self.raw_requestline.strip(b"\r\n") and self.raw_requestline:  # RFC 9112, 2.2: one may come first
                self.raw_requestline = self.rfile.readline(HEAD_BYTES + 1)
        except TimeoutError:
            return
        if not self.raw_requestline:
            return
        started = time.monotonic()
        if len(self.raw_requestline) > HEAD_BYTES:
            self.refuse(431)
        elif self.parse_request():  # refuses by itself, through send_error
            with self.server.request_under_way():
                self.answer(started)

    def answer(self, started: float) -> None:
        """Read the body of the request whose head was parsed, have it served, and send the answer."""
        path, query = self.target()
        headers = tuple(self.headers.items())
        try:
            body = read_body(cast("BinaryIO", self.rfile), length=declared_length(headers))
        except BodyTooLargeError:
            self.refuse(413)
            return
        except BadBodyError:
            self.refuse(400)
            return
        request = HttpRequest(
            method=self.command,
            path=path,
            query=query,
            protocol=self.request_version,
            headers=headers,
            body=body,
            source_ip=str(self.client_address[0]),
            port=self.server.port,
        )
        served = self.server.gateway.serve(request)
        self.server.console.request(  # first, so that who has the answer finds it there
            method=self.command,
            path=path,
            status=served.answer.status,
            seconds=time.monotonic() - started,
            function=served.function,
            problem=served.answer.problem,
        )
        self.write(served)

    def parse_request(self) -> bool:
        """Parse the head as `http.server` does, and hold it to the gateway's size."""
        if not super().parse_request():
            return False
        if head_bytes(self.requestline, self.headers.items()) > HEAD_BYTES:
            self.refuse(431)
            return False
        defects = [defect for defect in self.headers.defects if not isinstance(defect, BODY_DEFECTS)]
        if defects or self.request_version == "HTTP/0.9":
            self.refuse(400)
            return False
        return True

    def target(self) -> tuple[str, str]:
        """Path and query as sent; `http.server` would fold leading slashes."""
        words = self.requestline.split()
        return split_target(words[1]) if len(words) > 1 else ("-", "")

    def handle_expect_100(self) -> bool:
        """Tell a client to send its body, unless it is refused already for its length."""
        try:
            declared_length(self.headers.items())
        except (BodyTooLargeError, BadBodyError):
            return True  # refused where every body is
        self.send_response_only(HTTPStatus.CONTINUE)
        self.end_headers()
        self.wfile.flush()
        return True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse what `http.server` could not parse, in the gateway's words."""
        self.refuse(code if code in (431, 505) else 400)

    def refuse(self, status: int) -> None:
        """Answer without asking a function, and close: what follows on the connection is not known."""
        self.close_connection = True
        message = {400: "Bad Request", 413: "Request Entity Too Large"}.get(status, _PHRASES[status])
        path = self.target()[0]
        self.server.console.request(
            method=self.command or "-", path=path, status=status, seconds=0, function="", problem=""
        )
        self.write(Served(gateway_answer(status, message=message), request_id=""))
        self.drain()

    def write(self, served: Served) -> None:
        """Send an answer in one piece."""
        answer: HttpAnswer = served.answer
        head = [f"HTTP/1.1 {answer.status} {_PHRASES.get(answer.status, '')}"]
        head += [f"{name}: {value}" for name, value in answer.headers]
        head.append(f"date: {formatdate(usegmt=True)}")
        if answer.status not in _BODILESS:
            head.append(f"content-length: {len(answer.body)}")
        if served.request_id:
            head.append(f"apigw-requestid: {served.request_id}")
        if self.close_connection:
            head.append("connection: close")
        body = b"" if self.command == "HEAD" or answer.status in _BODILESS else answer.body
        self.wfile.write("\r\n".join((*head, "", "")).encode("latin-1") + body)
        self.wfile.flush()

    def drain(self) -> None:
        """Take in what the client still sends, so that it gets to read the answer instead of a reset."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(LINGER_SECONDS)
            until = time.monotonic() + LINGER_SECONDS
            while time.monotonic() < until and self.connection.recv(65536):
                pass
