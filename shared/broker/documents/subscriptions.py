"""Subscriptions: a queue gets the documents of another one, of its own tenant or of one that allows it.

A subscription is three rows: one under the subscriber, which has at most one; one under the source, which lists them;
and one that says how far it is, by which the schedule finds it.
"""

from dataclasses import dataclass

from broker.documents import keys
from broker.errors import Throttled
from broker.ids import Clock, Ids, smallest
from broker.queues.queue import Queue
from edge import Operation, Row, StateTable, TransactionRefused

ACTIVE, ENDED = "active", "ended"
_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Subscription:
    """One subscription.

    Attributes:
        state: `active`, or what holds delivery up: `full`, `disabled`, `failing`.
        detail: More about that, for people.
        delivered: Copies made.
        pending: Copies that are still to be made, of documents that were spread already.
        failed: Copies that can never be made, since their document does not open any more.
    """

    subscription_id: str
    tenant_id: str
    queue_id: str
    source_tenant_id: str
    source_queue_id: str
    epoch: int
    created_at: int
    state: str
    detail: str
    delivered: int
    pending: int
    failed: int


class Subscriptions:
    """The subscriptions of all queues."""

    def __init__(self, *, state: StateTable, clock: Clock, ids: Ids) -> None:
        self._state = state
        self._clock = clock
        self._ids = ids

    def of(self, queue_id: str) -> Subscription | None:
        """The subscription of a queue, if it has one."""
        pointer = self._state.get(keys.queue(queue_id), keys.SUBSCRIPTION)
        return None if pointer is None else self.load(str(pointer["subscription_id"]))

    def load(self, subscription_id: str) -> Subscription | None:
        """A subscription by id."""
        row = self._state.get(keys.deliveries(subscription_id), subscription_id)
        return None if row is None else read_subscription(row)

    def load_many(self, subscription_ids: list[str]) -> list[Subscription | None]:
        """Subscriptions by id, in order."""
        rows = self._state.get_many([(keys.deliveries(one), one) for one in subscription_ids])
        return [None if row is None else read_subscription(row) for row in rows]

    def begin(self, queue: Queue, *, source: Queue) -> tuple[Subscription, bool]:
        """Let a queue get the documents that are uploaded to another from now on; returns whether it had none before.

        What it had subscribed to before ends. Subscribing again to the same source changes nothing.
        """
        for _ in range(_ATTEMPTS):
            old = self.of(queue.queue_id)
            if old is not None and old.source_queue_id == source.queue_id:
                return old, False
            try:
                return self._begin(queue, source=source, old=old), old is None
            except TransactionRefused:
                continue  # another subscription began or ended here or there at the same moment
        raise Throttled

    def end(self, subscription: Subscription) -> bool:
        """End a subscription; copies that are still to be made never are. False when it had ended already."""
        for _ in range(_ATTEMPTS):
            try:
                self._state.transact(self._end_operations(subscription, replaced=False))
            except TransactionRefused:
                found = self.load(subscription.subscription_id)
                if found is None or found.state == ENDED:
                    return False
            else:
                return True
        return False

    def _begin(self, queue: Queue, *, source: Queue, old: Subscription | None) -> Subscription:
        head = self._state.get(keys.queue(source.queue_id), keys.SUBSCRIBERS)
        epoch = int(str(head["epoch"])) if head is not None else 0
        subscription_id, now = self._ids(), self._clock()
        delivery: Row = {
            "pk": keys.deliveries(subscription_id),
            "sk": subscription_id,
            "tenant_id": queue.tenant_id,
            "queue_id": queue.queue_id,
            "source_tenant_id": source.tenant_id,
            "source_queue_id": source.queue_id,
            "epoch": epoch + 1,
            "created_at": now,
            "state": ACTIVE,
            "delivered": 0,
            "pending": 0,
            "failed": 0,
        }
        pointer: Row = {
            "pk": keys.queue(queue.queue_id),
            "sk": keys.SUBSCRIPTION,
            "subscription_id": subscription_id,
        }
        subscriber: Row = {
            "pk": keys.subscribers(source.queue_id),
            "sk": subscription_id,
            "tenant_id": queue.tenant_id,
            "queue_id": queue.queue_id,
            "epoch": epoch + 1,
        }
        unchanged = "attribute_not_exists(#epoch)" if head is None else "#epoch = :seen"
        seen: Row = {} if head is None else {"seen": epoch}
        operations = [
            self._state.check_operation(keys.queue(source.queue_id), keys.CONFIG, condition="attribute_exists(#pk)"),
            self._state.check_operation(keys.queue(queue.queue_id), keys.CONFIG, condition="attribute_exists(#pk)"),
            self._state.update_operation(
                keys.queue(source.queue_id),
                keys.SUBSCRIBERS,
                "ADD #epoch :one, #count :one",
                values={"one": 1, **seen},
                condition=unchanged,
            ),
            self._state.put_operation(delivery),
            self._state.put_operation(subscriber),
        ]
        if old is None:
            operations.append(self._state.put_operation(pointer, condition="attribute_not_exists(#pk)"))
        else:
            condition = "#subscription_id = :old"
            values: Row = {"old": old.subscription_id}
            operations.append(self._state.put_operation(pointer, condition=condition, values=values))
            operations += self._end_operations(old, replaced=True)
        self._state.transact(operations)
        return read_subscription(delivery)

    def _end_operations(self, subscription: Subscription, *, replaced: bool) -> list[Operation]:
        subscription_id = subscription.subscription_id
        pointer = self._state.delete_operation(
            keys.queue(subscription.queue_id),
            keys.SUBSCRIPTION,
            condition="#subscription_id = :id",
            values={"id": subscription_id},
        )
        return [
            *([] if replaced else [pointer]),
            self._state.delete_operation(
                keys.subscribers(subscription.source_queue_id), subscription_id, condition="attribute_exists(#pk)"
            ),
            self._state.update_operation(
                keys.queue(subscription.source_queue_id),
                keys.SUBSCRIBERS,
                "ADD #count :less",
                values={"less": -1},
                condition="attribute_exists(#count)",
            ),
            self._state.update_operation(
                keys.deliveries(subscription_id),
                subscription_id,
                "SET #state = :ended, #rank = :rank",
                values={"ended": ENDED, "rank": smallest(self._clock())},
                condition="attribute_exists(#pk)",
            ),
        ]


def read_subscription(row: Row) -> Subscription:
    """A subscription from its row."""
    return Subscription(
        subscription_id=str(row["sk"]),
        tenant_id=str(row["tenant_id"]),
        queue_id=str(row["queue_id"]),
        source_tenant_id=str(row["source_tenant_id"]),
        source_queue_id=str(row["source_queue_id"]),
        epoch=int(str(row["epoch"])),
        created_at=int(str(row["created_at"])),
        state=str(row["state"]),
        detail=str(row.get("detail", "")),
        delivered=int(str(row["delivered"])),
        pending=int(str(row["pending"])),
        failed=int(str(row["failed"])),
    )
