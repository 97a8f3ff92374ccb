"""Requests to the server, made again where an answer asks for it, and a note of every answer."""

import http.client
import itertools
import json
import time
from typing import Any
from urllib.parse import urlsplit

from tools.loading.journal import Journal

AGAIN = (0, 500, 503)
"""Statuses after which a request is repeated; 0 stands for no answer."""


class Api:
    """One connection, and one key.

    Attributes:
        headers: Those of the last answer, by name in lower case.
    """

    def __init__(self, url: str, key: str, journal: Journal) -> None:
        self.headers: dict[str, str] = {}
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=35)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._journal = journal

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """Status and decoded answer; status 0 when there was none. Bytes are sent as they are, all else as JSON."""
        status, content = self.exchange(method, path, body, **headers)
        return status, json.loads(content) if content else None

    def exchange(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, bytes]:
        """The same with the bytes of the answer.

        A 5xx other than 503 is noted as a defect, unless it is the gateway that answers it, for a function that died.
        """
        given = self._headers | {name.replace("_", "-"): value for name, value in headers.items()}
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body)
        began = time.monotonic()
        try:
            self._connection.request(method, path, body=sent, headers=given)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return 0, b""
        self.headers = {name.lower(): value for name, value in answer.getheaders()}
        asked, status = f"{method} {path.partition('?')[0]}", answer.status
        gateways = status >= 400 and not self.headers.get("content-type", "").startswith("application/problem")
        self._journal.note("answer", status=status, began=began, asked=asked, gateways=gateways)
        if status >= 500 and status != 503 and not gateways:
            self._journal.note("defect", asked=asked, answer=content.decode()[:500])
        return status, content

    def insist(self, method: str, path: str, body: object = None, *, name: str = "", **headers: str) -> tuple[int, Any]:
        """Ask until it is answered otherwise than by a failure that asks for a repeat.

        Args:
            method: The method.
            path: The path.
            body: The body.
            name: What it is about. That an attempt was cut short, and is repeated, is noted under it.
            headers: More headers.
        """
        for pause in itertools.chain([0.02, 0.05, 0.1], itertools.repeat(0.2)):
            status, answer = self.ask(method, path, body, **headers)
            busy = status == 409 and answer["code"] == "idempotency_in_progress"
            if status not in AGAIN and not busy:
                return status, answer
            if not busy:
                self._journal.note("interrupted", id=name, asked=f"{method} {path.partition('?')[0]}", status=status)
            time.sleep(pause)
        raise AssertionError("unreachable")
