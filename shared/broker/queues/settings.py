"""The settings of every queue type: which there are, their bounds, which contradict each other, which change live."""

from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from broker.bodies import Body, Int, validation_failed

QueueType: TypeAlias = Literal[
    "one_to_one",
    "one_to_many",
    "key_value",
    "time_series",
    "stream_to_one",
    "stream_to_many",
    "document",
    "text_document",
]
TO_ONE: frozenset[QueueType] = frozenset({"one_to_one", "stream_to_one"})
TO_MANY: frozenset[QueueType] = frozenset({"one_to_many", "stream_to_many"})
STREAMS: frozenset[QueueType] = frozenset({"stream_to_one", "stream_to_many"})
DOCUMENTS: frozenset[QueueType] = frozenset({"document", "text_document"})

SECONDS_MOST = 43_200
DAY_SECONDS = 86_400


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _distinct(value: list[str]) -> list[str]:
    if len(set(value)) != len(value):
        raise ValueError("names a field path twice")
    return value


def _interval(value: int) -> int:
    if DAY_SECONDS % value and value % DAY_SECONDS:
        raise ValueError("must divide 86400, or be a multiple of it")
    return value


FieldPath = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+\z")]
FieldPaths = Annotated[
    list[FieldPath], BeforeValidator(_listed), Field(min_length=1, max_length=10), AfterValidator(_distinct)
]
Seconds = Annotated[Int, Field(ge=1, le=SECONDS_MOST)]
Delay = Annotated[Int, Field(ge=0, le=SECONDS_MOST)]
Age = Annotated[Int, Field(ge=1, le=10 * 365 * DAY_SECONDS)]
Overflow: TypeAlias = Literal["reject", "drop_oldest_append"]


class QueueSettings(Body):
    """What every type has."""

    LIVE: ClassVar[frozenset[str]] = frozenset({"max_message_age_seconds"})
    max_message_age_seconds: Age | None = None


class Bounded(QueueSettings):
    """Types with a bound on what they hold."""

    LIVE = QueueSettings.LIVE | {"max_queue_depth", "overflow_policy"}
    max_queue_depth: Annotated[Int, Field(ge=1, le=10**9)] | None = None
    overflow_policy: Overflow | None = None

    @model_validator(mode="after")
    def _overflow_of_a_depth(self) -> Self:
        if self.overflow_policy is not None and self.max_queue_depth is None:
            raise ValueError("overflow_policy needs max_queue_depth")
        return self


class Delivery(Bounded):
    """Types that deliver messages."""

    LIVE = Bounded.LIVE | {
        "consume_ttl_seconds",
        "max_deliveries",
        "retry_delay_seconds",
        "expired_to_dead_letters",
    }
    primary_key: FieldPaths | None = None
    consume_ttl_seconds: Seconds = 30
    max_deliveries: Annotated[Int, Field(ge=1, le=1000)] = 5
    retry_delay_seconds: Delay = 0
    expired_to_dead_letters: bool = False
    partitions: Annotated[Int, Field(ge=1, le=256)] = 1


class OneToOneSettings(Delivery):
    """one_to_one."""

    visibility_key: FieldPaths | None = None
    auto_ack: bool = False


class OneToManySettings(Delivery):
    """one_to_many."""

    LIVE = Delivery.LIVE | {"start_from", "consumer_ttl_seconds"}
    start_from: Literal["earliest", "latest"] = "earliest"
    consumer_ttl_seconds: Age | None = None


class Enriched(Body):
    """Streams: where the data comes from that messages are enriched with."""

    lookup_queue: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,80}\z")]
    foreign_key: FieldPaths
    missing_lookup: Literal["reject", "defer"] = "reject"
    defer_ttl_seconds: Age | None = None

    @model_validator(mode="after")
    def _time_limit_of_deferring(self) -> Self:
        if self.defer_ttl_seconds is not None and self.missing_lookup != "defer":
            raise ValueError("defer_ttl_seconds needs missing_lookup defer")
        return self


_ENRICHED_LIVE = {"missing_lookup", "defer_ttl_seconds"}


class StreamToOneSettings(OneToOneSettings, Enriched):
    """stream_to_one."""

    LIVE = OneToOneSettings.LIVE | _ENRICHED_LIVE


class StreamToManySettings(OneToManySettings, Enriched):
    """stream_to_many."""

    LIVE = OneToManySettings.LIVE | _ENRICHED_LIVE


class KeyValueSettings(Bounded):
    """key_value."""

    LIVE = Bounded.LIVE | {"on_duplicate"}
    primary_key: FieldPaths
    sort_key: FieldPath | None = None
    on_duplicate: Literal["reject", "replace"] = "reject"
    partitions: Annotated[Int, Field(ge=1, le=256)] = 1


class TimeSeriesSettings(QueueSettings):
    """time_series."""

    LIVE = QueueSettings.LIVE | {"fill_gaps", "max_buckets"}
    interval_seconds: Annotated[Int, Field(ge=1, le=36_500 * DAY_SECONDS), AfterValidator(_interval)]
    aggregation_fields: Annotated[list[FieldPath], Field(min_length=1, max_length=20), AfterValidator(_distinct)]
    primary_key: FieldPaths | None = None
    timestamp_field: FieldPath | None = None
    fill_gaps: bool = False
    max_buckets: Annotated[Int, Field(ge=1, le=10**6)] | None = None
    partitions: Annotated[Int, Field(ge=1, le=256)] = 1


class DocumentSettings(Bounded):
    """document and text_document."""

    LIVE = Bounded.LIVE | {"allow_subscriptions"}
    allow_subscriptions: bool = False


SETTINGS: dict[QueueType, type[QueueSettings]] = {
    "one_to_one": OneToOneSettings,
    "one_to_many": OneToManySettings,
    "key_value": KeyValueSettings,
    "time_series": TimeSeriesSettings,
    "stream_to_one": StreamToOneSettings,
    "stream_to_many": StreamToManySettings,
    "document": DocumentSettings,
    "text_document": DocumentSettings,
}


def check_settings(kind: QueueType, values: dict[str, Any]) -> QueueSettings:
    """The settings of a type.

    Raises:
        ValidationFailed: One is missing, unknown, out of bounds or contradicts another.
    """
    try:
        return SETTINGS[kind].model_validate(values)
    except ValidationError as error:
        raise validation_failed(error, prefix="settings") from error
