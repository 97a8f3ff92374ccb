"""docs/openapi.yaml describes every member of every request, as the models of the program have them.

What a function reads is found in its own code: the models it gives to `request.json`, `request.query` and
`request.page`.
"""

import ast
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from broker.bodies import Body
from broker.errors import ValidationFailed
from broker.queues.settings import SETTINGS, check_settings
from tests.described import API, OPERATIONS, resolve
from tests.template.repository import ROOT

Fact = tuple[str, str, str]
"""Of a member, by its path: what is said of it, and how."""

SAID = ("minimum", "maximum", "minLength", "maxLength", "minItems", "enum", "default", "type")
ELSEWHERE = {"message_publish", "document_upload"}
"""Operations whose body is a payload or a file, which no model reads."""

NEEDED: dict[str, Any] = {"primary_key": ["k"], "foreign_key": ["k"], "lookup_queue": "q"}
NEEDED |= {"interval_seconds": 60, "aggregation_fields": ["n"]}


def _models(function: str) -> Iterator[tuple[str, type[Body]]]:
    """How a function reads its request, `json` or `query`, and as what."""
    tree = ast.parse((ROOT / "functions" / function / "app.py").read_text(encoding="utf-8"))
    modules = {
        name.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="json" | "query" | "page" as how), args=[ast.Name(id=name), *_]):
                yield how.replace("page", "query"), getattr(importlib.import_module(str(modules[name])), name)


READ = {(function, how): model for function in OPERATIONS for how, model in _models(function)}


def _described(function: str, how: str) -> Mapping[str, Any] | None:
    """The schema of what an operation's description says of its body or its query."""
    operation = OPERATIONS[function]
    if how == "json":
        content = operation.get("requestBody", {}).get("content", {})
        return content["application/json"]["schema"] if content and function not in ELSEWHERE else None
    item = next(item for item in API["paths"].values() if operation in item.values())
    given = [resolve(one) for one in (*item.get("parameters", ()), *operation.get("parameters", ()))]
    query = {one["name"]: one for one in given if one["in"] == "query"}
    required = [name for name, one in query.items() if one.get("required")]
    return {"properties": {name: one["schema"] for name, one in query.items()}, "required": required} if query else None


def _facts(node: Any, find: Callable[[str], Any], path: str = "") -> Iterator[Fact]:
    """What a schema says of every member; that one may also be null is left out."""
    if "$ref" in node:
        yield from _facts({**find(node["$ref"]), **{k: v for k, v in node.items() if k != "$ref"}}, find, path)
        return
    for part in (*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())):
        if part.get("type") != "null" and "propertyNames" not in part.get("properties", {}).get("settings", {}):
            yield from _facts(part, find, path)
    for word in SAID:
        if node.get(word) is not None:
            yield path, word, json.dumps(node[word])
    for name in node.get("required", ()):
        yield f"{path}.{name}", "required", ""
    for name, member in node.get("properties", {}).items():
        yield f"{path}.{name}", "member", ""
        yield from _facts(member, find, f"{path}.{name}")
    if isinstance(node.get("items"), dict):
        yield from _facts(node["items"], find, f"{path}[]")


def _facts_of(model: type[BaseModel]) -> set[Fact]:
    schema = model.model_json_schema(by_alias=True)
    found = set(_facts(schema, lambda ref: schema["$defs"][ref.rsplit("/", 1)[1]]))
    return found - {("", "type", '"object"')}


def _facts_described(schema: Mapping[str, Any]) -> set[Fact]:
    found = set(_facts(schema, lambda ref: resolve({"$ref": ref})))
    return found - {("", "type", '"object"')}


def test_a_body_or_a_query_is_described_where_one_is_read() -> None:
    described = {(function, how) for function in OPERATIONS for how in ("json", "query") if _described(function, how)}
    assert described == set(READ)


