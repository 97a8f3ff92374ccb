"""What is done with queues of every type: find, permit, check the message, and hand over to the type."""

from collections.abc import Callable, Sequence
from typing import Any

from broker import jsontext, times
from broker.caller import Caller
from broker.errors import (
    BrokerError,
    Forbidden,
    PayloadTooDeep,
    PayloadTooLarge,
    TooManyEntries,
    ValidationFailed,
    WrongQueueType,
)
from broker.ids import Clock, Ids
from broker.listing import Listing
from broker.queues.kinds import Delivers, Keeps, Payload, Published, Publishes
from broker.queues.models import (
    BATCH_MOST,
    ConsumeAnswer,
    ConsumeRequest,
    ExtendRequest,
    LeaseRequest,
    NackRequest,
    QueueAnswer,
    QueueListQuery,
    QueuePatch,
    QueueRequest,
    SettleRequest,
    SettleResult,
)
from broker.queues.queue import Queue
from broker.queues.registry import Registry
from broker.queues.settings import DOCUMENTS, TO_MANY, TO_ONE, QueueSettings, QueueType, check_settings
from edge import Operation, remaining_seconds

PAYLOAD_MOST = 1024 * 1024
_PAUSE_SECONDS = 0.5
_ANSWER_SECONDS = 2.0


