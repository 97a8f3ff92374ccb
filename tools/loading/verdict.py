"""What the workers' journals say: was anything lost, doubled beyond the promise, or answered as it must not be."""

import collections
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any


def entries(files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """All that was noted, in the order of time."""
    noted = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
    return iter(sorted(noted, key=lambda entry: entry["at"]))


def of_queue(files: Iterable[Path], *, once: bool) -> list[str]:
    """Faults in what one queue's workers noted.

    Args:
        files: Their journals, those of one consumer only if it is a queue for many.
        once: Whether one delivery of a message goes to one consumer only, under a number of its own.
    """
    files = list(files)
    # What was cut short after it had stored, and was consumed before it was repeated, is stored again: nobody had been
    # told that it was stored.
    uncertain = {entry["id"] for entry in entries(files) if entry["what"] == "interrupted"}
    faults: list[str] = []
    stored: set[str] = set()
    got: set[str] = set()
    acked: set[str] = set()
    deliveries: set[tuple[str, int]] = set()
    for entry in entries(files):
        name = str(entry.get("id"))
        match entry["what"]:
            case "stored":
                stored.add(name)
            case "acked":
                acked.add(name)
            case "got":
                if name in acked and name not in uncertain:
                    faults.append(f"{name} came again after it was acked")
                if once and (name, entry["delivery"]) in deliveries and name not in uncertain:
                    faults.append(f"{name} was given to two as delivery {entry['delivery']}")
                deliveries.add((name, entry["delivery"]))
                got.add(name)
            case "defect":
                faults.append(f"{entry['path']}: {entry['answer']}")
    return faults + [f"{name} is lost" for name in sorted(stored - got)]


def answers(files: Iterable[Path]) -> Mapping[int, int]:
    """How often each status was answered."""
    return collections.Counter(entry["status"] for entry in entries(files) if entry["what"] == "answer")


def count(files: Iterable[Path], what: str) -> int:
    """How often something was noted."""
    return sum(entry["what"] == what for entry in entries(files))
