"""An item before and after it is written."""

from dataclasses import dataclass

from broker.ids import Repeat


@dataclass(frozen=True, slots=True)
class Fresh:
    """An item about to be written; `repeat`: whether its request may be carried out again under the same version."""

    digest: str
    version: str
    key: bytes
    payload: bytes
    sort: str
    repeat: Repeat = "never"


@dataclass(frozen=True, slots=True)
class Written:
    """What a write found: the item's moment, whether none lived there before, and whether its row was counted."""

    at: int
    created: bool
    took_over: bool
