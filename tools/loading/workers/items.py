"""The writer and the follower of a key_value queue."""

import itertools
import os
import time
from typing import Any

from tools.loading.api import AGAIN, Api
from tools.loading.journal import Journal
from tools.loading.workers.messages import IDLE_SECONDS

_KEYS = 6


def write(api: Api, journal: Journal, queue: str) -> None:
    """Publish, read and delete items that only this process writes, until the parent ends it.

    What follows from being alone is checked here: whether an item is new, replaced, there, or gone.
    """
    versions: dict[str, str] = {}
    for number in itertools.count():
        key = f"{os.getpid()}-{number % _KEYS}"
        path = f"/queues/{queue}/items/{key}"
        journal.note("sent", id=key, value=number)
        headers = {"Idempotency_Key": f"{key}-{number}"} if number % 2 else {}
        body = {"id": key, "value": number}
        status, answer = api.insist("POST", f"/queues/{queue}/messages", body, name=key, **headers)
        if status not in (200, 201):
            journal.note("defect", asked=f"POST {path}", answer=f"{status} {answer}", id=key)
            continue
        versions[key] = answer["version"]
        journal.note("stored", id=key, value=number, version=versions[key])
        if number % 3 == 0:
            _read(api, journal, path, key=key, value=number, version=versions[key])
        if number % 7 == 0:
            _delete(api, journal, path, key=key)


def _read(api: Api, journal: Journal, path: str, *, key: str, value: int, version: str) -> None:
    status, answer = api.insist("GET", path, name=key)
    if status != 200 or (answer["payload"], answer["version"]) != ({"id": key, "value": value}, version):
        journal.note("defect", asked=f"GET {path}", answer=f"{status} {answer} after {value} as {version}", id=key)


def _delete(api: Api, journal: Journal, path: str, *, key: str) -> None:
    journal.note("deleting", id=key)
    first, _ = api.ask("DELETE", path)
    status = api.insist("DELETE", path, name=key)[0] if first in AGAIN else first
    if status != 204 and (status, first in AGAIN) != (404, True):  # a repeat may find it gone
        journal.note("defect", asked=f"DELETE {path}", answer=f"{status} after {first}", id=key)
        return
    journal.note("deleted", id=key)
    status, answer = api.insist("GET", path, name=key)
    if status != 404:
        journal.note("defect", asked=f"GET {path}", answer=f"{status} {answer} after it was deleted", id=key)


def follow(api: Api, journal: Journal, queue: str) -> None:
    """Read all that has changed since the beginning, and go on from there; note every page."""
    since: Any = 0
    while True:
        status, page = api.ask("POST", f"/queues/{queue}/items/updates", {"since": since, "limit": 50})
        if status != 200:
            time.sleep(IDLE_SECONDS)
            continue
        since = page["next"]
        if page["items"] or page["deleted"]:
            journal.note(
                "page",
                items=[[item["key"][0], item["payload"]["value"], item["version"]] for item in page["items"]],
                deleted=[gone["key"][0] for gone in page["deleted"]],
            )
        if not page["has_more"]:
            time.sleep(IDLE_SECONDS)
