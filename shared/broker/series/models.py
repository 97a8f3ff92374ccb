"""Queries and answers of buckets."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field

from broker.bodies import Body, ListQuery, QueryInt, QueryMoment
from broker.jsontext import Raw

BUCKETS_MOST = 10_000
LATEST_MOST = 1_000


class KeyQuery(Body):
    """DELETE /queues/{queue}/buckets."""

    primary_key: str | None = None


class RangeQuery(KeyQuery):
    """GET /queues/{queue}/buckets."""

    since: QueryMoment | None = Field(default=None, alias="from")
    until: QueryMoment | None = Field(default=None, alias="to")
    fill_gaps: Literal["true", "false"] | None = None
    limit: Annotated[QueryInt, Field(ge=1, le=BUCKETS_MOST)] = BUCKETS_MOST
    next_token: str | None = None


class KeysQuery(ListQuery):
    """GET /queues/{queue}/buckets/keys."""


class LatestQuery(KeyQuery):
    """GET /queues/{queue}/buckets/latest."""

    n: Annotated[QueryInt, Field(ge=1, le=LATEST_MOST)] = 1


class BucketsAnswer(TypedDict):
    """Buckets in the order of time, each as JSON text."""

    interval_seconds: int
    buckets: list[Raw]
    next_token: NotRequired[str]


class SeriesAnswer(TypedDict):
    """A series: its key values, and the starts of its oldest and newest bucket."""

    key: Any
    first: str
    last: str
