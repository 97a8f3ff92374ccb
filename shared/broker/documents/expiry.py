"""When documents are too old to be there. The age is in the id, so that a range of ids leaves the expired out."""

from broker.ids import moment, smallest
from broker.queues.queue import Queue


def first_living(queue: Queue, *, now: int) -> str:
    """The smallest id of a document that has not expired; empty when none ever does."""
    seconds = queue.settings.max_message_age_seconds
    return "" if seconds is None else smallest(max(0, now - seconds * 1000 + 1))


def is_expired(document_id: str, *, queue: Queue, now: int) -> bool:
    """Whether a document is older than its queue keeps them."""
    seconds = queue.settings.max_message_age_seconds
    return seconds is not None and moment(document_id) + seconds * 1000 <= now
