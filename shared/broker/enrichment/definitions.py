"""Making stream queues, and keeping what they look up."""

from collections.abc import Sequence

from broker.caller import Caller
from broker.enrichment.message import lookup_settings
from broker.errors import NotFound, ValidationFailed
from broker.queues.queue import Queue, settings_of
from broker.queues.registry import Registry
from broker.queues.settings import Enriched, KeyValueSettings, QueueSettings
from edge import Operation


class Definitions:
    """Ties a stream queue to the queue it looks items up in, which cannot be deleted while it does."""

    def __init__(self, *, registry: Registry) -> None:
        self._registry = registry

    def check(self, caller: Caller, settings: QueueSettings) -> Sequence[Operation]:
        """What must happen when a queue of these settings is made.

        Raises:
            ValidationFailed: Its lookup queue is absent, another tenant's or of another type, which is all the same;
                or the foreign key has not as many fields as keys there.
        """
        wanted: object = settings
        if not isinstance(wanted, Enriched):
            return []
        try:
            lookup = self._registry.load(caller.tenant_id, wanted.lookup_queue)
        except NotFound:
            lookup = None
        if lookup is None or lookup.type != "key_value":
            raise ValidationFailed.of("settings.lookup_queue", "must be a key_value queue of this tenant")
        fields = len(settings_of(lookup, KeyValueSettings).primary_key)
        if len(wanted.foreign_key) != fields:
            raise ValidationFailed.of("settings.foreign_key", f"must be {fields} field paths, as in the key there")
        return [self._registry.use_operation(lookup, amount=1)]

    def untie(self, queue: Queue) -> Sequence[Operation]:
        """What must happen when a queue is deleted."""
        settings = lookup_settings(queue)
        if settings is None:
            return []
        try:
            lookup = self._registry.load(queue.tenant_id, settings.lookup_queue)
        except NotFound:
            return []
        return [self._registry.use_operation(lookup, amount=-1)]
