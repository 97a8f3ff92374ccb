"""docs/openapi.yaml: valid, the same routes as template.yaml, the same codes as docs/errors.md, examples that fit."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.described import API, METHODS, resolve
from tests.docs.error_table import rows
from tools.serving.template import DEFAULT_ROUTE, read_template

ROOT = Path(__file__).parents[2]
TEMPLATE = read_template(ROOT / "template.yaml")
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, item in API["paths"].items()
    for method, operation in item.items()
    if method in METHODS
}

UNDESCRIBED = {
    "internal_error",  # a defect; a test that meets it has to fail
    "route_not_found",  # the answer where there is no route to describe
}
"""Codes of errors.md that no route's description names, with the reason."""

FREE_FORM = {"message_publish", "document_upload"}
"""Operations whose body is a payload, which has whatever members the caller likes, or a file."""


def test_is_valid_openapi() -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(API).iter_errors()] == []


def test_operations_are_named_after_their_functions() -> None:
    routes = {
        route.key: function.name
        for function in TEMPLATE.functions
        for route in function.routes
        if route.path != DEFAULT_ROUTE
    }
    assert {key: operation["operationId"] for key, operation in OPERATIONS.items()} == routes


def test_version_is_the_deployed_one() -> None:
    versions = {function.environment["TOWPATH_VERSION"] for function in TEMPLATE.functions}
    assert versions == {API["info"]["version"]}


@pytest.mark.parametrize("key", OPERATIONS)
def test_path_parameters_are_described(key: str) -> None:
    path = key.split()[1]
    named = {part[1:-1] for part in path.split("/") if part.startswith("{")}
    parameters = [resolve(p) for p in (*API["paths"][path].get("parameters", ()), *_parameters(key))]
    assert {p["name"] for p in parameters if p["in"] == "path"} == named


@pytest.mark.parametrize("key", OPERATIONS)
def test_every_answer_has_its_headers(key: str) -> None:
    for status, answer in _answers(key):
        assert "X-Request-Id" in answer["headers"], status
        assert ("Retry-After" in answer["headers"]) == (status in ("429", "503")), status


@pytest.mark.parametrize("key", OPERATIONS)
def test_every_failure_is_a_problem_with_known_codes(key: str) -> None:
    status_of = {row.code: str(row.status) for row in rows()}
    for status, answer in _answers(key):
        if status.startswith(("2", "3")):
            assert "application/problem+json" not in answer.get("content", {})
            continue
        schema = answer["content"]["application/problem+json"]["schema"]
        assert schema["allOf"] == [{"$ref": "#/components/schemas/Problem"}]
        codes = schema["properties"]["code"]["enum"]
        assert {code: status_of.get(code) for code in codes} == dict.fromkeys(codes, status)
        assert [code for code in codes if f"`{code}`" not in answer["description"]] == []


@pytest.mark.parametrize("key", OPERATIONS)
def test_every_route_with_a_key_can_refuse_it_and_be_unavailable(key: str) -> None:
    statuses = {status for status, _ in _answers(key)}
    if OPERATIONS[key].get("security") == []:
        assert statuses == {"200"}
    else:
        assert statuses >= {"401", "503"}


def test_every_code_is_described_somewhere() -> None:
    described = {
        code
        for key in OPERATIONS
        for status, answer in _answers(key)
        if not status.startswith(("2", "3"))
        for code in answer["content"]["application/problem+json"]["schema"]["properties"]["code"]["enum"]
    }
    assert {row.code for row in rows()} - described <= UNDESCRIBED


def test_request_bodies_refuse_unknown_members() -> None:
    described = [operation for operation in OPERATIONS.values() if operation["operationId"] not in FREE_FORM]
    bodies = [operation["requestBody"] for operation in described if "requestBody" in operation]
    assert bodies
    for body in bodies:
        assert resolve(body["content"]["application/json"]["schema"])["additionalProperties"] is False


def test_every_component_is_used() -> None:
    text = (ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8")
    defined = {f"#/components/{kind}/{name}" for kind, things in API["components"].items() for name in things} - {
        "#/components/securitySchemes/key"
    }
    assert {name for name in defined if f'"{name}"' not in text} == set()


def _examples() -> Iterator[tuple[str, Any, Any]]:
    def walk(node: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
        if isinstance(node, list):
            for index, member in enumerate(node):
                yield from walk(member, f"{where}/{index}")
        if not isinstance(node, dict):
            return
        if "schema" in node:
            if "example" in node:
                yield f"{where}/example", node["schema"], node["example"]
            for name, example in node.get("examples", {}).items():
                yield f"{where}/examples/{name}", node["schema"], example["value"]
        elif isinstance(node.get("examples"), list):  # a schema's own
            for index, example in enumerate(node["examples"]):
                yield f"{where}/examples/{index}", node, example
        for name, member in node.items():
            if name not in ("example", "examples"):
                yield from walk(member, f"{where}/{name}")

    yield from walk(API, "")


EXAMPLES = list(_examples())


@pytest.mark.parametrize(("schema", "example"), [e[1:] for e in EXAMPLES], ids=[e[0] for e in EXAMPLES])
def test_examples_fit_their_schemas(schema: Any, example: Any) -> None:
    validator = OAS31Validator({**schema, "components": API["components"]})
    assert [error.message for error in validator.iter_errors(example)] == []


def _answers(key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for status, answer in OPERATIONS[key]["responses"].items():
        yield status, resolve(answer)


def _parameters(key: str) -> list[Any]:
    return list(OPERATIONS[key].get("parameters", ()))
