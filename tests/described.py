"""docs/openapi.yaml as a measure: whether an answer is one that is described there, to its last member.

The description leaves answers open, since clients must bear new members. Here they are closed, so that a member which
nobody described is noticed.
"""

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from openapi_schema_validator import OAS31Validator

API: Mapping[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "docs" / "openapi.yaml").read_text("utf-8"))
METHODS = ("get", "head", "post", "put", "patch", "delete")
OPERATIONS: Mapping[str, Mapping[str, Any]] = {
    operation["operationId"]: operation
    for item in API["paths"].values()
    for method, operation in item.items()
    if method in METHODS
}
"""By the name of the function that answers."""


def resolve(node: Any) -> Any:
    """What a node stands for, if it is a reference."""
    while isinstance(node, dict) and "$ref" in node:
        found: Any = API
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def closed(node: Any) -> Any:
    """A schema without references, in which no object has a member that is not named."""
    node = resolve(node)
    if isinstance(node, list):
        return [closed(member) for member in node]
    if not isinstance(node, dict):
        return node
    made: dict[str, Any] = {}
    for part in (*map(closed, node.get("allOf", ())), node):
        for name, member in part.items():
            if name == "properties":
                made[name] = {**made.get(name, {}), **{key: closed(value) for key, value in member.items()}}
            elif name == "required":
                made[name] = [*made.get(name, ()), *member]
            elif name in ("items", "oneOf", "anyOf", "additionalProperties"):
                made[name] = closed(member)
            elif name != "allOf":
                made[name] = member
    if "properties" in made:
        made.setdefault("additionalProperties", False)
    return made


def _loads(body: bytes) -> Any:
    """JSON; of whole numbers that Python does not read for their length only the beginning, which is as whole."""
    return json.loads(body, parse_int=lambda text: int(text[:4000]))


@functools.cache
def _validator(function: str, status: str, kind: str) -> OAS31Validator:
    answer = resolve(OPERATIONS[function]["responses"][status])
    return OAS31Validator(closed(answer["content"][kind]["schema"]))


def faults(function: str, *, status: int, headers: Mapping[str, str], body: bytes) -> Iterator[str]:
    """What is not described of an answer. A defect's own, 500, is described nowhere.

    Args:
        function: Whose answer it is.
        status: Its status.
        headers: By name in lower case.
        body: Its bytes; of a HEAD none, whatever the gateway leaves out.
    """
    if status == 500:
        return
    answers = OPERATIONS[function]["responses"]
    if str(status) not in answers:
        yield f"{status} is not described: {body[:300]!r}"
        return
    answer = resolve(answers[str(status)])
    described = {name.lower(): resolve(header) for name, header in answer.get("headers", {}).items()}
    for name in headers.keys() - described.keys() - {"content-type"}:
        yield f"the header {name} is not described"
    for name, header in described.items():
        if header.get("required") and name not in headers:
            yield f"the header {name} is missing"
    kind = headers.get("content-type", "").partition(";")[0]
    if function.endswith("_head"):
        return
    if "content" not in answer:
        if body:
            yield f"a body is not described: {body[:300]!r}"
    elif kind not in answer["content"]:
        yield f"{kind} is not described"
    elif kind.endswith("json") and answer["content"][kind].get("schema") is not True:
        for error in _validator(function, str(status), kind).iter_errors(_loads(body)):
            yield f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
