"""Leases as they are given out: sealed, good for one message of one queue only."""

import json
from dataclasses import dataclass

from broker.crypto import Scope
from broker.errors import InvalidToken, NotFound
from broker.lanes.messages import Message, lane_of
from broker.queues.queue import Queue
from broker.tokens import Tokens
from edge import Value


@dataclass(frozen=True, slots=True)
class Lease:
    """A delivery of a message.

    Attributes:
        lease: What the lane's row knows the lease by.
        message: The delivered message; from a lease id its body is only the object, if it has one.
        until: When the lease was to end as it was given.
    """

    lease: str
    message: Message
    until: int = 0


class Leases:
    """Makes lease ids and reads them."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def seal(self, queue: Queue, lease: Lease) -> str:
        """The lease id of a delivery."""
        message = lease.message
        content = [
            lease.lease,
            message.lane.sk,
            message.n,
            message.deliveries,
            message.published_at,
            message.pending,
            message.primary,
            message.body.get("blob"),
        ]
        text = json.dumps(content, separators=(",", ":")).encode()
        return self._tokens.seal(text, scope=_scope(queue, message.message_id))

    def open(self, queue: Queue, message_id: str, lease_id: str) -> Lease:
        """The delivery that a lease id stands for.

        Raises:
            NotFound: It was not given out for this message of this queue.
        """
        try:
            text = self._tokens.open(lease_id, scope=_scope(queue, message_id))
        except InvalidToken as error:
            raise NotFound("This lease was not given out for this message.") from error
        lease, sk, n, deliveries, published_at, pending, primary, blob = json.loads(text)
        body: dict[str, Value] = {} if blob is None else {"blob": blob}
        message = Message(lane_of(queue, sk), message_id, published_at, n, deliveries, body, primary, pending)
        return Lease(lease, message)


def _scope(queue: Queue, message_id: str) -> Scope:
    return Scope(queue.tenant_id, queue.queue_id, "lease", message_id)
