"""A queue as it is defined, and as it is stored."""

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from broker import keys, times
from broker.errors import ValidationFailed
from broker.queues.models import QueueAnswer
from broker.queues.settings import SETTINGS, Bounded, QueueSettings, QueueType, check_settings
from edge import Row

S = TypeVar("S", bound=QueueSettings)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of one tenant.

    Attributes:
        queue_id: Never reused; what the queue holds is stored under it.
        settings: The settings model of its type.
    """

    tenant_id: str
    queue_id: str
    name: str
    type: QueueType
    description: str | None
    settings: QueueSettings
    enabled: bool
    created_at: int
    updated_at: int

    def answer(self) -> QueueAnswer:
        """As callers see it."""
        answer: QueueAnswer = {
            "queue_id": self.queue_id,
            "name": self.name,
            "type": self.type,
            "enabled": self.enabled,
            "settings": self.settings.model_dump(exclude_none=True),
            "created_at": times.text(self.created_at),
            "updated_at": times.text(self.updated_at),
        }
        return answer if self.description is None else {**answer, "description": self.description}

    def row(self) -> Row:
        """As it is stored under its tenant and name."""
        row: Row = {
            "pk": keys.tenant(self.tenant_id),
            "sk": keys.queue_name(self.name),
            "queue_id": self.queue_id,
            "type": self.type,
            "settings": settings_text(self.settings),
            "enabled": self.enabled,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }
        return row if self.description is None else {**row, "description": self.description}


def settings_of(queue: Queue, model: type[S]) -> S:
    """The settings of a queue, as those of a type the caller has made sure of.

    Raises:
        TypeError: It is of another type: a defect in this program.
    """
    if not isinstance(queue.settings, model):
        raise TypeError(f"{queue.type} has no {model.__name__}")
    return queue.settings


def limit_of(queue: Queue) -> int | None:
    """The queue's `max_queue_depth`, None without one."""
    return queue.settings.max_queue_depth if isinstance(queue.settings, Bounded) else None


def cutoff_of(queue: Queue, *, now: int) -> int | None:
    """What was published at or before this moment has expired; None when nothing expires."""
    age = queue.settings.max_message_age_seconds
    return None if age is None else now - age * 1000


def settings_text(settings: QueueSettings) -> str:
    """Settings as they are stored."""
    return json.dumps(settings.model_dump(exclude_none=True), separators=(",", ":"))


def read_queue(row: Row) -> Queue:
    """Back from the row."""
    kind = _type(str(row["type"]))
    values: dict[str, Any] = json.loads(str(row["settings"]))
    return Queue(
        tenant_id=str(row["pk"]).removeprefix(keys.tenant("")),
        queue_id=str(row["queue_id"]),
        name=str(row["sk"]).removeprefix(keys.QUEUES_PREFIX),
        type=kind,
        description=str(row["description"]) if "description" in row else None,
        settings=SETTINGS[kind].model_validate(values),
        enabled=bool(row["enabled"]),
        created_at=int(str(row["created_at"])),
        updated_at=int(str(row["updated_at"])),
    )


def _type(text: str) -> QueueType:
    return next(kind for kind in SETTINGS if kind == text)


def changed_settings(queue: Queue, values: dict[str, Any]) -> QueueSettings:
    """The settings of a queue after a change; null takes a setting back to its default.

    Raises:
        ValidationFailed: One cannot be changed, or the whole does not hold together.
    """
    model = SETTINGS[queue.type]
    for name in values:
        if name in model.model_fields and name not in model.LIVE:
            raise ValidationFailed.of(f"settings.{name}", "cannot be changed after the queue was made")
    merged = {**queue.settings.model_dump(exclude_none=True), **values}
    return check_settings(queue.type, {name: value for name, value in merged.items() if value is not None})
