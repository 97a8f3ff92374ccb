"""What happens to messages that expire before a consumer got them, where the queue wants them set aside."""

from collections.abc import Sequence

from broker.queues.queue import Queue, settings_of
from broker.queues.settings import OneToManySettings
from broker.streams.consumer import Consumer
from broker.streams.consumers import Consumers
from broker.streams.letters import Letters
from broker.streams.stored import Stored


class Expiry:
    """Sets expired messages aside for the consumers that have not got them; see `expired_to_dead_letters`."""

    def __init__(self, *, consumers: Consumers, letters: Letters) -> None:
        self._consumers = consumers
        self._letters = letters

    def leaving(self, queue: Queue, messages: Sequence[Stored], *, partition: int) -> None:
        """Before messages leave by age: for every consumer that is behind them. Repeatable."""
        if not messages or not self._wanted(queue):
            return
        for consumer in self._consumers.every(queue):
            if consumer.known:
                owed = [stored for stored in messages if _owed(consumer, stored, partition)]
                self.missed(queue, owed, client_id=consumer.client_id)

    def missed(self, queue: Queue, messages: Sequence[Stored], *, client_id: str) -> None:
        """Messages that one consumer passes because they have expired. Repeatable."""
        age = settings_of(queue, OneToManySettings).max_message_age_seconds
        if age is None or not self._wanted(queue):
            return
        for stored in messages:
            self._letters.expire(queue, stored, client_id=client_id, age_seconds=age)

    def _wanted(self, queue: Queue) -> bool:
        return settings_of(queue, OneToManySettings).expired_to_dead_letters


def _owed(consumer: Consumer, stored: Stored, partition: int) -> bool:
    """Whether the consumer has still to get this message, or to get it again."""
    if stored.number > consumer.position(partition):
        return True
    return consumer.partition == partition and any(slot.number == stored.number for _, slot in consumer.pending())
