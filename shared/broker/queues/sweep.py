"""Removing what deleted queues and logs held, and what purges left; in the background, a minute at a time."""

from collections.abc import Callable

from broker import keys
from broker.ids import Clock
from edge import Row, StateTable, remaining_seconds

GRACE_SECONDS = 65
"""How long what is deleted is swept again: longer than any function that still knows it may go on writing to it."""

_STOP_SECONDS = 5.0


class Sweep:
    """The scheduled removal; bounded by the time left, harmless when run twice, resumed by the next run.

    Args:
        state: Where deleted and purged queues are listed.
        remove: Removes what a deleted queue held, given its row; True when nothing is left.
        purge: The same for a purged queue.
        clock: The time.
    """

    def __init__(
        self, *, state: StateTable, remove: Callable[[Row], bool], purge: Callable[[Row], bool], clock: Clock
    ) -> None:
        self._state = state
        self._remove = remove
        self._purge = purge
        self._clock = clock

    def run(self) -> int:
        """Remove what there is time for; returns the number of queues worked on.

        Raises:
            ExceptionGroup: Some could not be worked on; the others were.
        """
        done, failures = 0, []
        for shard in range(keys.SHARDS):
            for pk, work in ((keys.purged_shard(shard), self._purge), (keys.doomed_shard(shard), self._remove)):
                start: Row | None = None
                while remaining_seconds() > _STOP_SECONDS:
                    page = self._state.query(pk, start=start)
                    for row in page.rows:
                        try:
                            done += self._step(row, work)
                        except Exception as error:  # noqa: BLE001  # one queue's trouble must not hold up the others
                            failures.append(error)
                    if page.next is None:
                        break
                    start = page.next
        if failures:
            raise ExceptionGroup("queues that could not be swept", failures)
        return done

    def _step(self, row: Row, work: Callable[[Row], bool]) -> bool:
        if remaining_seconds() < _STOP_SECONDS:
            return False
        finished = work(row)
        since = int(str(row.get("doomed_at", row.get("purged_at", 0))))
        if finished and self._clock() - since > GRACE_SECONDS * 1000:
            self._state.delete(str(row["pk"]), str(row["sk"]))
        return True
