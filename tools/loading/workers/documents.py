"""The uploader, the reader and the taker of documents."""

import hashlib
import itertools
import json
import os
import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tools.loading.api import AGAIN, Api
from tools.loading.journal import Journal
from tools.loading.workers.messages import IDLE_SECONDS

_LARGE, _LARGE_EVERY = 100_000, 20
_DELETED_EVERY = 4
_PAUSE_SECONDS = 0.3
"""Between documents: whole files are rare beside messages."""


def upload(api: Api, journal: Journal, queue: str) -> None:
    """Upload documents, some again under their Idempotency-Key, and delete some, until the parent ends it."""
    rng = random.Random(os.getpid())
    for number in itertools.count():
        time.sleep(_PAUSE_SECONDS)
        name = f"{os.getpid()}-{number} €"
        kind, content = _text(rng, number) if queue == "texts" else _table(rng, number)
        headers = {
            "Content_Type": kind,
            "X_Document_Name": f"{os.getpid()}-{number}%20%E2%82%AC",
            "X_Document_Description": "load",
        }
        path, sha256 = f"/queues/{queue}/documents", hashlib.sha256(content).hexdigest()
        journal.note("sent", id=name, sha256=sha256)
        if number % 2:
            status, answer = api.insist(
                "POST", path, content, name=name, Idempotency_Key=f"{queue}-{name[:-2]}", **headers
            )
        else:
            status, answer = api.ask("POST", path, content, **headers)
            if status in AGAIN:
                journal.note("given up", id=name, status=status)
                continue
        if status != 201 or (answer["name"], answer["sha256"], answer["size"]) != (name, sha256, len(content)):
            journal.note("defect", asked=f"POST {path}", answer=f"{status} {answer}", id=name)
            continue
        journal.note("stored", id=name, document=answer["document_id"])
        if number % _DELETED_EVERY == 0:
            delete(api, journal, queue, name=name, document=answer["document_id"])


def delete(api: Api, journal: Journal, queue: str, *, name: str, document: str, others: bool = False) -> None:
    """Delete a document, and see that it is gone; `others` may have deleted it: a worker that was killed just now."""
    path = f"/queues/{queue}/documents/{document}"
    journal.note("deleting", id=name, document=document)
    first, _ = api.ask("DELETE", path)
    status = api.insist("DELETE", path, name=name)[0] if first in AGAIN else first
    if status != 204 and (status, others or first in AGAIN) != (404, True):  # a repeat may find it gone
        journal.note("defect", asked=f"DELETE {path}", answer=f"{status} after {first}", id=name)
        return
    journal.note("deleted", id=name, document=document)
    status, _ = api.insist("HEAD", path, name=name)
    if status != 404:
        journal.note("defect", asked=f"HEAD {path}", answer=f"{status} after it was deleted", id=name)


def read(api: Api, journal: Journal, queue: str) -> None:
    """List what is new, and download one of it."""
    rng = random.Random(os.getpid())
    while True:
        since = (datetime.now(UTC) - timedelta(seconds=10)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        status, page = api.ask("GET", f"/queues/{queue}/documents?limit=200&uploaded_from={since}")
        if status == 200 and page["documents"]:
            download(api, journal, queue, rng.choice(page["documents"]))
        time.sleep(_PAUSE_SECONDS)


def take(api: Api, journal: Journal, queue: str) -> None:
    """Download the copies in a queue that subscribes to another one, and delete each then."""
    while True:
        status, page = api.ask("GET", f"/queues/{queue}/documents?limit=20")
        if status != 200 or not page["documents"]:
            time.sleep(_PAUSE_SECONDS)
            continue
        for entry in page["documents"]:
            if download(api, journal, queue, entry):
                delete(api, journal, queue, name=entry["name"], document=entry["document_id"], others=True)


def download(api: Api, journal: Journal, queue: str, entry: Mapping[str, Any]) -> bool:
    """Note a document of a list with the digest of its bytes; False when there are none to be had."""
    began = time.monotonic()
    path = f"/queues/{queue}/documents/{entry['document_id']}"
    status, content = api.exchange("GET", path)
    while status in AGAIN:
        time.sleep(IDLE_SECONDS)
        status, content = api.exchange("GET", path)
    noted = {"id": entry["name"], "document": entry["document_id"], "began": began}
    if status != 200:
        journal.note("absent", status=status, **noted)
        return False
    journal.note("got", sha256=hashlib.sha256(content).hexdigest(), listed=entry["sha256"], **noted)
    return True


def _table(rng: random.Random, number: int) -> tuple[str, bytes]:
    """A document of one row, or of many, in one of three formats."""
    rows = [rng.randrange(10**9) for _ in range(_LARGE // 12 if number % _LARGE_EVERY == _LARGE_EVERY - 1 else 1)]
    match number % 3:
        case 0:
            return "application/json", json.dumps(rows).encode()
        case 1:
            return "text/csv", "\r\n".join(["n", *map(str, rows)]).encode()
    return "application/xml", f"<rows>{''.join(f'<n>{row}</n>' for row in rows)}</rows>".encode()


def _text(rng: random.Random, number: int) -> tuple[str, bytes]:
    size = _LARGE // 3 if number % _LARGE_EVERY == _LARGE_EVERY - 1 else 20
    return "text/plain", "".join(chr(rng.randrange(0x20, 0xD000)) for _ in range(size)).encode()
