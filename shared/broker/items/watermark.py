"""Up to where a reader of changes has read: the content of the `next` of an answer.

A write gets its place among what has changed from the clock of its machine, and takes effect a little later. So the
last stretch that was read (`OVERLAP_SECONDS`) is read again by the next poll, and the watermark names by fingerprint
what of it the reader has been given already. The stretch counts from the last write that was seen or from the clock of
the machine that read, whichever is earlier: one machine whose clock is fast makes nobody skip anything.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import xxhash

from broker.items.rows import rank_moment, rank_text
from broker.items.stored import OVERLAP_SECONDS

QUIET_SECONDS = 600
"""After so long without a write, the clock alone says what need not be read again."""
SEEN_MOST = 20_000
"""Fingerprints that a watermark holds; of more, the oldest are dropped, and what they stand for is given again."""

_OVERLAP = OVERLAP_SECONDS * 1000
_FINGERPRINT, _MOMENT = 8, 7


@dataclass(frozen=True, slots=True)
class Cycle:
    """A reading that has more to give.

    Attributes:
        began_at: When its first page was read; what arrives later may be missing from it.
        cutoff: What was written at or before this had expired then; None when nothing expires.
        newest: The moment of the latest write seen, 0 before the first.
        after: The rank it has come to.
    """

    began_at: int
    cutoff: int | None
    newest: int
    after: str


@dataclass(frozen=True, slots=True)
class Watermark:
    """Where a reader stands.

    Attributes:
        low: The rank from which everything is read again.
        cutoff: What was written at or before this had expired when it last read; None when nothing expired.
        read_at: When it last began to read to the end; what was deleted before, it knows.
        seen: Fingerprints of what it was given, with their moments.
        cycle: Where it is inside a reading that was not finished, else None.
    """

    low: str
    cutoff: int | None
    read_at: int
    seen: Mapping[bytes, int] = field(default_factory=dict)
    cycle: Cycle | None = None

    def further(self, cycle: Cycle, *, seen: Mapping[bytes, int]) -> "Watermark":
        """After a page that is not the last."""
        return replace(self, seen=_newest(seen, keep=self._settled(cycle)), cycle=cycle)

    def finished(self, cycle: Cycle, *, seen: Mapping[bytes, int]) -> "Watermark":
        """After the last page of a reading."""
        low = self._settled(cycle)
        return Watermark(rank_text(low), cycle.cutoff, cycle.began_at, _newest(seen, keep=low))

    def _settled(self, cycle: Cycle) -> int:
        """The moment before which all that was to be read has been."""
        written = min(cycle.newest, cycle.began_at) - _OVERLAP
        return max(rank_moment(self.low), written, cycle.began_at - QUIET_SECONDS * 1000)

    def encode(self) -> bytes:
        """As the content of a token."""
        cycle = self.cycle
        seen = b"".join(print_ + at.to_bytes(_MOMENT, "big") for print_, at in self.seen.items())
        parts = [
            self.low,
            self.cutoff,
            self.read_at,
            base64.b64encode(seen).decode("ascii"),
            [cycle.began_at, cycle.cutoff, cycle.newest, cycle.after] if cycle else None,
        ]
        return json.dumps(parts, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, content: bytes) -> "Watermark":
        """Back from a token, which nobody else can have made."""
        low, cutoff, read_at, seen, cycle = json.loads(content)
        data, step = base64.b64decode(seen), _FINGERPRINT + _MOMENT
        prints = {
            data[start : start + _FINGERPRINT]: int.from_bytes(data[start + _FINGERPRINT : start + step], "big")
            for start in range(0, len(data), step)
        }
        return cls(low, cutoff, read_at, prints, Cycle(*cycle) if cycle else None)


def fingerprint(digest: str, version: str, *, gone: bool) -> bytes:
    """What stands for one state of one item: a version of it, or that this version went."""
    return xxhash.xxh3_64_digest(f"{digest}#{version}#{int(gone)}".encode())


def _newest(seen: Mapping[bytes, int], *, keep: int) -> dict[bytes, int]:
    kept = {print_: at for print_, at in seen.items() if at >= keep}
    if len(kept) <= SEEN_MOST:
        return kept
    return dict(sorted(kept.items(), key=lambda entry: entry[1])[-SEEN_MOST:])
