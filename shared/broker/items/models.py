"""Bodies, queries and answers of the routes of items."""

from typing import Annotated, Any, NotRequired, TypedDict

from pydantic import Field

from broker.bodies import Body, Int, ListQuery
from broker.jsontext import Raw

LOOKUP_MOST = 100


class ItemListQuery(ListQuery):
    """GET /queues/{queue}/items."""

    prefix: str | None = None


class ItemQuery(Body):
    """GET and DELETE /queues/{queue}/item: the JSON array of the key's values."""

    key: str


class LookupRequest(Body):
    """POST /queues/{queue}/items/lookup."""

    keys: list[list[Any]]


class UpdatesRequest(Body):
    """POST /queues/{queue}/items/updates: a time, or the `next` of an answer."""

    since: Any
    limit: Annotated[Int, Field(ge=1, le=200)] = 50


class ItemAnswer(TypedDict):
    """An item; without key and payload, and with `error`, when what is stored does not open."""

    key: Raw | None
    payload: Raw | None
    version: str
    modified_at: str
    expires_at: NotRequired[str]
    error: NotRequired[str]


class LookupAnswer(TypedDict):
    """The items of the keys that were asked for, and the keys under which there are none."""

    items: list[ItemAnswer]
    missing: list[Any]


class DeletedAnswer(TypedDict):
    """An item that went."""

    key: Raw
    deleted_at: str


class UpdatesAnswer(TypedDict):
    """What has changed."""

    items: list[ItemAnswer]
    deleted: list[DeletedAnswer]
    next: str
    has_more: bool
