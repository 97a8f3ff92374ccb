"""A user of one time series queue."""

from dataclasses import dataclass
from typing import Any, Self

from tests.functions.queues import QueueClient
from tests.processes import Reply


@dataclass(frozen=True)
class SeriesClient(QueueClient):
    """Calls the functions of one time series. All but `try_*` expect success and return the answer's JSON."""

    queue: str = "prices"

    def define(self, *, interval: int = 300, fields: tuple[str, ...] = ("p",), **settings: Any) -> Self:
        """Define the queue: five minutes and the field `p` unless told otherwise."""
        return self.create("time_series", interval_seconds=interval, aggregation_fields=list(fields), **settings)

    def try_range(self, **query: Any) -> Reply:
        return self.call("bucket_range", query=_renamed(query))

    def range(self, **query: Any) -> Any:
        reply = self.try_range(**query)
        assert reply.status == 200, reply
        return reply.json

    def buckets(self, **query: Any) -> list[Any]:
        """The buckets of one page that is the last."""
        page = self.range(**query)
        assert "next_token" not in page
        return list(page["buckets"])

    def pages(self, **query: Any) -> list[list[Any]]:
        """The buckets of all pages."""
        pages: list[list[Any]] = []
        token: dict[str, str] = {}
        while True:
            page = self.range(**query, **token)
            pages.append(page["buckets"])
            if "next_token" not in page:
                return pages
            token = {"next_token": page["next_token"]}

    def starts(self, **query: Any) -> list[str]:
        """The starts of the buckets of one page, times of day for today."""
        return [short(bucket["start"]) for bucket in self.buckets(**query)]

    def candle(self, field: str = "p", **query: Any) -> Any:
        """The candle of one field in the one bucket there is."""
        (bucket,) = self.buckets(**query)
        return bucket["fields"][field]

    def try_latest(self, **query: Any) -> Reply:
        return self.call("bucket_latest", query=query)

    def latest(self, **query: Any) -> list[Any]:
        reply = self.try_latest(**query)
        assert reply.status == 200, reply
        return list(reply.json["buckets"])

    def try_keys(self, **query: Any) -> Reply:
        return self.call("bucket_keys", query=query)

    def listed(self, **query: Any) -> list[Any]:
        reply = self.try_keys(**query)
        assert reply.status == 200, reply
        return list(reply.json["keys"])

    def clear(self, **query: Any) -> None:
        reply = self.call("bucket_clear", query=query)
        assert reply.status == 204, reply


def short(moment: str) -> str:
    """A moment of 2026-11-30 as its time of day."""
    return moment.removeprefix("2026-11-30T").removesuffix(":00.000Z")


def at(time_of_day: str) -> str:
    """A moment of 2026-11-30."""
    return f"2026-11-30T{time_of_day}Z"


def _renamed(query: dict[str, Any]) -> dict[str, Any]:
    return {{"since": "from", "until": "to"}.get(name, name): value for name, value in query.items()}
