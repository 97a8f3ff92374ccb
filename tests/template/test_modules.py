"""Names say what a module is about, a module fits a screen or three, and time comes in as an argument."""

import ast
from pathlib import Path

import pytest

from tests.template.repository import OURS, ROOT, SHIPPED, dotted, modules

BANNED_WORDS = {"util", "utils", "helper", "helpers", "common", "base", "manager", "managers", "misc"}
LONGEST = 250
# Longer for a reason: one tree of errors, one table of keys, each drawn and written in one place.
LONG_FOR_A_REASON = {"shared/broker/errors.py", "shared/broker/keys.py"}
CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.datetime.now", "time.sleep"}
# Who may look at a clock, or wait: the modules that hand it to all others, and the retries and deadlines of calls.
CLOCK_KEEPERS = {"broker.wiring", "edge.retry"}


def calls(source: str) -> set[str]:
    """The dotted names that a module calls."""
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("path", modules(*OURS), ids=str)
def test_a_module_is_named_after_what_it_is_about(path: Path) -> None:
    words = {word for part in path.with_suffix("").parts for word in part.split("_")}
    assert not words & BANNED_WORDS


@pytest.mark.parametrize("path", [path for path in modules(*OURS) if path.parts[0] != "tests"], ids=str)
def test_a_module_is_split_before_it_grows_long(path: Path) -> None:
    lines = (ROOT / path).read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST or path.as_posix() in LONG_FOR_A_REASON


@pytest.mark.parametrize("path", modules(*SHIPPED), ids=str)
def test_the_clock_is_an_argument(path: Path) -> None:
    looked_at = calls((ROOT / path).read_text(encoding="utf-8")) & CLOCKS
    assert not looked_at or dotted(path) in CLOCK_KEEPERS


@pytest.mark.parametrize("path", modules("functions"), ids=str)
def test_a_function_is_an_entry_point_and_nothing_else(path: Path) -> None:
    assert path.parts[2:] == ("app.py",)
    lines = (ROOT / path).read_text(encoding="utf-8").count("\n")
    assert lines <= 40


def test_calls_are_seen_wherever_they_stand() -> None:
    assert calls("class A:\n    def f(self): return [time.time() for _ in x]") & CLOCKS == {"time.time"}
