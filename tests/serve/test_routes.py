"""Which route takes a request."""

from pathlib import Path

import pytest

from tools.serving.routes import RouteTable
from tools.serving.template import Function, Route

# The example of AWS' manual, with a few more.
KEYS = [
    "GET /pets/dog/1",
    "GET /pets/dog/{id}",
    "GET /pets/{proxy+}",
    "ANY /{proxy+}",
    "ANY /pets/dog/{id}",
    "GET /{a}/{b}/last",
    "GET /",
    "$default",
]


def table(keys: list[str]) -> RouteTable:
    def function(number: int, key: str) -> Function:
        method, _, path = key.rpartition(" ")
        routes = (Route(method or "ANY", path),)
        return Function(f"F{number}", Path(f"functions/f{number}"), "app.handler", 3, 128, {}, routes, ())

    return RouteTable(function(number, key) for number, key in enumerate(keys))


@pytest.mark.parametrize(
    ("method", "path", "key", "parameters"),
    [
        ("GET", "/pets/dog/1", "GET /pets/dog/1", {}),
        ("GET", "/pets/dog/2", "GET /pets/dog/{id}", {"id": "2"}),
        ("GET", "/pets/dog/a b?#", "GET /pets/dog/{id}", {"id": "a b?#"}),
        ("GET", "/pets/cat/1", "GET /pets/{proxy+}", {"proxy": "cat/1"}),
        ("POST", "/test/5", "ANY /{proxy+}", {"proxy": "test/5"}),
        ("POST", "/pets/dog/1", "ANY /pets/dog/{id}", {"id": "1"}),  # a full match, if only of any method
        ("GET", "/pets/dog/last", "GET /pets/dog/{id}", {"id": "last"}),
        ("GET", "/pets/x/last", "GET /{a}/{b}/last", {"a": "pets", "b": "x"}),  # full before greedy
        ("GET", "/", "GET /", {}),
        ("POST", "/", "$default", {}),
        ("BREW", "/pot", "ANY /{proxy+}", {"proxy": "pot"}),
        ("GET", "/pets/dog/1/", "GET /pets/{proxy+}", {"proxy": "dog/1/"}),
    ],
)
def test_the_most_specific_route_of_the_method_wins(
    method: str, path: str, key: str, parameters: dict[str, str]
) -> None:
    for keys in (KEYS, KEYS[::-1]):
        match = table(keys).match(method, path=path)
        assert match is not None
        assert match.route.key == key
        assert match.path_parameters == parameters


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/a"),
        ("HEAD", "/a"),
        ("get", "/a"),
        ("GET", "/a/"),
        ("GET", "//a"),
        ("GET", "/b/"),
        ("GET", "/b"),
        ("GET", "/b/c/d"),
        ("GET", "/c"),
        ("GET", "/c/"),
        ("GET", ""),
        ("GET", "a"),
    ],
)
def test_without_a_default_route_the_rest_matches_nothing(method: str, path: str) -> None:
    assert table(["GET /a", "GET /b/{x}", "GET /c/{x+}"]).match(method, path=path) is None
