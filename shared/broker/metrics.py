"""Metrics of what a call did, as CloudWatch's embedded metric format on standard output, once at its end.

Dimensions are few (the service and the type of queue) since each combination is paid for; the queue and its tenant
stand beside them as plain members, to be searched in the logs.
"""

import contextlib
import contextvars
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["Count", "Seconds"]


@dataclass
class _Counted:
    """What one invocation has counted, by (type, tenant, queue) and (name, unit)."""

    values: dict[tuple[str, str, str], dict[tuple[str, Unit], float]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(float))
    )


_counted: contextvars.ContextVar[_Counted | None] = contextvars.ContextVar("broker_counted", default=None)


def count(name: str, value: float = 1, *, kind: str, tenant_id: str, queue_id: str, unit: Unit = "Count") -> None:
    """Add to a metric of this invocation; outside of one nothing is counted.

    Args:
        name: The metric, in CamelCase, e.g. `Published`.
        value: How much.
        kind: The type of queue, `log` for queue/v1.
        tenant_id: Whose.
        queue_id: Which queue.
        unit: `Count`, or `Seconds` for an age; values of one call are added up either way.
    """
    counted = _counted.get()
    if counted is not None and value:
        counted.values[kind, tenant_id, queue_id][name, unit] += value


@contextlib.contextmanager
def counting() -> Iterator[None]:
    """Collect what is counted inside and write it at the end, also when the call fails."""
    counted = _Counted()
    token = _counted.set(counted)
    try:
        yield
    finally:
        _counted.reset(token)
        if counted.values:
            _write(counted)


def _write(counted: _Counted) -> None:
    from aws_lambda_powertools.metrics import EphemeralMetrics  # not needed before something was counted

    for (kind, tenant_id, queue_id), values in counted.values.items():
        metrics = EphemeralMetrics(namespace=os.environ.get("POWERTOOLS_METRICS_NAMESPACE", "Towpath"))
        metrics.add_dimension(name="type", value=kind)
        metrics.add_metadata(key="tenant_id", value=tenant_id)
        metrics.add_metadata(key="queue_id", value=queue_id)
        for (name, unit), value in values.items():
            metrics.add_metric(name=name, unit=unit, value=value)
        metrics.flush_metrics()
