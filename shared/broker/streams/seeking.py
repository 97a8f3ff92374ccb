"""Finding a place in a stream: by time, or by message.

Numbers grow with time only roughly, as the clocks of publishers differ. A search by halves therefore aims a little
earlier, and goes on from there step by step.
"""

from collections.abc import Callable, Sequence

from broker import keys
from broker.errors import NotFound
from broker.ids import moment
from broker.queues.queue import Queue
from broker.streams.reading import PAGE_WEIGHT
from broker.streams.stored import Stored, read_stored, weigh
from broker.streams.tail import Tail
from edge import EdgeTable, remaining_seconds

_SKEW_MILLISECONDS = 60_000
_PAGE = 100
_STOP_SECONDS = 3.0


class Seeking:
    """Turns what is sought into positions."""

    def __init__(self, *, edges: EdgeTable) -> None:
        self._edges = edges

    def positions(self, queue: Queue, target: str | int, tails: Sequence[Tail]) -> tuple[dict[int, int], int | None]:
        """The positions after which a consumer goes on, and the partition to look at first, where that matters.

        Args:
            queue: The queue.
            target: `earliest`, `latest`, the id of a message, or a moment.
            tails: The tails of all partitions.

        Raises:
            NotFound: There is no message of this id.
        """
        if target == "earliest":
            return {partition: tail.floor for partition, tail in enumerate(tails)}, None
        if target == "latest":
            return {partition: tail.last for partition, tail in enumerate(tails)}, None
        if isinstance(target, int):
            return self._by_time(queue, target, tails), None
        for partition, tail in enumerate(tails):
            message = self._message(queue.queue_id, partition, tail, target)
            if message is not None:
                return {**self._by_time(queue, message.at, tails), partition: message.number - 1}, partition
        raise NotFound(f"There is no message {target} in this queue.")

    def _by_time(self, queue: Queue, at: int, tails: Sequence[Tail]) -> dict[int, int]:
        positions: dict[int, int] = {}
        for partition, tail in enumerate(tails):
            start = self._halve(queue.queue_id, partition, tail, at - _SKEW_MILLISECONDS)
            found = self._walk(queue.queue_id, partition, start, lambda stored: stored.is_message and stored.at >= at)
            positions[partition] = tail.last if found is None else found.number - 1
        return positions

    def _message(self, queue_id: str, partition: int, tail: Tail, message_id: str) -> Stored | None:
        """A message by its id, whose moment tells about where; a repeated request may have stored it much later."""
        wanted = moment(message_id)

        def there(stored: Stored) -> bool:
            return stored.message_id == message_id

        def past(stored: Stored) -> bool:
            return stored.at > wanted + 2 * _SKEW_MILLISECONDS

        start = self._halve(queue_id, partition, tail, wanted - _SKEW_MILLISECONDS)
        found = self._walk(queue_id, partition, start, lambda stored: there(stored) or past(stored))
        if found is None or not there(found):
            found = self._walk(queue_id, partition, start, there)
        return found if found is not None and found.number > tail.floor else None

    def _halve(self, queue_id: str, partition: int, tail: Tail, at: int) -> int:
        """A position before which everything was published before a moment, as far as clocks agree."""
        low, high = tail.floor, tail.last
        while low < high:
            middle = (low + high) // 2
            after = self._walk(queue_id, partition, middle, lambda _: True, most=1)
            if after is None or after.at >= at:
                high = middle
            else:
                low = max(middle + 1, min(after.number, high))
        return max(tail.floor, low - 1)

    def _walk(
        self, queue_id: str, partition: int, position: int, wanted: Callable[[Stored], bool], *, most: int = _PAGE
    ) -> Stored | None:
        """The first after a position that is wanted, None when there is none."""
        source = keys.stream(queue_id, partition=partition)
        while remaining_seconds() > _STOP_SECONDS:
            page = self._edges.scan(source, after=position, limit=most, max_weight=PAGE_WEIGHT, weigh=weigh)
            for edge in page.edges:
                stored = read_stored(edge)
                if wanted(stored):
                    return stored
                position = stored.number
            if not page.has_next:
                return None
        return None
