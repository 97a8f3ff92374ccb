"""Documents: kept to the byte until they are deleted, and copied once to each subscriber."""

from collections.abc import Mapping, Sequence
from typing import Any

from tools.loading.journal import Entry, Fault, named


def of_queue(noted: Sequence[Entry], *, shown: Sequence[Mapping[str, Any]]) -> list[Fault]:
    """Faults in a queue of documents that one process each uploads, and perhaps deletes.

    Args:
        noted: The journals of its workers, with a `got` of every document at the end.
        shown: The list at the end.
    """
    faults = _bytes(noted, sent=_sent(noted))
    by_name: dict[str, list[str]] = {}
    for document in shown:
        by_name.setdefault(document["name"], []).append(document["document_id"])
    stored = {entry["id"]: entry["document"] for entry in named(noted, "stored")}
    going = {entry["id"]: entry["at"] for entry in reversed(named(noted, "deleting"))}
    gone = {entry["id"] for entry in named(noted, "deleted")}
    for name, ids in by_name.items():
        if len(ids) > 1 or stored.get(name, ids[0]) != ids[0]:
            faults.append(Fault(name, f"is stored as {ids}, and was answered as {stored.get(name)}"))
        if name in gone:
            faults.append(Fault(name, "is there after it was deleted"))
    faults += [Fault(name, "is lost") for name in stored if name not in by_name and name not in going]
    for entry in named(noted, "absent"):
        if entry["id"] not in going or entry["at"] < going[entry["id"]]:
            faults.append(Fault(entry["id"], "was listed and could not be had"))
    return faults


def missing(noted: Sequence[Entry], *, copied: Sequence[Entry]) -> list[Fault]:
    """The documents that were answered as stored, and that a subscriber has not got."""
    got = {entry["id"] for entry in named(copied, "got")}
    return [Fault(entry["id"], "was not copied") for entry in named(noted, "stored") if entry["id"] not in got]


def of_copies(noted: Sequence[Entry], *, copied: Sequence[Entry]) -> list[Fault]:
    """Faults in a subscriber whose copies are taken, one after the other, and deleted.

    Args:
        noted: The journals of the source's workers.
        copied: Those of the subscriber's.
    """
    faults = missing(noted, copied=copied) + _bytes(copied, sent=_sent(noted))
    ids: dict[str, str] = {}
    deleted: dict[str, float] = {}
    for entry in named(copied, "got", "deleted"):
        name, document = entry["id"], entry["document"]
        if entry["what"] == "deleted":
            deleted[document] = entry["at"]
            continue
        if ids.setdefault(name, document) != document:
            faults.append(Fault(name, f"was copied twice, as {ids[name]} and {document}"))
        if entry["began"] > deleted.get(document, entry["began"]):
            faults.append(Fault(name, "was had after it was deleted"))
    return faults


def _sent(noted: Sequence[Entry]) -> dict[str, str]:
    return {entry["id"]: entry["sha256"] for entry in named(noted, "sent")}


def _bytes(noted: Sequence[Entry], *, sent: Mapping[str, str]) -> list[Fault]:
    """That each download is what was uploaded."""
    faults = []
    for entry in named(noted, "got"):
        if not entry["sha256"] == entry["listed"] == sent.get(entry["id"]):
            faults.append(Fault(entry["id"], f"is {entry['sha256']}, listed as {entry['listed']}"))
    return faults
