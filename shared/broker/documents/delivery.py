"""Making the copies: the scheduled work behind subscriptions.

A copy is made in one step with taking its note away, so that it is made once, whoever tries and however often, and
never again after the subscriber deleted it. What cannot be made now stays noted; one subscriber's trouble holds up no
other.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Literal, TypeAlias

from broker.crypto import Unreadable, Vault
from broker.documents import document as entries
from broker.documents import keys
from broker.documents.document import Document
from broker.documents.outbox import STOP_SECONDS, Outbox
from broker.documents.store import Store
from broker.documents.subscriptions import ENDED, Subscription, Subscriptions, read_subscription
from broker.documents.uploads import Uploads
from broker.errors import BrokerError, NotFound, QueueFull
from broker.ids import Clock, Ids, smallest
from broker.metrics import count
from broker.queues.queue import Queue
from edge import (
    BlobMissing,
    EdgeError,
    EdgeUnavailable,
    Operation,
    PartitionFull,
    Row,
    StateTable,
    TransactionRefused,
    remaining_seconds,
)

_Outcome: TypeAlias = Literal["made", "dropped", "stopped"]
_PAGE = 100


class Deliveries:
    """The scheduled delivery; bounded by the time left, harmless when run twice, resumed by the next run.

    Args:
        state: The rows.
        store: Documents.
        uploads: Where copies go.
        outbox: Where documents wait.
        subscriptions: Who gets them.
        find_queue: A queue by tenant and id as it is now; raises NotFound.
        vault: Encryption.
        clock: The time.
        ids: Ids of copies.
    """

    def __init__(
        self,
        *,
        state: StateTable,
        store: Store,
        uploads: Uploads,
        outbox: Outbox,
        subscriptions: Subscriptions,
        find_queue: Callable[[str, str], Queue],
        vault: Vault,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._state = state
        self._store = store
        self._uploads = uploads
        self._outbox = outbox
        self._subscriptions = subscriptions
        self._find_queue = find_queue
        self._vault = vault
        self._clock = clock
        self._ids = ids

    def run(self) -> int:
        """Spread what was uploaded, then make copies; returns how many were made.

        Raises:
            ExceptionGroup: Some work failed for no reason that was expected; the other was done.
        """
        failures: list[Exception] = []
        for shard in range(keys.SHARDS):
            for row in self._outbox.waiting(shard):
                try:
                    self._outbox.spread(row)
                except Exception as error:  # noqa: BLE001  # one document's trouble must not hold up the others
                    failures.append(error)
                    break
        made = 0
        for shard in range(keys.SHARDS):
            for subscription in self._due(shard):
                try:
                    made += self._serve(subscription)
                except Exception as error:  # noqa: BLE001  # likewise one subscription's
                    failures.append(error)
                    with suppress(EdgeError):
                        self._note(subscription, "failing", "Something unexpected happened; it has been recorded.")
        if failures:
            raise ExceptionGroup("documents that could not be delivered", failures)
        return made

    def _due(self, shard: int) -> Iterator[Subscription]:
        start: Row | None = None
        while remaining_seconds() > STOP_SECONDS:
            page = self._state.query(keys.deliveries_shard(shard), index="by_rank", limit=_PAGE, start=start)
            rows = self._state.get_many([(str(row["pk"]), str(row["sk"])) for row in page.rows])
            yield from (read_subscription(row) for row in rows if row is not None and "rank" in row)
            start = page.next
            if start is None:
                return

    def _serve(self, subscription: Subscription) -> int:
        """Make a subscription's copies, oldest document first, until one cannot be made."""
        queue = self._target(subscription)
        if queue is not None and not queue.enabled:
            self._note(subscription, "disabled", "The queue is disabled.")
            return 0
        made = 0
        while remaining_seconds() > STOP_SECONDS:
            notes = self._state.query(keys.copies(subscription.subscription_id), limit=_PAGE).rows
            if not notes:
                self._settle(subscription)
                return made
            for note in notes:
                if remaining_seconds() < STOP_SECONDS:
                    return made
                outcome = self._copy(note, subscription, queue)
                if outcome == "stopped":
                    return made
                made += outcome == "made"
        return made

    def _target(self, subscription: Subscription) -> Queue | None:
        """The subscribing queue; None when the subscription has ended, or ends here since the queue is gone."""
        if subscription.state == ENDED:
            return None
        try:
            return self._find_queue(subscription.tenant_id, subscription.queue_id)
        except NotFound:
            self._subscriptions.end(subscription)
            return None

    def _copy(self, note: Row, subscription: Subscription, queue: Queue | None) -> _Outcome:
        source, document_id = subscription.source_queue_id, str(note["sk"])
        waiting = self._state.get(keys.outbox(source), keys.outgoing(source, document_id=document_id))
        if waiting is None:
            self._state.delete(str(note["pk"]), str(note["sk"]))
            return "dropped"
        if queue is None:
            return self._drop(note, waiting, subscription, failed=False)
        try:
            document, content = self._read(waiting, subscription)
            self._uploads.check_room(queue)
            also = [*self._taken(note, waiting), self._counted(subscription, "#delivered")]
            self._uploads.add(queue, document, content, also=also)
        except (BlobMissing, Unreadable):
            count("Unreadable", kind=queue.type, tenant_id=subscription.source_tenant_id, queue_id=source)
            return self._drop(note, waiting, subscription, failed=True)
        except QueueFull as error:
            self._note(subscription, "full", error.detail)
            return "stopped"
        except TransactionRefused:
            return "stopped"  # somebody else made it, or the subscription has just ended: the next run knows
        except (EdgeUnavailable, PartitionFull, BrokerError):
            self._note(subscription, "failing", "Storage or a key cannot be had at the moment.")
            return "stopped"
        if int(str(waiting["left"])) <= 1:
            self._outbox.discard_unless_kept(waiting)
        return "made"

    def _read(self, waiting: Row, subscription: Subscription) -> tuple[Document, bytes]:
        tenant_id, source = subscription.source_tenant_id, subscription.source_queue_id
        document_id = str(waiting["document_id"])
        found = entries.unseal(
            waiting["entry"], tenant_id=tenant_id, queue_id=source, document_id=document_id, vault=self._vault
        )
        path = waiting["path"] if isinstance(waiting["path"], list) else []
        copy = Document(
            document_id=self._ids(),
            name=found.name,
            description=found.description,
            media=found.media,
            size=found.size,
            sha256=found.sha256,
            path=tuple(str(one) for one in path),
        )
        return copy, self._store.content(document_id, tenant_id=tenant_id, queue_id=source)

    def _taken(self, note: Row, waiting: Row) -> list[Operation]:
        return [
            self._state.delete_operation(str(note["pk"]), str(note["sk"]), condition="attribute_exists(#pk)"),
            self._outbox.copied_operation(waiting),
        ]

    def _counted(self, subscription: Subscription, what: str) -> Operation:
        return self._state.update_operation(
            keys.deliveries(subscription.subscription_id),
            subscription.subscription_id,
            f"SET #state = :active ADD {what} :one, #pending :less REMOVE #detail",
            values={"active": "active", "one": 1, "less": -1, "ended": ENDED},
            condition="#state <> :ended",
        )

    def _drop(self, note: Row, waiting: Row, subscription: Subscription, *, failed: bool) -> _Outcome:
        """Take a note away without making the copy."""
        operations = self._taken(note, waiting)
        if failed:
            operations.append(self._counted(subscription, "#failed"))
        try:
            self._state.transact(operations)
        except TransactionRefused:
            return "stopped"  # changed in the meantime: the next run knows
        if int(str(waiting["left"])) <= 1:
            self._outbox.discard_unless_kept(waiting)
        return "dropped"

    def _settle(self, subscription: Subscription) -> None:
        """Nothing is left to be done; an ended subscription is forgotten with that."""
        place = (keys.deliveries(subscription.subscription_id), subscription.subscription_id)
        with suppress(EdgeError):
            fresh = self._subscriptions.load(subscription.subscription_id)
            if fresh is not None and fresh.state == ENDED:
                self._state.delete(*place)
            elif fresh is not None:
                self._state.update(*place, "REMOVE #rank", values={"none": 0}, condition="#pending <= :none")

    def _note(self, subscription: Subscription, state: str, detail: str) -> None:
        """Say what holds a subscription up, and let the others go first next time."""
        with suppress(EdgeError):
            self._state.update(
                keys.deliveries(subscription.subscription_id),
                subscription.subscription_id,
                "SET #state = :state, #detail = :detail, #rank = :rank",
                values={"state": state, "detail": detail, "rank": smallest(self._clock()), "ended": ENDED},
                condition="attribute_exists(#pk) AND #state <> :ended",
            )
