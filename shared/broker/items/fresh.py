"""An item before and after it is written."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fresh:
    """An item about to be written."""

    digest: str
    version: str
    key: bytes
    payload: bytes
    sort: str


@dataclass(frozen=True, slots=True)
class Written:
    """What a write found: the item's moment, whether none lived there before, and whether its row was counted."""

    at: int
    created: bool
    took_over: bool
