"""Folder = resource = route = event = test, for every function."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.template.repository import ROOT, functions, resource_name, template
from tools.serving.routes import RouteTable
from tools.serving.template import Function

FUNCTIONS = functions()
ROUTED = [function for function in FUNCTIONS if function.routes]
by_name = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
by_route = pytest.mark.parametrize("function", ROUTED, ids=lambda f: f.name)


def event_of(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text(encoding="utf-8"))
    return event


def texts(path: Path) -> set[str]:
    """The text constants of a module, and its own name without `test_`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return found | {path.stem.removeprefix("test_")}


def test_every_folder_is_a_function() -> None:
    folders = {path.name for path in (ROOT / "functions").iterdir() if path.name != "__pycache__"}
    assert folders == {function.name for function in FUNCTIONS}


@by_name
def test_folder_and_resource_agree(function: Function) -> None:
    assert function.folder == ROOT / "functions" / function.name
    assert re.fullmatch(r"[a-z]+(_[a-z]+)+", function.name), "noun_verb"
    assert function.logical_id == resource_name(function.name)
    assert function.handler == "app.handler"
    assert (function.folder / "app.py").is_file()


@by_name
def test_a_function_has_one_route_or_one_schedule(function: Function) -> None:
    assert (len(function.routes), len(function.schedules)) in ((1, 0), (0, 1))


@by_route
def test_the_handler_names_its_route(function: Function) -> None:
    source = (function.folder / "app.py").read_text(encoding="utf-8")
    key = function.routes[0].key
    assert (ast.get_docstring(ast.parse(source)) or "").startswith(f"{key}: ")
    assert f'@endpoint("{key}"' in source


def test_every_event_is_a_function_s() -> None:
    assert {path.stem for path in (ROOT / "events").glob("*")} == {function.name for function in FUNCTIONS}


@by_route
def test_the_sample_event_takes_the_function_s_route(function: Function) -> None:
    event = event_of(function.name)
    context = event["requestContext"]
    assert event["version"] == "2.0"
    assert event["routeKey"] == context["routeKey"] == function.routes[0].key
    assert event["rawPath"] == context["http"]["path"]
    match = RouteTable(template().functions).match(context["http"]["method"], path=event["rawPath"])
    assert match is not None
    assert match.function.name == function.name
    assert event.get("pathParameters", {}) == dict(match.path_parameters)
    assert event["headers"].get("content-length", "0") == str(len(event.get("body", "").encode()))


@by_name
def test_a_sample_event_comes_from_what_calls_the_function(function: Function) -> None:
    event = event_of(function.name)
    assert event.get("detail-type") == ("Scheduled Event" if function.schedules else None)


@by_name
def test_a_function_has_a_test(function: Function) -> None:
    modules = (ROOT / "tests" / "functions").glob("test_*.py")
    assert any(function.name in texts(path) for path in modules), "no module of tests/functions names it"