@pytest.mark.parametrize(("function", "how"), READ, ids=["-".join(each) for each in READ])
def test_members_are_those_of_the_model(function: str, how: str) -> None:
    schema = _described(function, how)
    assert schema is not None
    ours, theirs = _facts_described(schema), _facts_of(READ[function, how])
    beyond = {fact for fact in ours - theirs if fact[1] in ("member", "required", "enum")}
    if function in ("queue_create", "queue_update"):
        beyond = {fact for fact in beyond if not fact[0].startswith(".settings")}  # a test of their own, below
    if how == "query":  # where all is text, and the description says what the text means
        theirs = {fact for fact in theirs if fact[1] != "type" and fact[:2] != (".fill_gaps", "enum")}
    assert (beyond, theirs - ours) == (set(), set())


def _bounds(facts: set[Fact]) -> Iterator[tuple[str, int, int]]:
    """Each bound of a number on the first level: whose, the last value within, the first one beyond."""
    for path, word, value in sorted(facts):
        if word in ("minimum", "maximum") and path.count(".") == 1 and "[" not in path:
            bound = int(value)
            yield path[1:], bound, bound + (1 if word == "maximum" else -1)


BOUNDS = [
    (function, how, *bound)
    for function, how in READ
    if (schema := _described(function, how))
    for bound in _bounds(_facts_described(schema))
    if not bound[0].startswith("settings")
]


@pytest.mark.parametrize(("function", "how", "name", "within", "beyond"), BOUNDS)
def test_bounds_of_numbers_are_those_of_the_model(function: str, how: str, name: str, within: int, beyond: int) -> None:
    model, example = READ[function, how], {}
    if how == "json":
        example = OPERATIONS[function]["requestBody"]["content"]["application/json"]["example"]
    model.model_validate({**example, name: within})
    with pytest.raises(ValidationError):
        model.model_validate({**example, name: beyond})


VARIANTS = {one["properties"]["type"]["const"]: one for one in API["components"]["schemas"]["QueueCreate"]["oneOf"]}
ALL_SETTINGS = API["components"]["schemas"]["Settings"]


def test_settings_are_those_of_the_models() -> None:
    assert set(VARIANTS) == set(SETTINGS)
    for kind, model in SETTINGS.items():
        settings = VARIANTS[kind]["properties"]["settings"]
        assert set(settings["propertyNames"]["enum"]) == set(model.model_fields), kind
        needed = {name for name, one in model.model_fields.items() if one.is_required()}
        assert set(settings.get("required", ())) == needed, kind
        assert (VARIANTS[kind].get("required") == ["settings"]) == bool(needed), kind
    described = _facts_described(ALL_SETTINGS)
    modelled = set().union(*(_facts_of(model) for model in SETTINGS.values()))
    modelled = {fact for fact in modelled if fact[1] != "required"}
    assert modelled - described == set()
    assert {fact for fact in described - modelled if fact[1] in ("member", "enum", "default")} == set()


def test_live_settings_are_those_of_the_models() -> None:
    live = resolve(API["components"]["schemas"]["QueueUpdate"])["properties"]["settings"]["properties"]
    assert set(live) == set().union(*(model.LIVE for model in SETTINGS.values()))


SETTING_BOUNDS = [
    (kind, *bound)
    for kind in SETTINGS
    for bound in _bounds(_facts_described(ALL_SETTINGS))
    if bound[0] in SETTINGS[kind].model_fields
]


@pytest.mark.parametrize(("kind", "name", "within", "beyond"), SETTING_BOUNDS)
def test_bounds_of_settings_are_those_of_the_models(kind: Any, name: str, within: int, beyond: int) -> None:
    fields = SETTINGS[kind].model_fields
    needed = {key: value for key, value in NEEDED.items() if key in fields and fields[key].is_required()}
    if name == "defer_ttl_seconds":
        needed["missing_lookup"] = "defer"
    check_settings(kind, {**needed, name: within})
    with pytest.raises(ValidationFailed):
        check_settings(kind, {**needed, name: beyond})
