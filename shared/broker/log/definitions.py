"""The definitions of logs: made once, enabled and disabled, deleted; read through a cache of five seconds."""

from collections.abc import Sequence
from dataclasses import dataclass

from broker import keys
from broker.cache import Cache
from broker.caller import Action, Caller
from broker.crypto import Scope
from broker.errors import DefinitionMismatch, NotFound, QueueDisabled, QueueEnabled
from broker.ids import Clock, Ids
from broker.listing import Lister, Listing, PageRequest
from broker.log.models import DescriptorAnswer
from broker.metrics import count
from broker.names import FreedNames
from broker.tenants import alive_operation, not_alive
from edge import ConditionFailed, Row, StateTable, TransactionRefused

CACHE_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Log:
    """A log as it is defined."""

    tenant_id: str
    queue_id: str
    namespace: str
    queue: str
    partitions: int
    storage: str
    enabled: bool
    created_at: int
    switched_at: int

    def answer(self) -> DescriptorAnswer:
        """As callers see it."""
        return {
            "namespace": self.namespace,
            "queue": self.queue,
            "partitions": self.partitions,
            "storage": self.storage,
            "enabled": self.enabled,
        }

    def count(self, name: str, value: int) -> None:
        """Add to a metric of this log."""
        count(name, value, kind="log", tenant_id=self.tenant_id, queue_id=self.queue_id)

    def sources(self) -> list[str]:
        """The sources of its partitions, in order."""
        return [keys.log_source(self.queue_id, partition=number) for number in range(self.partitions)]


