"""Subscriptions, as the admins of both sides handle them."""

from broker import times
from broker.caller import Caller
from broker.crypto import Scope
from broker.documents import keys
from broker.documents.models import SubscriberAnswer, SubscriptionAnswer, SubscriptionRequest
from broker.documents.outbox import Outbox
from broker.documents.subscriptions import Subscription, Subscriptions
from broker.errors import NotFound, ValidationFailed, WrongQueueType
from broker.ids import is_ulid
from broker.listing import Lister, Listing, PageRequest
from broker.queues.queue import Queue, settings_of
from broker.queues.registry import Registry
from broker.queues.settings import DOCUMENTS, DocumentSettings
from edge import StateTable


class Sharing:
    """Who gets whose documents."""

    def __init__(
        self,
        *,
        registry: Registry,
        subscriptions: Subscriptions,
        outbox: Outbox,
        state: StateTable,
        lister: Lister,
    ) -> None:
        self._registry = registry
        self._subscriptions = subscriptions
        self._outbox = outbox
        self._state = state
        self._lister = lister

    def subscribe(
        self, caller: Caller, reference: str, request: SubscriptionRequest
    ) -> tuple[SubscriptionAnswer, bool]:
        """Let a queue get what is uploaded to another one from now on; returns whether it is its first subscription.

        Raises:
            NotFound: There is no such queue of the caller, or none that the caller may subscribe to.
            WrongQueueType: The queue holds no documents.
            ValidationFailed: The source is the queue itself, or of another type.
        """
        queue = self._own(caller, reference)
        source = self._source(caller, request.source_queue_id, subscriber=queue)
        if source.queue_id == queue.queue_id:
            raise ValidationFailed.of("source_queue_id", "must be another queue")
        if source.type != queue.type:
            raise ValidationFailed.of("source_queue_id", f"must be a queue of type {queue.type}")
        subscription, first = self._subscriptions.begin(queue, source=source)
        return self._answer(subscription), first

    def read(self, caller: Caller, reference: str) -> SubscriptionAnswer:
        """The subscription of a queue.

        Raises:
            NotFound: There is no such queue, or it has none.
        """
        return self._answer(self._subscription(self._own(caller, reference)))

    def unsubscribe(self, caller: Caller, reference: str) -> None:
        """End the subscription of a queue; copies it has stay, copies still to be made are not.

        Raises:
            NotFound: There is no such queue, or it has none.
        """
        if not self._subscriptions.end(self._subscription(self._own(caller, reference))):
            raise NotFound("The queue has no subscription.")

    def subscribers(self, caller: Caller, reference: str, page: PageRequest) -> Listing[SubscriberAnswer]:
        """The subscriptions to a queue, the oldest first."""
        queue = self._own(caller, reference)
        listed = self._lister.page(
            keys.subscribers(queue.queue_id),
            prefix="",
            scope=Scope(queue.tenant_id, queue.queue_id, "subscribers"),
            request=page,
            read=lambda row: str(row["sk"]),
        )
        found = [one for one in self._subscriptions.load_many(listed.items) if one is not None]
        waiting = self._waiting(queue.queue_id) if found else []
        return Listing([_subscriber(one, waiting) for one in found], listed.next_token)

    def remove_subscriber(self, caller: Caller, reference: str, subscription_id: str) -> None:
        """End a subscription to a queue.

        Raises:
            NotFound: There is no such queue or subscription.
        """
        queue = self._own(caller, reference)
        found = self._subscriptions.load(subscription_id)
        if found is None or found.source_queue_id != queue.queue_id or not self._subscriptions.end(found):
            raise NotFound("There is no such subscriber.")

    def _own(self, caller: Caller, reference: str) -> Queue:
        queue = self._registry.load(caller.tenant_id, reference)
        if queue.type not in DOCUMENTS:
            raise WrongQueueType(f"A {queue.type} queue holds no documents.")
        return queue

    def _source(self, caller: Caller, reference: str, *, subscriber: Queue) -> Queue:
        """A queue to subscribe to.

        One of another tenant that does not allow it is like one that is not there, unless it is subscribed to already.
        """
        missing = NotFound("There is no queue of this id to subscribe to.")
        if not is_ulid(reference):
            raise missing
        pointer = self._state.get(keys.queue(reference), keys.CONFIG)
        if pointer is None:
            raise missing
        try:
            queue = self._registry.load(str(pointer["tenant_id"]), reference)
        except NotFound:
            raise missing from None
        allowed = queue.type in DOCUMENTS and settings_of(queue, DocumentSettings).allow_subscriptions
        if queue.tenant_id != caller.tenant_id and not allowed:
            held = self._subscriptions.of(subscriber.queue_id)
            if held is None or held.source_queue_id != queue.queue_id:
                raise missing
        return queue

    def _subscription(self, queue: Queue) -> Subscription:
        found = self._subscriptions.of(queue.queue_id)
        if found is None:
            raise NotFound("The queue has no subscription.")
        return found

    def _answer(self, subscription: Subscription) -> SubscriptionAnswer:
        waiting = self._waiting(subscription.source_queue_id)
        answer: SubscriptionAnswer = {
            "subscription_id": subscription.subscription_id,
            "source_queue_id": subscription.source_queue_id,
            "state": subscription.state,
            "delivered": subscription.delivered,
            "pending": subscription.pending + _behind(subscription, waiting),
            "failed": subscription.failed,
            "created_at": times.text(subscription.created_at),
        }
        return {**answer, "detail": subscription.detail} if subscription.detail else answer

    def _waiting(self, source_queue_id: str) -> list[int]:
        """The epochs of the documents that were not spread over the subscriptions yet."""
        return [int(str(row["epoch"])) for row in self._outbox.rows_of(source_queue_id) if "rank" in row]


def _behind(subscription: Subscription, waiting: list[int]) -> int:
    return sum(epoch >= subscription.epoch for epoch in waiting)


def _subscriber(subscription: Subscription, waiting: list[int]) -> SubscriberAnswer:
    return {
        "subscription_id": subscription.subscription_id,
        "tenant_id": subscription.tenant_id,
        "queue_id": subscription.queue_id,
        "state": subscription.state,
        "delivered": subscription.delivered,
        "pending": subscription.pending + _behind(subscription, waiting),
        "failed": subscription.failed,
        "created_at": times.text(subscription.created_at),
    }
