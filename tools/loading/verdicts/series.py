"""Points: each that was answered is counted once, and the sum is that of the points counted."""

from collections.abc import Mapping, Sequence
from typing import Any

from tools.loading.journal import Entry, Fault, named


def of_series(noted: Sequence[Entry], *, buckets: Sequence[Mapping[str, Any]]) -> list[Fault]:
    """Faults in the buckets of points of 1 each; what was sent and not answered may be counted, once."""
    counted = sum(bucket["fields"]["n"]["count"] for bucket in buckets)
    total = sum(bucket["fields"]["n"]["sum"] for bucket in buckets)
    least, most = (len({entry["id"] for entry in named(noted, what)}) for what in ("stored", "sent"))
    faults = []
    if not least <= counted <= most:
        faults.append(Fault("", f"{counted} points are counted, {least} were answered and {most} were sent"))
    if total != counted:
        faults.append(Fault("", f"{counted} points of 1 add up to {total}"))
    return faults
