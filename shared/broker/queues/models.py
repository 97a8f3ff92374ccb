"""Bodies, queries and answers of queues and of what is done with every type of them."""

from typing import Annotated, Any, NotRequired, TypedDict

from pydantic import AfterValidator, Field

from broker.bodies import Body, Int, ListQuery, Name
from broker.jsontext import Raw
from broker.queues.settings import QueueType

BATCH_MOST = 100


def _text(value: str) -> str:
    value.encode()
    return value


Description = Annotated[str, Field(max_length=1000), AfterValidator(_text)]


class QueueRequest(Body):
    """POST /queues."""

    name: Name
    type: QueueType
    description: Description | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class QueuePatch(Body):
    """PATCH /queues/{queue}."""

    description: Description | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class QueueListQuery(ListQuery):
    """GET /queues."""

    type: QueueType | None = None
    name_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,80}\z")] | None = None


class BatchRequest(Body):
    """POST /queues/{queue}/messages/batch."""

    messages: list[dict[str, Any]] = Field(min_length=1)


class ConsumeRequest(Body):
    """POST /queues/{queue}/consume."""

    max_messages: Annotated[Int, Field(ge=1, le=10)] = 1
    wait_seconds: Annotated[Int, Field(ge=0, le=20)] = 0
    visibility_key_value: Any = None
    client_id: str | None = None


class LeaseRequest(Body):
    """POST …/ack."""

    lease_id: str
    client_id: str | None = None


class NackRequest(LeaseRequest):
    """POST …/nack."""

    delay_seconds: Annotated[Int, Field(ge=0, le=43_200)] | None = None
    reason: Annotated[str, Field(max_length=1000), AfterValidator(_text)] | None = None
    dead_letter: bool = False


class ExtendRequest(LeaseRequest):
    """POST …/extend."""

    seconds: Annotated[Int, Field(ge=1, le=43_200)]


class SettledAck(Body):
    """One ack of a settle."""

    message_id: str
    lease_id: str


class SettledNack(SettledAck):
    """One nack of a settle."""

    delay_seconds: Annotated[Int, Field(ge=0, le=43_200)] | None = None


class SettleRequest(Body):
    """POST /queues/{queue}/settle."""

    acks: list[SettledAck] = Field(default_factory=list)
    nacks: list[SettledNack] = Field(default_factory=list)
    client_id: str | None = None


class RedriveRequest(Body):
    """POST /queues/{queue}/dlq/redrive."""

    entry_ids: Annotated[list[str], Field(min_length=1)] | None = None
    reason: Annotated[str, Field(max_length=100)] | None = None
    limit: Annotated[Int, Field(ge=1, le=1000)] | None = None


class QueueAnswer(TypedDict):
    """A queue."""

    queue_id: str
    name: str
    type: str
    description: NotRequired[str]
    enabled: bool
    settings: dict[str, Any]
    created_at: str
    updated_at: str


class PublishAnswer(TypedDict):
    """What became of a message."""

    message_id: str
    status: str
    published_at: str


class BatchResult(TypedDict):
    """What became of one message of a batch; the members of a refusal beside it."""

    status: int
    message_id: NotRequired[str]
    code: NotRequired[str]
    detail: NotRequired[str]


class MessageAnswer(TypedDict):
    """A delivered message; without lease members under auto_ack, with `error` when its payload cannot be read."""

    message_id: str
    payload: Raw | None
    published_at: str
    delivery: int
    lease_id: NotRequired[str]
    lease_expires_at: NotRequired[str]
    visibility_key: NotRequired[Any]
    lookup: NotRequired[Any]
    error: NotRequired[str]


class ConsumeAnswer(TypedDict):
    """Delivered messages."""

    messages: list[MessageAnswer]
    skipped: NotRequired[int]


class DeadLetterAnswer(TypedDict):
    """A dead letter; with `error` when its payload cannot be read."""

    entry_id: str
    message_id: str
    payload: Raw | None
    reason: str
    detail: str
    failed_at: str
    deliveries: int
    published_at: str
    client_id: NotRequired[str]
    error: NotRequired[str]


class RedriveResult(TypedDict):
    """What became of one dead letter that was to be redriven."""

    entry_id: str
    status: int
    code: NotRequired[str]


class SettleResult(TypedDict):
    """What became of one entry of a settle."""

    message_id: str
    status: int
    code: NotRequired[str]