class Definitions:
    """The logs of all tenants."""

    def __init__(self, *, state: StateTable, lister: Lister, names: FreedNames, clock: Clock, ids: Ids) -> None:
        self._state = state
        self._names = names
        self._lister = lister
        self._clock = clock
        self._ids = ids
        self._cache: Cache[tuple[str, str, str], Log] = Cache(seconds=CACHE_SECONDS, clock=clock)

    def create(
        self, caller: Caller, namespace: str, *, queue: str, partitions: int, storage: str | None
    ) -> DescriptorAnswer:
        """Define a log, or find it defined just so. Under a name just freed this takes some seconds.

        Raises:
            DefinitionMismatch: It exists with other partitions or another storage.
        """
        self._names.wait(caller.tenant_id, keys.log(namespace, queue))
        now = self._clock()
        log = Log(
            caller.tenant_id,
            self._ids(),
            namespace,
            queue,
            partitions,
            storage or f"datastore://{namespace}/{queue}",
            True,  # enabled, as its field says
            now,
            now,
        )
        try:
            self._state.transact(
                [
                    alive_operation(self._state, caller.tenant_id),
                    self._state.put_operation(_row(log), condition="attribute_not_exists(#pk)"),
                ]
            )
        except TransactionRefused as error:
            if error.failures[0] is not None:
                raise not_alive(error.failures[0]) from error
            log = self._same(log)
        answer = log.answer()
        del answer["enabled"]
        return answer

    def listed(self, caller: Caller, namespace: str, *, request: PageRequest) -> Listing[DescriptorAnswer]:
        """The namespace's logs by name, those that the caller has any permission on."""
        page = self._lister.page(
            keys.tenant(caller.tenant_id),
            prefix=keys.logs_of(namespace),
            scope=Scope(caller.tenant_id, "", "logs", namespace),
            request=request,
            read=_read,
        )
        visible = [log.answer() for log in page.items if caller.may(None, queue=f"{namespace}/{log.queue}")]
        return Listing(visible, page.next_token)

    def find(self, caller: Caller, namespace: str, queue: str, *, action: Action | None) -> Log:
        """A log for an action of a caller, as it was at most five seconds ago.

        Raises:
            NotFound: The tenant has no such log.
            Forbidden: The caller may not do this to it.
        """
        key = (caller.tenant_id, namespace, queue)
        log: Log | None
        try:
            log = self._cache.get(key, lambda: self._load(caller.tenant_id, namespace, queue))
        except NotFound:
            log = None
        caller.require(action, queue=f"{namespace}/{queue}", exists=log is not None)
        if log is None:
            raise NotFound
        return log

    def find_enabled(self, caller: Caller, namespace: str, queue: str, *, action: Action) -> Log:
        """`find`, for what a disabled log refuses.

        Raises:
            QueueDisabled: It is disabled.
        """
        log = self.find(caller, namespace, queue, action=action)
        if not log.enabled:
            raise QueueDisabled
        return log

    def switch(self, caller: Caller, namespace: str, queue: str, *, enabled: bool) -> DescriptorAnswer:
        """Enable or disable; effective everywhere within five seconds.

        Raises:
            NotFound: The tenant has no such log.
        """
        try:
            row = self._state.update(
                keys.tenant(caller.tenant_id),
                keys.log(namespace, queue),
                "SET #enabled = :enabled, #switched_at = :now",
                values={"enabled": enabled, "now": self._clock()},
                condition="attribute_exists(#pk)",
            )
        except ConditionFailed as error:
            raise NotFound(f"There is no queue {namespace}/{queue}.") from error
        self._cache.forget((caller.tenant_id, namespace, queue))
        return _read(row).answer()

    def delete(self, caller: Caller, namespace: str, queue: str) -> None:
        """Delete a disabled log. It is gone at once; a scheduled function removes what it held.

        Raises:
            NotFound: The tenant has no such log.
            QueueEnabled: It is enabled.
        """
        log = self._load(caller.tenant_id, namespace, queue)
        doomed: Row = {
            "pk": keys.doomed(log.queue_id),
            "sk": log.queue_id,
            "partitions": log.partitions,
            "doomed_at": self._clock(),
        }
        try:
            self._state.transact(
                [
                    self._state.delete_operation(
                        keys.tenant(caller.tenant_id),
                        keys.log(namespace, queue),
                        condition="#queue_id = :queue_id AND #enabled = :false",
                        values={"queue_id": log.queue_id, "false": False},
                    ),
                    self._state.put_operation(doomed),
                    self._names.free_operation(
                        caller.tenant_id,
                        keys.log(namespace, queue),
                        remembered_until=log.switched_at + CACHE_SECONDS * 1000,
                    ),
                ]
            )
        except TransactionRefused as error:
            if self._load(caller.tenant_id, namespace, queue).enabled:
                raise QueueEnabled from error
            raise NotFound(f"There is no queue {namespace}/{queue}.") from error
        self._cache.forget((caller.tenant_id, namespace, queue))

    def _same(self, log: Log) -> Log:
        found = self._load(log.tenant_id, log.namespace, log.queue)
        if (found.partitions, found.storage) != (log.partitions, log.storage):
            raise DefinitionMismatch(
                f"{log.namespace}/{log.queue} exists with {found.partitions} partitions on {found.storage}; "
                "definitions are fixed for good.",
            )
        return found

    def _load(self, tenant_id: str, namespace: str, queue: str) -> Log:
        row = self._state.get(keys.tenant(tenant_id), keys.log(namespace, queue))
        if row is None:
            raise NotFound(f"There is no queue {namespace}/{queue}.")
        return _read(row)


def doomed_sources(row: Row) -> Sequence[str]:
    """The sources of a deleted log, from its row in the list of the doomed."""
    return [keys.log_source(str(row["sk"]), partition=number) for number in range(int(str(row["partitions"])))]


def _row(log: Log) -> Row:
    return {
        "pk": keys.tenant(log.tenant_id),
        "sk": keys.log(log.namespace, log.queue),
        "queue_id": log.queue_id,
        "namespace": log.namespace,
        "queue": log.queue,
        "partitions": log.partitions,
        "storage": log.storage,
        "enabled": log.enabled,
        "created_at": log.created_at,
        "switched_at": log.switched_at,
    }


def _read(row: Row) -> Log:
    return Log(
        tenant_id=str(row["pk"]).removeprefix("tenant#"),
        queue_id=str(row["queue_id"]),
        namespace=str(row["namespace"]),
        queue=str(row["queue"]),
        partitions=int(str(row["partitions"])),
        storage=str(row["storage"]),
        enabled=bool(row["enabled"]),
        created_at=int(str(row["created_at"])),
        switched_at=int(str(row["switched_at"])),
    )
