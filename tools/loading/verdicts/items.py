"""Items: what is stored is what their one writer was told, and a follower of changes holds the same."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tools.loading.journal import Entry, Fault, named

State: TypeAlias = Mapping[str, tuple[Any, str]]
"""Value and version by key."""


def listed(items: Sequence[Mapping[str, Any]]) -> State:
    """The state that a list of items shows."""
    return {item["key"][0]: (item["payload"]["value"], item["version"]) for item in items}


def followed(noted: Sequence[Entry]) -> State:
    """The state that one follower has come to by applying every page that it got."""
    state: dict[str, tuple[Any, str]] = {}
    for page in named(noted, "page"):
        state |= {key: (value, version) for key, value, version in page["items"]}
        for key in page["deleted"]:
            state.pop(key, None)
    return state


def differences(held: State, shown: State) -> list[Fault]:
    """Where a follower holds something else than the list shows."""
    keys = sorted(held.keys() | shown.keys())
    return [
        Fault(key, f"is {held.get(key)} to a follower and {shown.get(key)} in the list")
        for key in keys
        if held.get(key) != shown.get(key)
    ]


def of_queue(noted: Sequence[Entry], *, shown: State) -> list[Fault]:
    """Faults in the items shown at the end, by what their writers noted.

    Each key has one writer. Its last request that was answered decides, or a later one that was not.
    """
    allowed: dict[str, list[tuple[Any, str | None] | None]] = {}
    for entry in named(noted, "sent", "stored", "deleting", "deleted"):
        key = entry["id"]
        match entry["what"]:
            case "sent":
                allowed.setdefault(key, [None]).append((entry["value"], None))
            case "deleting":
                allowed[key].append(None)
            case "stored":
                allowed[key] = [(entry["value"], entry["version"])]
            case "deleted":
                allowed[key] = [None]
    return [
        Fault(key, f"is {shown.get(key)} and should be {' or '.join(map(str, allowed.get(key, [None])))}")
        for key in sorted(allowed.keys() | shown.keys())
        if not any(_fits(shown.get(key), one) for one in allowed.get(key, [None]))
    ]


def _fits(found: tuple[Any, str] | None, expected: tuple[Any, str | None] | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return found[0] == expected[0] and expected[1] in (None, found[1])
