"""To-many queues as `broker.queues` knows them: consume, settle, redrive."""

from collections.abc import Sequence

from broker import jsontext
from broker.caller import Caller
from broker.errors import BrokerError, Conflict, KeyFieldInvalid, LeaseExpired, LeaseLost, NotFound, ValidationFailed
from broker.ids import Ids, is_ulid
from broker.queues.contents import Content, Contents
from broker.queues.kinds import Payload, Published
from broker.queues.letters import UNREADABLE, DeadLetter
from broker.queues.models import (
    ConsumeAnswer,
    ConsumeRequest,
    ExtendRequest,
    LeaseRequest,
    NackRequest,
    SettleRequest,
    SettleResult,
)
from broker.queues.queue import Queue
from broker.streams.consuming import Consuming
from broker.streams.draft import make_draft
from broker.streams.publishing import Publishing
from broker.streams.redriven import Redriven
from broker.streams.settling import Settling
from edge import Operation, TransactionRefused

_STATUS: dict[type[BrokerError], int] = {NotFound: 404, Conflict: 409, LeaseLost: 409, LeaseExpired: 410}


class Streams:
    """Implements `broker.queues.kinds.Delivers` and `broker.queues.letters.Redrives`."""

    def __init__(
        self,
        *,
        consuming: Consuming,
        settling: Settling,
        publishing: Publishing,
        redriven: Redriven,
        contents: Contents,
    ) -> None:
        self._consuming = consuming
        self._settling = settling
        self._publishing = publishing
        self._redriven = redriven
        self._contents = contents

    def consume(self, queue: Queue, request: ConsumeRequest, *, caller: Caller) -> ConsumeAnswer:
        """What is there now for the consumer."""
        if request.visibility_key_value is not None:
            raise ValidationFailed.of("visibility_key_value", "has no meaning for this type of queue")
        client_id = _consumer(request.client_id, caller)
        return self._consuming.consume(
            queue, client_id=client_id, limit=request.max_messages, acting=client_id != caller.client_id
        )

    def ack(self, queue: Queue, message_id: str, request: LeaseRequest, *, caller: Caller) -> None:
        """Settle a delivered message for good, for this consumer."""
        self._settling.ack(queue, message_id, request.lease_id, client_id=_consumer(request.client_id, caller))

    def nack(self, queue: Queue, message_id: str, request: NackRequest, *, caller: Caller) -> None:
        """Give a delivered message back, to get it again."""
        client_id = _consumer(request.client_id, caller)
        self._settling.nack(queue, message_id, request, request.lease_id, client_id=client_id)

    def extend(self, queue: Queue, message_id: str, request: ExtendRequest, *, caller: Caller) -> int:
        """Lengthen a lease from now."""
        client_id = _consumer(request.client_id, caller)
        return self._settling.extend(queue, message_id, request.lease_id, seconds=request.seconds, client_id=client_id)

    def settle(self, queue: Queue, request: SettleRequest, *, caller: Caller) -> list[SettleResult]:
        """Many acks and nacks, one result each, acks first."""
        client_id = _consumer(request.client_id, caller)
        outcomes = self._settling.settle(queue, request, client_id=client_id)
        entries = [*request.acks, *request.nacks]
        return [_result(entry.message_id, error) for entry, error in zip(entries, outcomes, strict=True)]

    def redrive(
        self,
        queue: Queue,
        letter: DeadLetter,
        content: Content | None,
        *,
        removal: Sequence[Operation],
        ids: Ids,  # noqa: ARG002  # the message keeps its own
    ) -> Published:
        """Give a dead letter back to the consumer whose it is; one of no consumer is published anew.

        Raises:
            NotFound: Somebody else has redriven or deleted it.
            KeyFieldInvalid: It is no consumer's, and does not open any more.
        """
        try:
            if letter.client_id is not None:
                return self._redriven.add(queue, letter, client_id=letter.client_id, removal=removal)
            if content is None:
                raise KeyFieldInvalid(UNREADABLE)
            payload = Payload(jsontext.loads(content.published), content.published)
            draft = make_draft(queue, payload, ids=lambda: letter.message_id)
            published = self._publishing.append(queue, draft, also=removal)
        except TransactionRefused as refusal:
            raise NotFound(f"There is no dead letter {letter.entry_id}.") from refusal
        if letter.entry_id != letter.message_id:
            self._contents.discard([letter.body])
        return published


def _consumer(client_id: str | None, caller: Caller) -> str:
    if client_id is not None and not is_ulid(client_id):
        raise ValidationFailed.of("client_id", "must be the id of a client")
    return client_id or caller.client_id


def _result(message_id: str, error: BrokerError | None) -> SettleResult:
    if error is None:
        return {"message_id": message_id, "status": 200}
    return {"message_id": message_id, "status": _STATUS.get(type(error), 503), "code": error.code}
