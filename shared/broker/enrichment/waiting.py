"""Messages that wait for an item: edges under the item's key, and a row by which the schedule finds that key.

The row is written before the edge and goes only when no publisher can be between the two, so that no message waits
where nobody looks.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker import keys
from broker.enrichment.message import Message
from broker.ids import Clock
from broker.jsontext import loads
from broker.queues.contents import Content, Contents
from broker.queues.depth import LONGEST_CALL_SECONDS
from broker.queues.kinds import Payload
from broker.queues.queue import Queue
from edge import ConditionFailed, Edge, EdgeTable, Operation, Position, Row, StateTable, remaining_seconds

PAGE = 25
_SOME = 100
_STOP_SECONDS = 3.0
_FORGOTTEN_MILLISECONDS = 2 * LONGEST_CALL_SECONDS * 1000


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits.

    Attributes:
        source: The edges it is among.
        position: Where.
        edge: Its edge, None where only its place was read.
    """

    source: str
    position: Position
    edge: Edge | None = None

    @property
    def message_id(self) -> str:
        """The message's id."""
        return self.position.id.partition("@")[0]

    @property
    def queue_id(self) -> str:
        """The queue it was published to."""
        return self.position.id.partition("@")[2]

    @property
    def published_at(self) -> int:
        """When, in milliseconds since the epoch."""
        return self.position.seq


class WaitingRoom:
    """The waiting messages of all stream queues."""

    def __init__(self, *, state: StateTable, edges: EdgeTable, contents: Contents, clock: Clock) -> None:
        self._state = state
        self._edges = edges
        self._contents = contents
        self._clock = clock

    def announce(self, lookup_id: str, digest: str) -> None:
        """Let the schedule look here from now on."""
        self._state.put({"pk": keys.waiting(lookup_id), "sk": digest, "touched_at": self._clock()})

    def insertion(self, queue: Queue, message: Message, *, lookup_id: str, digest: str, at: int) -> Operation:
        """Let a message wait, its object stored; for the transaction that takes its keys.

        The operation refuses when the message waits here already.
        """
        sealed = self._contents.seal(
            Content(message.published.text),
            tenant_id=queue.tenant_id,
            queue_id=queue.queue_id,
            message_id=_sealed_as(message.message_id),
        )
        self._contents.store(sealed)
        edge = Edge(
            keys.deferred(lookup_id, digest=digest),
            at,
            f"{message.message_id}@{queue.queue_id}",
            {"tenant": queue.tenant_id, **sealed.attributes},
        )
        return self._edges.insert_operation(edge, if_absent=True)

    def removal(self, waiting: Waiting) -> Operation:
        """Let a message wait no longer; refuses when it does not."""
        return self._edges.delete_operation(waiting.source, waiting.position, must_exist=True)

    def read(self, lookup_id: str, digest: str) -> Iterator[Waiting]:
        """What waits for an item, oldest first, read page by page; one call when nothing does."""
        source, resume = keys.deferred(lookup_id, digest=digest), None
        while True:
            page = self._edges.scan(source, resume=resume, limit=PAGE, max_run=PAGE)
            for edge in page.edges:
                yield Waiting(source, edge.position, edge)
            if not page.has_next:
                return
            resume = page.resume

    def places(self, lookup_id: str, digest: str) -> list[Waiting]:
        """What waits for an item, without reading the messages."""
        source = keys.deferred(lookup_id, digest=digest)
        return [Waiting(source, position) for position in self._edges.positions(source)]

    def open(self, queue: Queue, waiting: Waiting) -> Message | None:
        """A message as it was published; None when it does not open any more."""
        content = self._contents.open(
            waiting.edge.attributes if waiting.edge else {},
            tenant_id=queue.tenant_id,
            queue_id=queue.queue_id,
            message_id=_sealed_as(waiting.message_id),
        )
        if content is None:
            return None
        return Message(waiting.message_id, Payload(loads(content.payload), content.payload))

    def discard(self, waiting: Waiting) -> None:
        """Remove the object of a message that does not wait any more."""
        if waiting.edge is not None:
            self._contents.discard([waiting.edge.attributes])

    def keys_of(self, lookup_id: str) -> Iterator[list[tuple[str, int]]]:
        """The hashes of the keys that are waited for, with when that was last announced; a page at a time."""
        start: Row | None = None
        while True:
            page = self._state.query(keys.waiting(lookup_id), limit=100, start=start)
            yield [(str(row["sk"]), int(str(row["touched_at"]))) for row in page.rows]
            if page.next is None:
                return
            start = page.next

    def some_keys(self, lookup_id: str) -> list[str]:
        """The hashes of up to a hundred keys that are waited for; where there are more, others each time."""
        page = self._state.query(keys.waiting(lookup_id), limit=_SOME)
        rows = page.rows
        if page.next is not None:
            some = self._state.query(keys.waiting(lookup_id), limit=_SOME, low=secrets.token_hex(4)).rows
            rows = (*some, *rows[: _SOME - len(some)])
        return list(dict.fromkeys(str(row["sk"]) for row in rows))

    def forget(self, lookup_id: str, digest: str, *, touched_at: int) -> None:
        """Look no more where nothing waits, unless somebody may just be about to let something wait."""
        if self._clock() - touched_at <= _FORGOTTEN_MILLISECONDS:
            return
        try:
            self._state.delete(
                keys.waiting(lookup_id),
                digest,
                condition="#touched_at = :touched_at",
                values={"touched_at": touched_at},
            )
        except ConditionFailed:
            return

    def remove(self, lookup_id: str) -> bool:
        """Remove all that waits at a deleted queue, as far as time allows; True when nothing is left."""
        for page in self.keys_of(lookup_id):
            for digest, _ in page:
                if remaining_seconds() < _STOP_SECONDS:
                    return False
                removed = self._edges.scan_delete(keys.deferred(lookup_id, digest=digest), keep=("blob",))
                self._contents.discard([edge.attributes for edge in removed.edges])
                if not removed.finished:
                    return False
            self._state.delete_many([(keys.waiting(lookup_id), digest) for digest, _ in page])
        return True

    def transact(self, operations: Sequence[Operation]) -> None:
        """Carry out operations together."""
        self._state.transact(operations)


def _sealed_as(message_id: str) -> str:
    """The record that a waiting message is sealed as: not the one it will be, whose object must not touch this one."""
    return f"{message_id}.waiting"
