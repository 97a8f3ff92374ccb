"""Cursors of queue/v1: an exact place in a partition, and what the polls that led there have seen.

Committing a cursor deletes what those polls returned and nothing else. Clocks cannot tell what arrived after a poll,
and a late message may sort anywhere; so a cursor names what was seen: the page itself by a fingerprint of each
message, the pages before it in the same chain by their number and one digest over all of them. A range that does not
match its digest any more is left alone: its messages are delivered again, never lost.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import xxhash

from broker.errors import InvalidToken
from edge import Position

_WIDTH = 4


@dataclass(frozen=True, slots=True)
class Seen:
    """A number of messages and a digest over them that does not depend on their order."""

    count: int = 0
    digest: int = 0

    @classmethod
    def of(cls, positions: Iterable[Position]) -> "Seen":
        """Of messages at these positions."""
        seen = cls()
        for position in positions:
            seen = cls(seen.count + 1, seen.digest ^ _hash(position))
        return seen

    def __add__(self, other: "Seen") -> "Seen":
        """Of both sets of messages, which share none."""
        return Seen(self.count + other.count, self.digest ^ other.digest)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The end of a page.

    Attributes:
        offset: The offset that the page returned.
        start: After which position the chain of polls began; None for the very beginning.
        page_start: After which position this page began.
        last: The position of the last message returned.
        before: What the chain returned before this page.
        page: What this page returned.
        fingerprints: The messages of this page, four bytes each.
    """

    offset: int | None
    start: Position | None
    page_start: Position | None
    last: Position
    before: Seen
    page: Seen
    fingerprints: frozenset[bytes]

    @classmethod
    def after(
        cls, positions: list[Position], *, offset: int | None, start: Position | None, previous: "Cursor | None"
    ) -> "Cursor":
        """The cursor of a page (not empty) that was polled from `start`, or from a previous cursor."""
        return cls(
            offset=offset,
            start=previous.start if previous else start,
            page_start=previous.last if previous else start,
            last=positions[-1],
            before=previous.before + previous.page if previous else Seen(),
            page=Seen.of(positions),
            fingerprints=frozenset(_fingerprint(position) for position in positions),
        )

    def returned(self, position: Position) -> bool:
        """Whether this page had the message at a position."""
        return _fingerprint(position) in self.fingerprints

    def encode(self) -> bytes:
        """As the content of a token."""
        places = [self.start, self.page_start, self.last]
        numbers = [self.before.count, self.before.digest, self.page.count, self.page.digest]
        head = json.dumps([self.offset, *places, *numbers], separators=(",", ":"))
        return head.encode() + b"\n" + b"".join(sorted(self.fingerprints))

    @classmethod
    def decode(cls, content: bytes) -> "Cursor":
        """Back from the content of a token that this module made.

        Raises:
            InvalidToken: An older version made it.
        """
        head, _, prints = content.partition(b"\n")
        try:
            offset, start, page_start, last, count, digest, page_count, page_digest = json.loads(head)
        except ValueError as error:
            raise InvalidToken from error
        return cls(
            offset=offset,
            start=Position(*start) if start else None,
            page_start=Position(*page_start) if page_start else None,
            last=Position(*last),
            before=Seen(count, digest),
            page=Seen(page_count, page_digest),
            fingerprints=frozenset(prints[at : at + _WIDTH] for at in range(0, len(prints), _WIDTH)),
        )


def _hash(position: Position) -> int:
    return xxhash.xxh3_64_intdigest(position.text().encode())


def _fingerprint(position: Position) -> bytes:
    return _hash(position).to_bytes(8, "big")[:_WIDTH]
