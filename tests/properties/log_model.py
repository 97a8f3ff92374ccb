"""A partition of a log as plain lists and sets, and what may become of its messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Place = tuple[int, str]
"""(seq, id) of a message."""

AFTER_ALL_IDS = "~"


@dataclass(frozen=True)
class Poll:
    """A page that was received.

    Attributes:
        start: The place after which it began; None for the very beginning.
        last: The place of its last message, or where it began when it was empty.
        there: All ids that were stored when it was polled.
        returned: The ids it returned.
        offset: Its offset.
        cursor: Its cursor.
        earlier: The polls that led to it.
        by_cursor: Whether the last of those led by its cursor, and is covered by this one's.
    """

    start: Place | None
    last: Place | None
    there: frozenset[str]
    returned: frozenset[str]
    offset: int | None
    cursor: str | None
    earlier: tuple["Poll", ...] = ()
    by_cursor: bool = False

    @property
    def chain(self) -> frozenset[str]:
        """What committing the cursor may delete."""
        before = self.earlier[-1].chain if self.by_cursor else frozenset[str]()
        return before | self.returned

    def missed(self, place: Place) -> bool:
        """Whether a message at this place came too late for the polls to be given."""
        for poll in (*self.earlier, self):
            covered = (poll.start is None or poll.start < place) and poll.last is not None and place <= poll.last
            if covered and place[1] not in poll.there:
                return True
        return self.last is not None and place > self.last and place[1] not in self.there


@dataclass
class Partition:
    """What is known of the messages of one partition.

    Attributes:
        seqs: The seq of every message ever sent, by its number.
        numbers: The number of each message that is known to be stored, by its id.
        maybe: Numbers of those whose fate the log could not tell.
        never: Numbers of those that the log said are not stored.
        delivered: The ids that were on a page.
        deleted: The ids that a commit took away.
    """

    seqs: list[int] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    maybe: set[int] = field(default_factory=set)
    never: set[int] = field(default_factory=set)
    delivered: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)

    def send(self, seqs: Sequence[int]) -> list[int]:
        """Give out numbers for messages about to be sent."""
        first = len(self.seqs)
        self.seqs += seqs
        return list(range(first, len(self.seqs)))

    def told(self, numbers: Sequence[int], results: Sequence[Mapping[str, Any]]) -> None:
        """Take in the results of an enqueue, one for each message in order."""
        assert len(results) == len(numbers)
        for number, result in zip(numbers, results, strict=True):
            if result["status"] == "CREATED":
                assert result["id"] not in self.numbers
                self.numbers[result["id"]] = number
            else:
                assert (result["status"], result["id"]) == ("FAILED", None)
                (self.never if result["error"] == "throttled" else self.maybe).add(number)

    def given(self, message: Mapping[str, Any]) -> None:
        """Take in a message of a page: it is one that was sent, with the seq it was sent with, under one id."""
        number = message["value"]["n"]
        assert number not in self.never
        assert message["seq"] == self.seqs[number]
        if message["id"] not in self.numbers:
            assert number in self.maybe, "a message that was answered has another id"
            self.numbers[message["id"]] = number
        assert self.numbers[message["id"]] == number
        self.delivered.add(message["id"])

    def check_page(
        self,
        page: Mapping[str, Any],
        *,
        stored: Sequence[Place],
        start: Place | None,
        until: int | None,
        limit: int,
        most: int,
        offset: int | None,
    ) -> None:
        """Compare a page with what was stored when it was polled.

        Args:
            page: The answer.
            stored: Everything in the partition, in order.
            start: Where the page begins.
            until: The bound it was asked for.
            limit: The limit it was asked for.
            most: The most messages on a page.
            offset: The offset that an empty page, or one inside a run, has to answer.
        """
        within = [
            place for place in stored if (start is None or place > start) and (until is None or place[0] <= until)
        ]
        got = [(message["seq"], message["id"]) for message in page["messages"]]
        size = len(got)
        assert got == within[:size]
        assert page["hasNext"] == (size < len(within))
        if not within:
            assert page["offset"] == offset
            return
        assert 1 <= size <= most
        following = within[size][0] if size < len(within) else None
        if following == got[-1][0]:
            assert page["offset"] == offset
            assert got[0][0] == got[-1][0], "only a run that has the page for itself may be split"
        else:
            assert page["offset"] == got[-1][0]
        assert size <= limit or got[0][0] == got[limit - 1][0] == got[-1][0]