class QueueService:
    """The `/queues` API.

    Args:
        registry: The queues.
        publishes: The publishing side of a type.
        delivers: The delivering side of a type.
        keeps: What every type has.
        checks: Further checks of a new queue's settings by type, e.g. that its lookup queue exists; returns what must
            happen when it is made.
        guards: What must happen when a queue is deleted.
        clock: The time.
        sleep: Waits, for long polls.
    """

    def __init__(
        self,
        *,
        registry: Registry,
        publishes: Callable[[QueueType], Publishes],
        delivers: Callable[[QueueType], Delivers],
        keeps: Callable[[QueueType], Keeps],
        checks: Callable[[Caller, QueueType, QueueSettings], Sequence[Operation]],
        guards: Callable[[Queue], Sequence[Operation]],
        clock: Clock,
        sleep: Callable[[float], None],
    ) -> None:
        self.registry = registry
        self._publishes = publishes
        self._delivers = delivers
        self._keeps = keeps
        self._checks = checks
        self._guards = guards
        self._clock = clock
        self._sleep = sleep

    def create(self, caller: Caller, request: QueueRequest) -> QueueAnswer:
        """Define a queue."""
        settings = check_settings(request.type, request.settings)
        alongside = self._checks(caller, request.type, settings)
        return self.registry.create(caller, request, settings=settings, alongside=alongside).answer()

    def listed(self, caller: Caller, query: QueueListQuery) -> Listing[QueueAnswer]:
        """The queues that the caller has any permission on."""
        page = self.registry.listed(caller, query)
        return Listing([queue.answer() for queue in page.items], page.next_token)

    def read(self, caller: Caller, reference: str) -> QueueAnswer:
        """One queue."""
        return self.registry.find(caller, reference, action=None).answer()

    def stats(self, caller: Caller, reference: str) -> dict[str, Any]:
        """What a queue holds."""
        queue = self.registry.find(caller, reference, action=None)
        return self._keeps(queue.type).stats(queue)

    def change(self, caller: Caller, reference: str, patch: QueuePatch) -> QueueAnswer:
        """Change what may change live."""
        return self.registry.change(caller, reference, patch).answer()

    def purge(self, caller: Caller, reference: str) -> None:
        """Empty a queue of what it holds now; what there is no time for is removed by a schedule."""
        queue = self.registry.load(caller.tenant_id, reference)
        until = self.registry.note_purge(queue)
        self._keeps(queue.type).purge(queue, until=until)

    def delete(self, caller: Caller, reference: str) -> None:
        """Delete a queue with everything in it."""
        queue = self.registry.load(caller.tenant_id, reference)
        self.registry.delete(queue, alongside=self._guards(queue))

    def publish(
        self, caller: Caller, reference: str, value: dict[str, Any], *, size: int, ids: Ids, if_match: str | None
    ) -> Published:
        """Publish one message; `size` is that of the body it came in.

        Raises:
            ValidationFailed: There is an If-Match, and the queue keeps no items.
        """
        queue = self._publishable(caller, reference)
        if if_match is not None and queue.type != "key_value":
            raise ValidationFailed.of("If-Match", "has no meaning for this type of queue")
        if size > PAYLOAD_MOST:
            raise PayloadTooLarge(f"The message is over {PAYLOAD_MOST} bytes.")
        return self._publishes(queue.type).publish(queue, _payload(value), ids=ids, if_match=if_match)

    def publish_batch(
        self, caller: Caller, reference: str, values: Sequence[dict[str, Any]], *, ids: Ids, if_match: str | None
    ) -> list[Published | BrokerError]:
        """Publish many; one outcome each, in order.

        Raises:
            ValidationFailed: There is an If-Match, which could be meant for one message only.
        """
        if if_match is not None:
            raise ValidationFailed.of("If-Match", "has no meaning for a batch")
        queue = self._publishable(caller, reference)
        if len(values) > BATCH_MOST:
            raise TooManyEntries(f"At most {BATCH_MOST} messages fit one request.")
        payloads = [_payload(value, field=f"messages.{index}") for index, value in enumerate(values)]
        return self._publishes(queue.type).publish_batch(queue, payloads, ids=ids)

    def consume(self, caller: Caller, reference: str, request: ConsumeRequest) -> ConsumeAnswer:
        """Deliver messages, waiting for the first one as long as the request says."""
        queue = self._delivering(caller, reference, client_id=request.client_id, enabled=True)
        kind = self._delivers(queue.type)
        ends_at = self._clock() + request.wait_seconds * 1000
        while True:
            answer = kind.consume(queue, request, caller=caller)
            left = min((ends_at - self._clock()) / 1000, remaining_seconds() - _ANSWER_SECONDS)
            if answer["messages"] or answer.get("skipped") or left <= 0:
                return answer
            self._sleep(min(_PAUSE_SECONDS, left))

    def ack(self, caller: Caller, reference: str, message_id: str, request: LeaseRequest) -> None:
        """Settle a message for good."""
        queue = self._delivering(caller, reference, client_id=request.client_id)
        self._delivers(queue.type).ack(queue, message_id, request, caller=caller)

    def nack(self, caller: Caller, reference: str, message_id: str, request: NackRequest) -> None:
        """Give a message back."""
        queue = self._delivering(caller, reference, client_id=request.client_id)
        self._delivers(queue.type).nack(queue, message_id, request, caller=caller)

    def extend(self, caller: Caller, reference: str, message_id: str, request: ExtendRequest) -> str:
        """Lengthen a lease; returns when it ends."""
        queue = self._delivering(caller, reference, client_id=request.client_id)
        return times.text(self._delivers(queue.type).extend(queue, message_id, request, caller=caller))

    def settle(self, caller: Caller, reference: str, request: SettleRequest) -> Sequence[SettleResult]:
        """Many acks and nacks.

        Raises:
            TooManyEntries: There are more than 100 of one.
        """
        if max(len(request.acks), len(request.nacks)) > BATCH_MOST:
            raise TooManyEntries(f"At most {BATCH_MOST} acks and {BATCH_MOST} nacks fit one request.")
        queue = self._delivering(caller, reference, client_id=request.client_id)
        return self._delivers(queue.type).settle(queue, request, caller=caller)

    def _publishable(self, caller: Caller, reference: str) -> Queue:
        queue = self.registry.find_enabled(caller, reference, action="publish")
        if queue.type in DOCUMENTS:
            raise WrongQueueType(f"A {queue.type} queue takes documents, not messages.")
        return queue

    def _delivering(self, caller: Caller, reference: str, *, client_id: str | None, enabled: bool = False) -> Queue:
        find = self.registry.find_enabled if enabled else self.registry.find
        queue = find(caller, reference, action="consume")
        if queue.type not in TO_ONE | TO_MANY:
            raise WrongQueueType(f"A {queue.type} queue does not deliver messages.")
        if client_id not in {None, caller.client_id} and caller.role != "admin":
            raise Forbidden("Only the tenant admin acts for another client.")
        if client_id is not None and queue.type in TO_ONE:
            raise ValidationFailed.of("client_id", "has no meaning for this type of queue")
        return queue


def _payload(value: dict[str, Any], *, field: str = "body") -> Payload:
    try:
        jsontext.check_depth(value)
    except PayloadTooDeep as error:
        raise PayloadTooDeep(f"{field} is nested more than {jsontext.MAX_DEPTH} levels deep.") from error
    text = jsontext.dumps(value)
    if len(text) > PAYLOAD_MOST:
        raise PayloadTooLarge(f"{field} is over {PAYLOAD_MOST} bytes.")
    return Payload(value, text)
