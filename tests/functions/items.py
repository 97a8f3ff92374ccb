"""A user of one key_value queue."""

import json
from dataclasses import dataclass
from typing import Any, Self

from tests.functions.queues import QueueClient
from tests.processes import Reply


@dataclass(frozen=True)
class ItemClient(QueueClient):
    """Calls the functions of a key_value queue. All but `try_*` expect success and return the answer's JSON."""

    queue: str = "prices"

    def create(self, kind: str = "key_value", **settings: Any) -> Self:
        return super().create(kind, **{"primary_key": ["k"], **settings})

    def put(self, payload: Any, **request: Any) -> Any:
        """Publish an item, new or replaced."""
        reply = self.try_publish(payload, **request)
        assert reply.status in (200, 201), reply
        return reply.json

    def try_get(self, *key: Any) -> Reply:
        return self.call("item_read_by_key", query={"key": json.dumps(list(key))})

    def get(self, *key: Any) -> Any:
        return _json(self.try_get(*key))

    def try_delete(self, *key: Any, if_match: str | None = None) -> Reply:
        headers = {} if if_match is None else {"If-Match": if_match}
        return self.call("item_delete_by_key", query={"key": json.dumps(list(key))}, headers=headers)

    def try_delete_text(self, key: str, *, if_match: str | None = None) -> Reply:
        headers = {} if if_match is None else {"If-Match": if_match}
        return self.call("item_delete", path={"key": key}, headers=headers)

    def delete(self, *key: Any) -> None:
        assert self.try_delete(*key).status == 204

    def page(self, **query: Any) -> Any:
        return _json(self.call("item_list", query=query))

    def all(self, **query: Any) -> list[Any]:
        """The items of all pages."""
        found: list[Any] = []
        page = self.page(**query)
        found += page["items"]
        while "next_token" in page:
            page = self.page(**query, next_token=page["next_token"])
            found += page["items"]
        return found

    def lookup(self, *keys: Any) -> Any:
        return _json(self.call("item_lookup", body={"keys": list(keys)}))

    def try_updates(self, since: Any, **body: Any) -> Reply:
        return self.call("item_updates", body={"since": since, **body})

    def updates(self, since: Any, **body: Any) -> Any:
        return _json(self.try_updates(since, **body))

    def changes(self, since: Any, **body: Any) -> Any:
        """All pages of what has changed, as one answer."""
        answer = self.updates(since, **body)
        items, deleted = list(answer["items"]), list(answer["deleted"])
        while answer["has_more"]:
            answer = self.updates(answer["next"], **body)
            items += answer["items"]
            deleted += answer["deleted"]
        return {**answer, "items": items, "deleted": deleted}


def _json(reply: Reply) -> Any:
    assert reply.status == 200, reply
    return reply.json
