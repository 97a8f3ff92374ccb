"""Queries, bodies and answers of documents and subscriptions."""

from typing import NotRequired, TypedDict

from pydantic import Field

from broker.bodies import Body, ListQuery, Name, QueryMoment


class DocumentQuery(ListQuery):
    """GET /queues/{queue}/documents. Times are `uploaded_from` inclusive, `uploaded_to` exclusive."""

    name_prefix: str | None = Field(default=None, min_length=1, max_length=900)
    uploaded_from: QueryMoment | None = None
    uploaded_to: QueryMoment | None = None


class SubscriptionRequest(Body):
    """PUT /queues/{queue}/subscription."""

    source_queue_id: Name


class DocumentAnswer(TypedDict):
    """A document; `content_type` names the charset where it is not UTF-8."""

    document_id: str
    name: str
    description: str
    content_type: str
    size: int
    sha256: str
    uploaded_at: str


class UnreadableAnswer(TypedDict):
    """A document in a list whose entry does not open any more."""

    document_id: str
    uploaded_at: str
    error: str


class SubscriptionAnswer(TypedDict):
    """A subscription, as the subscriber sees it."""

    subscription_id: str
    source_queue_id: str
    state: str
    detail: NotRequired[str]
    delivered: int
    pending: int
    failed: int
    created_at: str


class SubscriberAnswer(TypedDict):
    """A subscription, as the source sees it."""

    subscription_id: str
    tenant_id: str
    queue_id: str
    state: str
    delivered: int
    pending: int
    failed: int
    created_at: str
