"""The `/queues/{queue}/dlq` API: find, permit, and hand over to the dead letters and to the type."""

from collections.abc import Callable

from broker.caller import Caller
from broker.errors import BrokerError, TooManyEntries, Unavailable, WrongQueueType
from broker.ids import Ids
from broker.listing import Listing, PageRequest
from broker.queues.deadletters import DeadLetters
from broker.queues.kinds import Published
from broker.queues.letters import Redrives
from broker.queues.models import BATCH_MOST, DeadLetterAnswer, RedriveRequest
from broker.queues.queue import Queue
from broker.queues.registry import Registry
from broker.queues.settings import TO_MANY, TO_ONE, QueueType


class DlqService:
    """Dead letters of the delivery types, as their routes need them.

    Args:
        registry: The queues.
        letters: Their dead letters.
        redrives: What puts dead letters of a type back.
    """

    def __init__(self, *, registry: Registry, letters: DeadLetters, redrives: Callable[[QueueType], Redrives]) -> None:
        self._registry = registry
        self._letters = letters
        self._redrives = redrives

    def listed(self, caller: Caller, reference: str, request: PageRequest) -> Listing[DeadLetterAnswer]:
        """A page of them, oldest first."""
        return self._letters.listed(self._find(caller, reference), request)

    def redrive_one(self, caller: Caller, reference: str, entry_id: str, *, ids: Ids) -> Published:
        """Put one back into the queue.

        Raises:
            NotFound: There is none of this id.
            BrokerError: The queue refuses the message; the letter stays.
        """
        queue = self._find(caller, reference, enabled=True)
        return self._letters.redrive_one(queue, entry_id, by=self._redrives(queue.type), ids=ids)

    def redrive(
        self, caller: Caller, reference: str, request: RedriveRequest, *, ids: Ids
    ) -> list[tuple[str, Published | BrokerError]]:
        """Put many back into the queue, one outcome each.

        Raises:
            TooManyEntries: More than 100 are named.
        """
        if request.entry_ids is not None and len(request.entry_ids) > BATCH_MOST:
            raise TooManyEntries(f"At most {BATCH_MOST} dead letters can be named in one request.")
        queue = self._find(caller, reference, enabled=True)
        return self._letters.redrive(queue, request, by=self._redrives(queue.type), ids=ids)

    def delete(self, caller: Caller, reference: str, entry_id: str) -> None:
        """Delete one.

        Raises:
            NotFound: There is none of this id.
        """
        self._letters.delete(self._find(caller, reference), entry_id)

    def purge(self, caller: Caller, reference: str) -> None:
        """Delete all.

        Raises:
            Unavailable: Some are left when the time is up; repeat it.
        """
        if not self._letters.empty(self._find(caller, reference).queue_id):
            raise Unavailable("There was no time to delete all of them; repeat the request to go on.")

    def _find(self, caller: Caller, reference: str, *, enabled: bool = False) -> Queue:
        find = self._registry.find_enabled if enabled else self._registry.find
        queue = find(caller, reference, action="consume")
        if queue.type not in TO_ONE | TO_MANY:
            raise WrongQueueType(f"A {queue.type} queue has no dead letters.")
        return queue
