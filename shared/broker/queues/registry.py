"""The registry of queues: made, found, listed, changed, switched, deleted; read through a cache of five seconds.

A queue stands whole under its tenant and name, which makes names unique; a row under its id points there, and a row
in a sharded registry lets the scheduled functions find it.
"""

from collections.abc import Sequence

from broker import keys
from broker.cache import Cache
from broker.caller import Action, Caller
from broker.crypto import Scope
from broker.errors import DuplicateName, LookupInUse, NotFound, QueueDisabled, ValidationFailed
from broker.ids import Clock, Ids, is_ulid
from broker.listing import Lister, Listing, PageRequest
from broker.names import FreedNames
from broker.queues.models import QueueListQuery, QueuePatch, QueueRequest
from broker.queues.queue import Queue, changed_settings, limit_of, read_queue, settings_text
from broker.queues.settings import QueueSettings
from broker.tenants import alive_operation, not_alive
from edge import ConditionFailed, Operation, Row, StateTable, TransactionRefused

CACHE_SECONDS = 5
_SAME = "#queue_id = :queue_id"


class Registry:
    """The queues of all tenants."""

    def __init__(self, *, state: StateTable, lister: Lister, names: FreedNames, clock: Clock, ids: Ids) -> None:
        self._state = state
        self._names = names
        self._lister = lister
        self._clock = clock
        self._ids = ids
        self._cache: Cache[tuple[str, str], Queue] = Cache(seconds=CACHE_SECONDS, clock=clock)

    def create(
        self, caller: Caller, request: QueueRequest, *, settings: QueueSettings, alongside: Sequence[Operation] = ()
    ) -> Queue:
        """Define a queue, and carry out what must happen with it. Under a name just freed this takes some seconds.

        Raises:
            DuplicateName: The tenant has one of this name.
            ValidationFailed: The condition of one of `alongside` does not hold.
        """
        self._names.wait(caller.tenant_id, keys.queue_name(request.name))
        now = self._clock()
        queue = Queue(
            tenant_id=caller.tenant_id,
            queue_id=self._ids(),
            name=request.name,
            type=request.type,
            description=request.description,
            settings=settings,
            enabled=True,
            created_at=now,
            updated_at=now,
        )
        pointer: Row = {"tenant_id": queue.tenant_id, "name": queue.name, "type": queue.type}
        try:
            self._state.transact(
                [
                    alive_operation(self._state, caller.tenant_id),
                    self._state.put_operation(queue.row(), condition="attribute_not_exists(#pk)"),
                    self._state.put_operation({"pk": keys.queue(queue.queue_id), "sk": keys.CONFIG, **pointer}),
                    self._state.put_operation({"pk": keys.registry(queue.queue_id), "sk": queue.queue_id, **pointer}),
                    *alongside,
                ]
            )
        except TransactionRefused as error:
            if error.failures[0] is not None:
                raise not_alive(error.failures[0]) from error
            if error.failures[1] is None:
                raise ValidationFailed.of("settings", "name a queue that has just been deleted") from error
            raise DuplicateName(f"There is a queue named {queue.name}.") from error
        return queue

    def listed(self, caller: Caller, query: QueueListQuery) -> Listing[Queue]:
        """The tenant's queues by name, those that the caller has any permission on; a page may be short."""
        prefix = keys.queue_name(query.name_prefix or "")
        page = self._lister.page(
            keys.tenant(caller.tenant_id),
            prefix=prefix,
            scope=Scope(caller.tenant_id, "", "queues", f"{query.type or ''}/{query.name_prefix or ''}"),
            request=PageRequest(query.limit, query.next_token),
            read=read_queue,
        )
        shown = [
            queue
            for queue in page.items
            if (query.type is None or queue.type == query.type) and caller.may(None, queue=queue.name)
        ]
        return Listing(shown, page.next_token)

    def find(self, caller: Caller, reference: str, *, action: Action | None) -> Queue:
        """A queue by id or name for an action of a caller, as it was at most five seconds ago.

        Raises:
            NotFound: The caller's tenant has no such queue.
            Forbidden: The caller may not do this to it.
        """
        queue: Queue | None
        try:
            queue = self._cache.get((caller.tenant_id, reference), lambda: self.load(caller.tenant_id, reference))
        except NotFound:
            queue = None
        caller.require(action, queue=queue.name if queue else reference, exists=queue is not None)
        if queue is None:
            raise NotFound
        return queue

    def find_enabled(self, caller: Caller, reference: str, *, action: Action) -> Queue:
        """`find`, for what a disabled queue refuses.

        Raises:
            QueueDisabled: It is disabled.
        """
        queue = self.find(caller, reference, action=action)
        if not queue.enabled:
            raise QueueDisabled
        return queue

    def known(self, tenant_id: str, reference: str) -> Queue:
        """`load`, as it was at most five seconds ago."""
        return self._cache.get((tenant_id, reference), lambda: self.load(tenant_id, reference))

    def load(self, tenant_id: str, reference: str) -> Queue:
        """A queue by id or name as it is now.

        Raises:
            NotFound: The tenant has none.
        """
        name = reference
        if is_ulid(reference):
            pointer = self._state.get(keys.queue(reference), keys.CONFIG)
            if pointer is not None and pointer["tenant_id"] == tenant_id:
                name = str(pointer["name"])
        row = self._state.get(keys.tenant(tenant_id), keys.queue_name(name))
        if row is None or (name != reference and row["queue_id"] != reference):
            raise NotFound(f"There is no queue {reference}.")
        return read_queue(row)

    def change(self, caller: Caller, reference: str, patch: QueuePatch) -> Queue:
        """Change description and live settings; in effect everywhere within five seconds.

        Raises:
            NotFound: The tenant has no such queue.
            ValidationFailed: A setting is unknown, not live, out of bounds or contradicts another.
        """
        queue = self.load(caller.tenant_id, reference)
        settings = changed_settings(queue, patch.settings)
        expression = "SET #settings = :settings, #updated_at = :now"
        values: Row = {"settings": settings_text(settings), "now": self._clock(), "queue_id": queue.queue_id}
        if patch.description is not None:
            expression += ", #description = :description"
            values["description"] = patch.description
        changed = self._update(queue, expression, values)
        if limit_of(queue) is not None and limit_of(changed) is None:
            # Nobody keeps the counter from now on; whoever sets a limit again counts afresh.
            self._state.delete(keys.queue(queue.queue_id), keys.DEPTH)
        return changed

    def switch(self, caller: Caller, reference: str, *, enabled: bool) -> Queue:
        """Enable or disable; in effect everywhere within five seconds.

        Raises:
            NotFound: The tenant has no such queue.
        """
        queue = self.load(caller.tenant_id, reference)
        values: Row = {"enabled": enabled, "now": self._clock(), "queue_id": queue.queue_id}
        return self._update(queue, "SET #enabled = :enabled, #updated_at = :now", values)

    def note_purge(self, queue: Queue) -> int:
        """Let the sweep see to it that a purge is completed; returns the moment up to which it reaches."""
        now = self._clock()
        row: Row = {"pk": keys.purged(queue.queue_id), "sk": queue.queue_id, "purged_at": now}
        self._state.put({**row, "tenant_id": queue.tenant_id, "type": queue.type})
        return now

    def delete(self, queue: Queue, *, alongside: Sequence[Operation] = ()) -> None:
        """Delete a queue. It is gone at once; a scheduled function removes what it held.

        Raises:
            NotFound: It is gone already.
            LookupInUse: Other queues need it.
        """
        doomed: Row = {
            "pk": keys.doomed(queue.queue_id),
            "sk": queue.queue_id,
            "type": queue.type,
            "tenant_id": queue.tenant_id,
            "settings": settings_text(queue.settings),
            "doomed_at": self._clock(),
        }
        try:
            self._state.transact(
                [
                    self._state.delete_operation(
                        keys.tenant(queue.tenant_id),
                        keys.queue_name(queue.name),
                        condition=f"{_SAME} AND (attribute_not_exists(#uses) OR #uses = :none)",
                        values={"queue_id": queue.queue_id, "none": 0},
                    ),
                    self._state.delete_operation(keys.queue(queue.queue_id), keys.CONFIG),
                    self._state.delete_operation(keys.registry(queue.queue_id), queue.queue_id),
                    self._state.put_operation(doomed),
                    self._names.free_operation(
                        queue.tenant_id,
                        keys.queue_name(queue.name),
                        remembered_until=self._clock() + CACHE_SECONDS * 1000,
                    ),
                    *alongside,
                ]
            )
        except TransactionRefused as error:
            old = error.failures[0].old if error.failures[0] else None
            if old is not None and old["queue_id"] == queue.queue_id:
                raise LookupInUse from error
            raise NotFound(f"There is no queue {queue.name}.") from error
        finally:
            self._forget(queue)

    def use_operation(self, queue: Queue, *, amount: int) -> Operation:
        """Note how many more queues need this one, or less, which keeps it from deletion."""
        return self._state.update_operation(
            keys.tenant(queue.tenant_id),
            keys.queue_name(queue.name),
            "ADD #uses :amount",
            values={"amount": amount, "queue_id": queue.queue_id},
            condition=_SAME,
        )

    def _update(self, queue: Queue, expression: str, values: Row) -> Queue:
        try:
            row = self._state.update(
                keys.tenant(queue.tenant_id),
                keys.queue_name(queue.name),
                expression,
                values=values,
                condition=_SAME,
            )
        except ConditionFailed as error:
            raise NotFound(f"There is no queue {queue.name}.") from error
        self._forget(queue)
        return read_queue(row)

    def _forget(self, queue: Queue) -> None:
        for reference in (queue.name, queue.queue_id):
            self._cache.forget((queue.tenant_id, reference))
