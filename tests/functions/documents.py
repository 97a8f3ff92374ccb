"""A user of one queue of documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.functions.queues import QueueClient
from tests.processes import Reply, request_event

CSV = "sku,name\r\nA-1,Bolt\r\n"


@dataclass(frozen=True)
class DocumentClient(QueueClient):
    """Calls the functions of one queue with one key. All but `try_*` expect success."""

    queue: str = "catalogue"
    usual: ClassVar[str] = "document"

    @property
    def queue_id(self) -> str:
        return str(self.call("queue_read").json["queue_id"])

    def try_upload(
        self,
        content: bytes | str = CSV,
        *,
        name: str | None = "prices.csv",
        kind: str | None = "text/csv",
        description: str | None = "prices",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Upload text as the gateway hands text on, bytes as it does bytes; names are as on the wire."""
        sent = {"x-document-name": name, "x-document-description": description, "content-type": kind, **(headers or {})}
        event = {name: value for name, value in sent.items() if value is not None}
        request = _upload_event(self, content)
        for name_ in ("x-document-name", "x-document-description", "content-type"):
            request["headers"].pop(name_, None)
        request["headers"] |= event
        return self.process.send("document_upload", request)

    def upload(self, content: bytes | str = CSV, **request: Any) -> dict[str, Any]:
        """Upload a document; returns the answer."""
        reply = self.try_upload(content, **request)
        assert reply.status == 201, reply
        return dict(reply.json)

    def try_download(self, document_id: str, *, accept: str | None = None, **request: Any) -> Reply:
        return self._one("document_download", document_id, accept=accept, **request)

    def download(self, document_id: str, *, accept: str | None = None) -> bytes:
        reply = self.try_download(document_id, accept=accept)
        assert reply.status == 200, reply
        return reply.body

    def head(self, document_id: str, *, accept: str | None = None, **request: Any) -> Reply:
        return self._one("document_head", document_id, accept=accept, **request)

    def try_list(self, **query: Any) -> Reply:
        return self.call("document_list", query=query)

    def names(self, **query: Any) -> list[str]:
        """The names on the first page."""
        return [document["name"] for document in self.listed(**query)]

    def listed(self, **query: Any) -> list[dict[str, Any]]:
        """The documents on the first page."""
        reply = self.try_list(**query)
        assert reply.status == 200, reply
        return list(reply.json["documents"])

    def pages(self, **query: Any) -> list[list[str]]:
        """The names on every page."""
        pages = []
        token: dict[str, Any] = {}
        while True:
            answer = self.try_list(**query, **token).json
            pages.append([document["name"] for document in answer["documents"]])
            if "next_token" not in answer:
                return pages
            token = {"next_token": answer["next_token"]}

    def try_delete(self, document_id: str) -> Reply:
        return self.call("document_delete", path={"document_id": document_id})

    def delete(self, document_id: str) -> None:
        assert self.try_delete(document_id).status == 204

    def try_subscribe(self, source_queue_id: str) -> Reply:
        return self.call("subscription_put", body={"source_queue_id": source_queue_id})

    def subscribe(self, source: "DocumentClient") -> str:
        """Get what is uploaded there from now on; returns the subscription's id."""
        reply = self.try_subscribe(source.queue_id)
        assert reply.status == 201, reply
        return str(reply.json["subscription_id"])

    def subscription(self) -> Any:
        reply = self.call("subscription_read")
        assert reply.status == 200, reply
        return reply.json

    def subscribers(self) -> list[Any]:
        return list(self.call("subscriber_list").json["subscribers"])

    def _one(self, function: str, document_id: str, *, accept: str | None, headers: Any = None) -> Reply:
        request = _event(self, function, path={"queue": self.queue, "document_id": document_id}, headers=headers)
        request["headers"].pop("accept", None)
        if accept is not None:
            request["headers"]["accept"] = accept
        return self.process.send(function, request)


def _upload_event(client: DocumentClient, content: bytes | str) -> dict[str, Any]:
    return _event(client, "document_upload", path={"queue": client.queue}, body=content)


def _event(client: DocumentClient, function: str, **request: Any) -> dict[str, Any]:
    return request_event(function, key=client.key, **request)
