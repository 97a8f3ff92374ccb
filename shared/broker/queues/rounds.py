"""A round over all queues of some types, for scheduled work: a little at each, resumed where time ran out."""

from collections.abc import Callable, Iterator

from broker import keys
from broker.errors import NotFound
from broker.queues.queue import Queue
from broker.queues.registry import Registry
from broker.queues.settings import QueueType
from edge import Row, StateTable, remaining_seconds

_STOP_SECONDS = 5.0


class Rounds:
    """Goes round. What a queue needs is done there and then; trouble at one does not hold up the others.

    Args:
        state: Where queues are listed, and where the next round begins.
        registry: The queues.
        name: Of the work; rounds of different names do not know of each other.
        types: Which queues.
        work: What is done at a queue; returns how much it was.
    """

    def __init__(
        self,
        *,
        state: StateTable,
        registry: Registry,
        name: str,
        types: frozenset[QueueType],
        work: Callable[[Queue], int],
    ) -> None:
        self._state = state
        self._registry = registry
        self._name = name
        self._types = types
        self._work = work

    def run(self) -> int:
        """Go round once, or as far as time allows; the next run begins with the queue this one did not reach.

        Harmless when run twice, or twice at once, as far as the work is.

        Returns:
            How much was done.

        Raises:
            ExceptionGroup: Some queues could not be worked on; the others were.
        """
        begins = self._state.get(keys.ROUNDS, self._name)
        done, failures = 0, []
        left: Row | None = None
        for row in self._rows(begins):
            if remaining_seconds() < _STOP_SECONDS:
                left = row
                break
            if row["type"] not in self._types:
                continue
            try:
                done += self._at(row)
            except Exception as error:  # noqa: BLE001  # one queue's trouble must not hold up the others
                failures.append(error)
        self._keep(begins, left)
        if failures:
            raise ExceptionGroup(f"queues at which {self._name} failed", failures)
        return done

    def _at(self, row: Row) -> int:
        try:
            queue = self._registry.load(str(row["tenant_id"]), str(row["name"]))
        except NotFound:
            return 0
        return self._work(queue) if queue.queue_id == row["sk"] else 0

    def _rows(self, begins: Row | None) -> Iterator[Row]:
        """All registered queues, from where the last round stopped, and around."""
        first, queue_id = (int(str(begins["shard"])), str(begins["queue_id"])) if begins else (0, "")
        yield from self._shard(first, low=queue_id or None, high=None)
        for step in range(1, keys.SHARDS):
            yield from self._shard((first + step) % keys.SHARDS, low=None, high=None)
        if queue_id:
            for row in self._shard(first, low=None, high=queue_id):
                if row["sk"] != queue_id:
                    yield row

    def _shard(self, shard: int, *, low: str | None, high: str | None) -> Iterator[Row]:
        start: Row | None = None
        while True:
            page = self._state.query(keys.registry_shard(shard), low=low, high=high, start=start)
            for row in page.rows:
                yield {**row, "shard": shard}
            if page.next is None:
                return
            start = page.next

    def _keep(self, begins: Row | None, left: Row | None) -> None:
        if left is not None:
            row: Row = {"pk": keys.ROUNDS, "sk": self._name, "shard": left["shard"], "queue_id": left["sk"]}
            self._state.put(row)
        elif begins is not None:
            self._state.delete(keys.ROUNDS, self._name)
