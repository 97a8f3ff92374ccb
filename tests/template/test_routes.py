"""The published contract and the deployed routes are one list."""

import re
from collections import Counter

import yaml

from tests.template.repository import ROOT, functions

METHODS = {"get", "put", "post", "delete", "patch", "head", "options", "trace"}


def deployed() -> list[str]:
    return [route.key for function in functions() for route in function.routes]


def published() -> list[str]:
    document = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8"))
    return [f"{verb.upper()} {path}" for path, item in document["paths"].items() for verb in item if verb in METHODS]


def test_openapi_lists_the_deployed_routes() -> None:
    assert sorted(published()) == sorted(set(deployed()) - {"$default"})


def test_no_route_is_taken_twice() -> None:
    shapes = Counter(re.sub(r"{\w+}", "{}", key) for key in deployed())
    assert [key for key, times in shapes.items() if times > 1] == []


def test_what_no_route_takes_goes_to_a_function_of_ours() -> None:
    assert [function.name for function in functions() for route in function.routes if route.key == "$default"] == [
        "route_missing"
    ]
