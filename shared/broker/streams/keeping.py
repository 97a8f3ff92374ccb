"""What all types of queues have: statistics, purge, removal."""

from typing import Any

from broker.ids import Clock
from broker.queues.deadletters import DeadLetters
from broker.queues.queue import Queue
from broker.streams.consumers import Consumers
from broker.streams.places import consumer_answer
from broker.streams.reading import Reader
from broker.streams.redriven import Redriven
from broker.streams.remains import Remains
from broker.streams.tail import Tails


class Keeping:
    """Implements `broker.queues.kinds.Keeps`."""

    def __init__(
        self,
        *,
        tails: Tails,
        consumers: Consumers,
        reader: Reader,
        redriven: Redriven,
        remains: Remains,
        dead_letters: DeadLetters,
        clock: Clock,
    ) -> None:
        self._tails = tails
        self._consumers = consumers
        self._reader = reader
        self._redriven = redriven
        self._remains = remains
        self._dead_letters = dead_letters
        self._clock = clock

    def stats(self, queue: Queue) -> dict[str, Any]:
        """Depth, dead letters, the age of the oldest message, and the consumers with what they have yet to get.

        `depth` counts numbers whose publisher died as messages, until somebody has read there.
        """
        now = self._clock()
        tails = self._consumers.tails(queue)
        heads = self._reader.heads(queue, tails)
        oldest = min((head.messages[0].at for head in heads if head.messages), default=None)
        consumers = [consumer_answer(one, tails, now=now, heads=heads) for one in self._consumers.every(queue)]
        return {
            "depth": sum(tail.held - len(head.expired) for tail, head in zip(tails, heads, strict=True)),
            "in_flight": sum(one["lease"]["messages"] for one in consumers if "lease" in one),
            "dead_letters": self._dead_letters.count(queue.queue_id),
            "oldest_message_age_seconds": None if oldest is None else max(0, now - oldest) // 1000,
            "consumers": [{"client_id": one["client_id"], "lag": one["lag"]} for one in consumers],
        }

    def purge(self, queue: Queue, *, until: int) -> bool:
        """Let all leave that has a number now; once for each moment. Then remove what there is time for."""
        tails = self._consumers.tails(queue)
        for partition in range(len(tails)):
            self._tails.empty(queue.queue_id, partition=partition, purge=until)
        redriven = [
            self._redriven.empty(queue.queue_id, client_id=consumer.client_id, until=until)
            for consumer in self._consumers.every(queue)
        ]
        swept = [
            self._remains.sweep(queue.queue_id, partition=partition, floor=tail.floor)
            for partition, tail in enumerate(self._consumers.tails(queue))
        ]
        return all(redriven) and all(swept)

    def remove(self, queue_id: str, *, tenant_id: str, settings: dict[str, Any]) -> bool:  # noqa: ARG002  # of other types
        """Remove what a deleted queue held; True when nothing is left."""
        return self._remains.remove(queue_id, partitions=int(settings.get("partitions", 1)))
