"""Announcing messages of a shared lane: a publisher is numbered, and the lane is due, before its message is there.

So the lane's row must not go while anything that was announced may still come. An announcement is taken back by who
knows that its message never will, exactly once; of a publisher that has died nobody knows, and the row goes when none
can be alive.
"""

from contextlib import suppress

from broker.lanes import ranks
from broker.lanes.messages import Candidate, Lane
from broker.queues.depth import LONGEST_CALL_SECONDS
from edge import ConditionFailed, EdgeUnavailable, StateTable, TransactionRefused

DEAD_AFTER = 2 * LONGEST_CALL_SECONDS * 1000
"""Milliseconds after which a publisher that has announced cannot be alive."""

_PAUSE = 1000
_ATTEMPTS = 3


class Announcing:
    """The numbers of shared lanes."""

    def __init__(self, *, state: StateTable) -> None:
        self._state = state

    def announce(self, lane: Lane, message_id: str, *, now: int, attempts: int = _ATTEMPTS) -> int:
        """Number a message and make its lane due; again, under other ranks, when the answer is lost."""
        first, second = (ranks.following(now, message_id=message_id).text() for _ in range(2))
        try:
            row = self._state.update(
                lane.pk,
                lane.sk,
                "SET #rank = if_not_exists(#rank, :rank), #next_rank = if_not_exists(#next_rank, :next), "
                "#announced_at = :now ADD #tail :one, #pending :one",
                values={"rank": first, "next": second, "now": now, "one": 1},
                once=True,
            )
        except EdgeUnavailable as error:
            if error.maybe_done and attempts > 1:
                return self.announce(lane, message_id, now=now, attempts=attempts - 1)
            raise
        return int(str(row["tail"]))

    def retract(self, lane: Lane) -> None:
        """Take back one announcement whose message will never come; what fails is found by those who look later.

        To take it back twice would let the row go while another's message may still come. So each write is a
        transaction, which is carried out once even if its answer is lost.
        """
        last = self._state.delete_operation(lane.pk, lane.sk, condition="#pending = :one", values={"one": 1})
        one_of_many = self._state.update_operation(
            lane.pk,
            lane.sk,
            "ADD #pending :less",
            values={"less": -1, "one": 1},
            condition="#pending > :one",
        )
        with suppress(EdgeUnavailable):
            for operation in [one_of_many, last] * _ATTEMPTS:
                with suppress(TransactionRefused):
                    self._state.transact([operation])
                    return

    def wait(self, candidate: Candidate, *, now: int) -> None:
        """What to do about a lane that was announced and is empty.

        A moment after the announcement nothing: its message is about to come. Later look at it again in a second;
        forget it when no publisher can be alive.
        """
        lane, rank = candidate.lane, candidate.rank
        row = self._state.get(lane.pk, lane.sk)
        if row is None or row.get("rank") != candidate.seen or now - int(str(row["announced_at"])) < _PAUSE:
            return
        later = ranks.Rank(now + _PAUSE, rank.n, rank.message_id, rank.deliveries, "W").text()
        try:
            row = self._state.update(
                lane.pk,
                lane.sk,
                "SET #rank = :rank",
                values={"rank": later, "seen": candidate.seen},
                condition="#rank = :seen",
            )
            if (announced_at := int(str(row["announced_at"]))) < now - DEAD_AFTER:
                self._state.delete(
                    lane.pk,
                    lane.sk,
                    condition="#rank = :rank AND #announced_at = :announced_at",
                    values={"rank": later, "announced_at": announced_at},
                )
        except ConditionFailed:
            return
