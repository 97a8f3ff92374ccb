"""docs/contract.md: the routes, members and settings that it names are those of the description and the program."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_schema_validator import OAS31Validator

from broker.queues.settings import DOCUMENTS, SETTINGS, STREAMS, TO_MANY, TO_ONE
from tests.described import API, METHODS, OPERATIONS, closed, resolve
from tests.serve.newcomer import blocks
from tests.template.repository import ROOT

CONTRACT = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
LOGS = "/queue/v1/namespaces/{namespace}"
ROUTES = {
    f"{method.upper()} {path}": item[method]["operationId"]
    for path, item in API["paths"].items()
    for method in METHODS
    if method in item
}
PLACEHOLDERS = {"payload", "false", "reply"}
"""Words inside braces that are no member's name."""

TYPES = {
    "all": set(SETTINGS),
    "all but documents": set(SETTINGS) - DOCUMENTS,
    "delivery types": TO_ONE | TO_MANY,
    "delivery types, key_value, documents": TO_ONE | TO_MANY | {"key_value"} | DOCUMENTS,
    "those with a depth": TO_ONE | TO_MANY | {"key_value"} | DOCUMENTS,
    "to-many": TO_MANY,
    "stream types": STREAMS,
}
"""The contract's words for several types."""

_SPAN = re.compile(r"`([^`]+)`")
_ROUTE = re.compile(r"^(GET|HEAD|POST|PUT|PATCH|DELETE)(?: (/[^?]*))?(?:\?.*)?$")
_MEMBER = re.compile(r'(?<![\w<"])([A-Za-z_0-9]+)\??(?= *[,:=}])')


def _rows() -> Iterator[tuple[str, str]]:
    """The routes of the contract's tables: the function behind each, and what is said of it."""
    for section in CONTRACT.split("\n## ")[1:]:
        path, prefix = "", LOGS if section.startswith("4. ") else ""
        for line in section.splitlines():
            cells = line.replace("\\|", "").strip("| ").split(" | ")
            for span in _SPAN.findall(cells[0]) if line.startswith("| ") else ():
                if found := _ROUTE.match(span):
                    path = f"{prefix}{found[2]}" if found[2] else path
                    yield f"{found[1]} {path}", " | ".join(cells[1:])


TOLD = list(_rows())


def _named(node: Any) -> set[str]:
    """The names of all members that a schema knows."""
    if isinstance(node, list):
        return set().union(*map(_named, node))
    if not isinstance(node, dict):
        return set()
    own = set(node["properties"]) if isinstance(node.get("properties"), dict) else set()
    return own.union(*map(_named, node.values()))


def _described(function: str) -> set[str]:
    operation = OPERATIONS[function]
    contents = [operation.get("requestBody", {}), *map(resolve, operation["responses"].values())]
    schemas = [kind.get("schema") for content in contents for kind in content.get("content", {}).values()]
    return set().union(*(_named(closed(schema)) for schema in schemas))


def test_every_route_is_in_a_table() -> None:
    assert {route for route, _ in TOLD} == set(ROUTES)


@pytest.mark.parametrize(("route", "said"), TOLD, ids=[route for route, _ in TOLD])
def test_members_in_tables_are_described(route: str, said: str) -> None:
    bodies = " ".join(span for span in _SPAN.findall(said) if span.startswith("{"))
    named = {name for name in _MEMBER.findall(bodies) if not name.isdigit()} - PLACEHOLDERS
    assert named - _described(ROUTES[route]) == set()


def test_the_example_of_a_problem_is_one() -> None:
    examples = [json.loads(text) for kind, text in blocks(CONTRACT) if kind == "json"]
    assert examples
    for example in examples:
        assert list(OAS31Validator(closed(API["components"]["schemas"]["Problem"])).iter_errors(example)) == []


def _settings() -> Iterator[tuple[str, bool, set[str], str]]:
    for line in CONTRACT.split("### Settings")[1].split("\n## ")[0].splitlines():
        if line.startswith("| `"):
            name, types, default, _ = line.strip("| ").split(" | ", 3)
            yield name.split("`")[1], "◦" in name, set(TYPES.get(types, types.split(", "))), default


def test_settings_are_those_of_the_program() -> None:
    told = {(name, kind): (live, default) for name, live, kinds, default in _settings() for kind in kinds}
    assert set(told) == {(name, kind) for kind, model in SETTINGS.items() for name in model.model_fields}
    for (name, kind), (live, default) in told.items():
        model = next(model for each, model in SETTINGS.items() if each == kind)
        field = model.model_fields[name]
        assert live == (name in model.LIVE), name
        if field.is_required():
            assert "required" in default or f"{kind} must have one" in default, name
        elif name == "overflow_policy":  # what it is where a depth is set
            assert default == "`reject`"
        elif field.default is None:
            assert default.startswith("none"), name
        else:
            assert default.strip("`") == str(field.default).lower(), name
