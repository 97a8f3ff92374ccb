"""Journals: lines of JSON, one file per process, in which is noted what was asked and what was answered."""

import collections
import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Entry: TypeAlias = dict[str, Any]


class Journal:
    """A file of lines; each is written at once, so a kill loses none that was noted."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, what: str, **members: Any) -> None:
        """Note something, with the time (of a clock that all processes share) and who notes it."""
        line = json.dumps({"what": what, "at": time.monotonic(), "by": os.getpid(), **members})
        os.write(self._file, line.encode() + b"\n")

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that must not be.

    Attributes:
        name: The message, document or key it is about; empty if it is about none.
        text: What is wrong.
    """

    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name} {self.text}".strip()


def entries(files: Iterable[Path]) -> list[Entry]:
    """All that was noted, in the order of time. A line that a kill cut short is none."""
    noted = [json.loads(line) for file in files for line in file.read_bytes().splitlines(keepends=True) if _whole(line)]
    return sorted(noted, key=lambda entry: float(entry["at"]))


def named(noted: Iterable[Entry], *whats: str) -> list[Entry]:
    """Those of some kinds."""
    return [entry for entry in noted if entry["what"] in whats]


def answers(noted: Iterable[Entry]) -> Mapping[int, int]:
    """How often each status was answered."""
    return collections.Counter(entry["status"] for entry in named(noted, "answer"))


def story(noted: Iterable[Entry], name: str) -> list[str]:
    """What was noted of one name, and of the ids that it was stored under, as lines."""
    noted = list(noted)
    known = {name}
    for entry in noted:
        if entry.get("id") == name:
            known |= {str(entry[member]) for member in ("message_id", "document") if entry.get(member)}
    lines = [json.dumps(entry) for entry in noted]
    return [line for line in lines if any(f'"{one}"' in line or f"#{one}" in line for one in known)]


def _whole(line: bytes) -> bool:
    return line.endswith(b"\n")
