"""Bodies, queries and answers of queue/v1; member names are those of the API it is compatible with."""

from typing import Annotated, Any, NotRequired, TypedDict

from pydantic import AfterValidator, Field, StringConstraints

from broker.bodies import Body, Int, Name, QueryInt
from broker.jsontext import Raw

ENTRIES_MOST = 1000
PARTITIONS_MOST = 1024
_int64 = Field(ge=-(2**63), le=2**63 - 1)


def _encodable(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("must be Unicode text; it holds half of a surrogate pair") from None
    return value


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("must be printable characters")
    return value


class CreateRequest(Body):
    """POST …/queues."""

    queue: Name
    partitions: Int = Field(default=30, ge=1, le=PARTITIONS_MOST)
    storage: Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(_printable)] | None = None


class EnqueueEntry(Body):
    """One message to enqueue."""

    key: Annotated[str, AfterValidator(_encodable)]
    seq: Annotated[Int, _int64]
    value: Any = None


class EnqueueRequest(Body):
    """POST …/messages."""

    messages: list[EnqueueEntry] = Field(min_length=1)


class PollQuery(Body):
    """GET …/poll."""

    offset: Annotated[QueryInt, _int64] | None = None
    until: Annotated[QueryInt, _int64] | None = None
    limit: QueryInt = Field(default=100, ge=1, le=1000)
    cursor: str | None = None


class CommitQuery(Body):
    """DELETE …/partitions/{partition}/messages."""

    offset: Annotated[QueryInt, _int64] | None = None
    cursor: str | None = None


class DescriptorAnswer(TypedDict):
    """A queue; `enabled` in all answers but the one that makes it."""

    namespace: str
    queue: str
    partitions: int
    storage: str
    enabled: NotRequired[bool]


class EnqueueResult(TypedDict):
    """What became of one entry."""

    partition: int
    id: str | None
    status: str
    error: NotRequired[str]


class EnqueueAnswer(TypedDict):
    """One result per entry, in order."""

    accepted: int
    results: list[EnqueueResult]


class MessageAnswer(TypedDict):
    """A message; `error` when its value cannot be read any more."""

    partition: int
    id: str
    seq: int
    value: Raw | None
    error: NotRequired[str]


class PollAnswer(TypedDict):
    """A page."""

    messages: list[MessageAnswer]
    offset: int | None
    hasNext: bool
    cursor: str | None


class CommitAnswer(TypedDict):
    """What was deleted; `hasNext` when the commit must be repeated, with `cursor` if it was by cursor."""

    namespace: str
    queue: str
    partition: int
    committed: int
    hasNext: NotRequired[bool]
    cursor: NotRequired[str]


class PartitionStats(TypedDict):
    """One partition."""

    partition: int
    messages: int
    approximate: bool
    lowest_seq: int | None
    highest_seq: int | None
    oldest_enqueued_at: str | None


class StatsAnswer(TypedDict):
    """GET …/stats."""

    namespace: str
    queue: str
    partitions: list[PartitionStats]
