"""Which queues there are, who works on them, and making them."""

import dataclasses
from typing import Any

from tools.loading.api import Api
from tools.loading.journal import Journal
from tools.serving.credentials import Credentials

LEASES: dict[str, Any] = {"consume_ttl_seconds": 3, "max_deliveries": 1000}
JOINS = {**LEASES, "lookup_queue": "lookup", "foreign_key": ["sku"], "missing_lookup": "defer"}
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "to_one": ("one_to_one", {"visibility_key": ["key"], **LEASES}),
    "alone": ("one_to_one", LEASES),
    "to_many": ("one_to_many", LEASES),
    "series": (
        "time_series",
        {"interval_seconds": 86400, "aggregation_fields": ["n"], "timestamp_field": "at"},
    ),
    "items": ("key_value", {"primary_key": ["id"], "on_duplicate": "replace"}),
    "lookup": ("key_value", {"primary_key": ["sku"], "on_duplicate": "replace"}),
    "joined_one": ("stream_to_one", JOINS),
    "joined_many": ("stream_to_many", JOINS),
    "files": ("document", {"allow_subscriptions": True}),
    "texts": ("text_document", {}),
    "text_copies": ("text_document", {}),
}
"""The queues of the tenant, by name; a log is made beside them."""
SUBSCRIBERS = {"files": "file_copies", "texts": "text_copies"}
"""Queues that get the documents of others; `file_copies` is another tenant's."""
FOREIGN = ("file_copies",)

WORKERS = [
    ("enqueue", "log"),
    ("poll", "log"),
    ("publish", "to_one"),
    ("publish", "to_one"),
    ("consume", "to_one"),
    ("consume", "to_one"),
    ("publish", "alone"),
    ("consume", "alone"),
    ("publish", "to_many"),
    ("consume", "to_many"),
    ("publish", "series"),
    ("write", "items"),
    ("write", "items"),
    ("follow", "items"),
    ("join", "joined_one"),
    ("consume", "joined_one"),
    ("join", "joined_many"),
    ("consume", "joined_many"),
    ("upload", "files"),
    ("read", "files"),
    ("take", "file_copies"),
    ("upload", "texts"),
    ("read", "texts"),
    ("take", "text_copies"),
]
"""Role and queue of each process."""
SOURCES = ("enqueue", "publish", "write", "join", "upload")
"""Roles that bring something in; they end before the others."""


@dataclasses.dataclass(frozen=True)
class Keys:
    """The server's address, and the keys of the two tenants."""

    url: str
    tenant: str
    foreign: str

    def of(self, queue: str) -> str:
        """The key of the tenant whose queue it is."""
        return self.foreign if queue in FOREIGN else self.tenant


def prepare(who: Credentials, journal: Journal) -> Keys:
    """Make a second tenant, and the queues."""
    platform, tenant = (Api(who.url, key, journal) for key in (who.platform_key, who.tenant_key))
    other = _made(platform, "/tenants", {"name": "other"})["admin"]["api_key"]
    foreign = Api(who.url, other, journal)
    tenant.insist("POST", "/queue/v1/namespaces/load/queues", {"queue": "log", "partitions": 1})
    ids = {}
    for name, (kind, settings) in SETTINGS.items():
        ids[name] = _made(tenant, "/queues", {"name": name, "type": kind, "settings": settings})["queue_id"]
    _made(foreign, "/queues", {"name": "file_copies", "type": "document", "settings": {}})
    for source, subscriber in SUBSCRIBERS.items():
        api = foreign if subscriber in FOREIGN else tenant
        status, answer = api.insist("PUT", f"/queues/{subscriber}/subscription", {"source_queue_id": ids[source]})
        if status != 201:
            raise RuntimeError(f"{subscriber} cannot subscribe: {status} {answer}")
    for api in (platform, tenant, foreign):
        api.close()
    return Keys(who.url, who.tenant_key, other)


def _made(api: Api, path: str, body: dict[str, Any]) -> dict[str, Any]:
    status, answer = api.insist("POST", path, body)
    if status != 201:
        raise RuntimeError(f"POST {path} answered {status} {answer}")
    made: dict[str, Any] = answer
    return made
