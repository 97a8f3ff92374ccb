"""What documents share with all types of queues: stats, purge, removal."""

from typing import Any

from broker.documents import keys
from broker.documents.expiry import first_living
from broker.documents.outbox import Outbox
from broker.documents.store import Store
from broker.documents.subscriptions import Subscriptions
from broker.ids import Clock, moment
from broker.queues.depth import Depth
from broker.queues.queue import Queue
from edge import StateTable, remaining_seconds
from edge.threads import side_by_side

COUNTED_MOST = 10_000
_STOP_SECONDS = 3.0
_PAGE = 200


class DocumentsKeep:
    """Implements `broker.queues.kinds.Keeps`."""

    def __init__(
        self,
        *,
        state: StateTable,
        store: Store,
        outbox: Outbox,
        subscriptions: Subscriptions,
        depth: Depth,
        clock: Clock,
    ) -> None:
        self._state = state
        self._store = store
        self._outbox = outbox
        self._subscriptions = subscriptions
        self._depth = depth
        self._clock = clock

    def stats(self, queue: Queue) -> dict[str, Any]:
        """How many documents there are (approximate above 10,000), and how old the oldest is."""
        now = self._clock()
        low = first_living(queue, now=now)
        depth = self._store.count(queue.queue_id, low=low, most=COUNTED_MOST)
        oldest = self._state.query(keys.documents(queue.queue_id), low=low or None, limit=1).rows
        age = max(0, now - moment(str(oldest[0]["sk"]))) // 1000 if oldest else None
        answer = {"depth": depth, "oldest_message_age_seconds": age}
        return {**answer, "approximate": True} if depth > COUNTED_MOST else answer

    def purge(self, queue: Queue, *, until: int) -> bool:
        """Remove the documents uploaded up to a moment, as far as time allows."""
        while remaining_seconds() > _STOP_SECONDS:
            rows = [row for row in self._store.oldest(queue.queue_id, limit=_PAGE) if moment(str(row["sk"])) <= until]
            if not rows:
                return True
            self._store.discard(queue.queue_id, self._store.remove_rows(queue, rows))
        return False

    def remove(self, queue_id: str, *, tenant_id: str, settings: dict[str, Any]) -> bool:  # noqa: ARG002  # the protocol's
        """Remove what a deleted queue held, and end its subscriptions once what it owes others is delivered."""
        own = self._subscriptions.of(queue_id)
        if own is not None:
            self._subscriptions.end(own)
        while rows := self._store.oldest(queue_id, limit=_PAGE):
            if remaining_seconds() < _STOP_SECONDS:
                return False
            side_by_side(lambda row: self._state.delete(str(row["pk"]), str(row["sk"])), rows)
            self._store.discard(queue_id, rows)
        if self._outbox.rows_of(queue_id):
            return False
        while rows := list(self._state.query(keys.subscribers(queue_id), limit=_PAGE).rows):
            for row in rows:
                subscription = self._subscriptions.load(str(row["sk"]))
                if subscription is None or not self._subscriptions.end(subscription):
                    return False
        self._state.delete(keys.queue(queue_id), keys.SUBSCRIBERS)
        self._depth.forget(queue_id)
        return self._store.discard_all(queue_id)
