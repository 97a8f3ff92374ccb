"""Picks the route of a request as an HTTP API does.

The order of preference is the one of "Create routes for HTTP APIs in API Gateway": a full match of path and method,
then the longest route with a greedy variable, then `$default`. Among full matches a written segment beats a variable,
from left to right, and a named method beats `ANY`. A path must match to its last slash: `/pets/` is not `/pets`, and no
variable takes an empty segment.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tools.serving.template import DEFAULT_ROUTE, Function, Route


@dataclass(frozen=True)
class Match:
    """The function a request goes to, by which route, and what the path variables hold."""

    function: Function
    route: Route
    path_parameters: Mapping[str, str]


class RouteTable:
    """All routes of the template, the most specific first."""

    def __init__(self, functions: Iterable[Function]) -> None:
        every = [(route, function) for function in functions for route in function.routes]
        self._entries = sorted((e for e in every if e[0].path != DEFAULT_ROUTE), key=lambda e: _specificity(e[0]))
        self._default = next((e for e in every if e[0].path == DEFAULT_ROUTE), None)

    def match(self, method: str, *, path: str) -> Match | None:
        """The route of a request, or None if there is not even a `$default`.

        Args:
            method: The request's method, as sent.
            path: The decoded path without the stage, beginning with a slash.
        """
        for route, function in self._entries:
            if route.method in (method, "ANY"):
                parameters = _parameters(route.path, path)
                if parameters is not None:
                    return Match(function, route, parameters)
        if self._default is None:
            return None
        route, function = self._default
        return Match(function, route, {})


def _specificity(route: Route) -> tuple[bool, tuple[int, ...], bool]:
    segments = route.path.split("/")
    weights = tuple(2 if s.endswith("+}") else 1 if s.startswith("{") else 0 for s in segments)
    return 2 in weights, weights, route.method == "ANY"


def _parameters(pattern: str, path: str) -> dict[str, str] | None:
    wanted, given = pattern.split("/"), path.split("/")
    parameters: dict[str, str] = {}
    for index, segment in enumerate(wanted):
        if segment.endswith("+}"):
            rest = "/".join(given[index:])
            if not rest:
                return None
            return {**parameters, segment[1:-2]: rest}
        if index >= len(given):
            return None
        if segment.startswith("{"):
            if not given[index]:
                return None
            parameters[segment[1:-1]] = given[index]
        elif segment != given[index]:
            return None
    return parameters if len(wanted) == len(given) else None
