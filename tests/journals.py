"""Journals of load tests, made up."""

from typing import Any, TypeAlias

from tools.loading.journal import Entry, Fault

Line: TypeAlias = tuple[str, dict[str, Any]]


def noted(*lines: Line) -> list[Entry]:
    """Lines in the order of time, of one process unless they say otherwise."""
    return [
        {"at": float(at), "began": at - 0.5, "by": 1, "what": what, **members}
        for at, (what, members) in enumerate(lines)
    ]


def line(what: str, name: str = "1-0", **members: Any) -> Line:
    """One line: what happened to what."""
    return what, {"id": name, **members}


def told(faults: list[Fault]) -> list[str]:
    """What is found, in words."""
    return [str(fault) for fault in faults]
