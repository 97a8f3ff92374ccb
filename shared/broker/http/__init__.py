"""From an API Gateway event to a call and back; nothing here knows what the call does."""

from broker.http.answer import Answer, accepted, created, listing, no_content, ok
from broker.http.endpoint import endpoint
from broker.http.request import Request
from broker.http.schedule import schedule

__all__ = [
    "Answer",
    "Request",
    "accepted",
    "created",
    "endpoint",
    "listing",
    "no_content",
    "ok",
    "schedule",
]
