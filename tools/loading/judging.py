"""Looks at a load test while it drains, and judges it at the end."""

import itertools
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.loading.api import Api
from tools.loading.journal import Entry, Fault, Journal, answers, entries, named
from tools.loading.plan import SOURCES, SUBSCRIBERS, WORKERS, Keys
from tools.loading.verdicts import documents, items, log, messages, series
from tools.loading.workers import streams
from tools.loading.workers.documents import download

ORDERS: Mapping[str, messages.Order] = {
    "to_one": "lanes",
    "alone": "none",
    "to_many": "stream",
    "joined_one": "none",
    "joined_many": "none",
}
"""The queues whose messages are leased."""


class Judge:
    """Reads journals, and asks the server what it holds, under the keys of both tenants."""

    def __init__(self, folder: Path, keys: Keys) -> None:
        self._folder = folder
        self._keys = keys
        self._journal = Journal(folder / "judge.journal")
        self._api = Api(keys.url, keys.tenant, self._journal)

    def close(self) -> None:
        """Give back what is open."""
        self._api.close()
        self._journal.close()

    def begun(self) -> bool:
        """Whether something is stored in every queue."""
        return all(named(self._noted(queue), "stored") for role, queue in WORKERS if role in SOURCES)

    def supply(self) -> None:
        """Publish the items that messages wait for whose producer was killed before it could."""
        for queue in ("joined_one", "joined_many"):
            noted = self._noted(queue)
            wanted = {entry["joined"][0] for entry in named(noted, "sent")}
            for sku in sorted(wanted - {entry["id"] for entry in named(noted, "item stored")}):
                streams.put_item(self._api, self._journal, sku=sku, stamp=sku)

    def drain(self, follower: Path, *, seconds: float) -> None:
        """Wait until the consumers have got all that was stored, or for so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._left(follower):
            time.sleep(0.5)

    def faults(self, follower: Path) -> list[Fault]:
        """All that must not be."""
        found = [fault for queue in ORDERS for fault in messages.of_queue(self._noted(queue), order=ORDERS[queue])]
        struck = entries([self._folder / "server.journal"])
        found += log.of_log(self._noted("log"), struck=struck)
        _, page = self._api.insist("GET", "/queues/series/buckets")
        found += series.of_series(self._noted("series"), buckets=page["buckets"])
        shown = self._items()
        found += items.of_queue(self._noted("items"), shown=shown)
        found += items.differences(items.followed(entries([follower])), shown)
        for source, subscriber in SUBSCRIBERS.items():
            found += documents.of_queue(self._noted(source), shown=self._documents(source))
            found += documents.of_copies(self._noted(source), copied=self._noted(subscriber))
        return found + self._unanswerable(struck)

    def figures(self, *, seconds: float) -> dict[str, object]:
        """What there was of everything."""
        noted = entries(self._folder.glob("*.journal"))
        by_queue = {queue: self._noted(queue) for queue in ("log", *ORDERS, "series", "items", *SUBSCRIBERS)}
        statuses = answers(noted)
        return {
            **{f"{queue}: stored": len(named(lines, "stored")) for queue, lines in by_queue.items()},
            **{
                f"{copies}: taken": len({entry["document"] for entry in named(self._noted(copies), "got")})
                for copies in SUBSCRIBERS.values()
            },
            "answers": dict(sorted(statuses.items())),
            "answers a second": round(sum(statuses.values()) / seconds),
            "faults injected": len(named(noted, "struck")),
        }

    def _left(self, follower: Path) -> bool:
        """Whether anything is still on its way."""
        if any(messages.lost(self._noted(queue)) for queue in ORDERS) or log.lost(self._noted("log")):
            return True
        for source, subscriber in SUBSCRIBERS.items():
            if documents.missing(self._noted(source), copied=self._noted(subscriber)):
                return True
        return bool(items.differences(items.followed(entries([follower])), self._items()))

    def _noted(self, queue: str) -> list[Entry]:
        return entries(self._folder.glob(f"{queue}.*.journal"))

    def _items(self) -> items.State:
        return items.listed(self._listed("/queues/items/items", "items"))

    def _documents(self, queue: str) -> list[dict[str, Any]]:
        """The list of a queue's documents, each of which is downloaded, too."""
        shown = self._listed(f"/queues/{queue}/documents", "documents")
        journal = Journal(self._folder / f"{queue}.judge.journal")
        api = Api(self._keys.url, self._keys.of(queue), journal)
        for document in shown:
            download(api, journal, queue, document)
        api.close()
        journal.close()
        return shown

    def _listed(self, path: str, things: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        token = ""
        for _ in itertools.count():
            _, page = self._api.insist("GET", f"{path}?limit=200{token}")
            found += page[things]
            if "next_token" not in page:
                break
            token = f"&next_token={page['next_token']}"
        return found

    def _unanswerable(self, struck: list[Entry]) -> list[Fault]:
        """What no caller should have been answered: defects; and 500 of the gateway more often than functions died."""
        noted = entries(self._folder.glob("*.journal"))
        found = [Fault(one.get("id", ""), f"{one['asked']}: {one['answer']}") for one in named(noted, "defect")]
        gateways = answers([one for one in noted if one.get("gateways")])
        deaths = sum(one["fault"] == "died" for one in struck)
        if gateways.get(500, 0) > deaths:
            found.append(Fault("", f"{gateways[500]} requests failed in the gateway, {deaths} functions died"))
        odd = {status: count for status, count in gateways.items() if status not in (500, 503)}
        return found + ([Fault("", f"the gateway itself answered {odd}")] if odd else [])
