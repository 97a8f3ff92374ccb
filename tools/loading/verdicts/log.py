"""Messages of a log: each polled, and none again once it was committed, but as known-issues.md has it."""

from collections.abc import Sequence

from tools.loading.journal import Entry, Fault, named


def lost(noted: Sequence[Entry]) -> list[Fault]:
    """The messages that were answered as stored, and were not polled."""
    got = {entry["id"] for entry in named(noted, "got")}
    return [Fault(entry["id"], "is lost") for entry in named(noted, "stored") if entry["id"] not in got]


def of_log(noted: Sequence[Entry], *, struck: Sequence[Entry]) -> list[Fault]:
    """Faults in what was noted of a log.

    Args:
        noted: The journals of its workers.
        struck: The faults that the server injected. A message whose write was done while its answer was lost, or
            whose enqueue was cut short and repeated, may come again after its commit.
    """
    faults = lost(noted)
    sent = {entry["id"] for entry in named(noted, "sent")}
    interrupted = {entry["id"] for entry in named(noted, "interrupted")}
    rewritten = {key.rpartition("#")[2] for one in struck if one["fault"] == "answer lost" for key in one["put"]}
    committed: set[str] = set()
    ids: dict[str, str] = {}
    for entry in named(noted, "stored", "got", "acked"):
        name = entry["id"]
        if entry["what"] == "acked":
            committed.add(name)
            continue
        if name not in sent:
            faults.append(Fault(name, "was never sent"))
        if ids.setdefault(name, entry["message_id"]) != entry["message_id"]:
            faults.append(Fault(name, "is there under two ids"))
        again = entry["what"] == "got" and name in committed
        if again and name not in interrupted and entry["message_id"] not in rewritten:
            faults.append(Fault(name, "came again after it was committed"))
    return faults
