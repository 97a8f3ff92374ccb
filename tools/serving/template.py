"""Reads functions, routes, schedules, layers and environment out of a SAM template.

Only what the local server needs is understood: `AWS::Serverless::Function` with `HttpApi`, `Schedule` and `ScheduleV2`
events, `Globals.Function`, layers by `!Ref`, parameters by their defaults, and the intrinsic functions that name other
resources (`Ref`, `GetAtt`, `Sub`, `Join`). Everything else in the template is left alone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

ANY_METHODS = frozenset({"ANY", "X-AMAZON-APIGATEWAY-ANY-METHOD"})
DEFAULT_ROUTE = "$default"
DEFAULT_TIMEOUT_SECONDS = 3  # Lambda's own defaults
DEFAULT_MEMORY_MB = 128


class TemplateError(Exception):
    """The template says something the local server cannot follow."""


@dataclass(frozen=True)
class Route:
    """A method and path that call a function; method `ANY` takes every method, path `$default` everything left over."""

    method: str
    path: str

    @property
    def key(self) -> str:
        """The route key as events carry it, such as `GET /pets/{pet}`."""
        return DEFAULT_ROUTE if self.path == DEFAULT_ROUTE else f"{self.method} {self.path}"


@dataclass(frozen=True)
class Schedule:
    """A schedule of a function: its expression as written, and the constant input that replaces the event, if any."""

    name: str
    expression: str
    scheduler: bool  # of EventBridge Scheduler (ScheduleV2), whose events differ a little from a rule's
    input: str | None


@dataclass(frozen=True)
class Function:
    """One function of the template; `environment` still holds intrinsic functions (see `Template.resolve`)."""

    logical_id: str
    folder: Path
    handler: str
    timeout_seconds: int
    memory_mb: int
    environment: Mapping[str, Any]
    routes: tuple[Route, ...]
    schedules: tuple[Schedule, ...]

    @property
    def name(self) -> str:
        """The name of the function's folder, such as `log_enqueue`."""
        return self.folder.name


@dataclass(frozen=True)
class Template:
    """What the local server takes from template.yaml."""

    functions: tuple[Function, ...]
    layers: tuple[Path, ...]  # folders to put on the import path
    resources: Mapping[str, Mapping[str, Any]]
    parameters: Mapping[str, str]  # defaults
    stage: str

    def resources_of(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """The properties of all resources of one CloudFormation type, by logical id."""
        return {name: r.get("Properties") or {} for name, r in self.resources.items() if r["Type"] == kind}

    def resolve(self, node: object, *, names: Mapping[str, str]) -> str:
        """The text an expression of the template stands for.

        Args:
            node: A plain value, or an intrinsic function as the loader leaves it, such as `{"Ref": "EdgesTable"}`.
            names: What `Ref` and `GetAtt` of each resource give, by logical id, or by `LogicalId.Attribute`
                where an attribute differs; pseudo parameters (`AWS::Region`) too.

        Raises:
            TemplateError: The expression uses something else, or names what is not known.
        """
        if isinstance(node, bool):
            return "true" if node else "false"
        if isinstance(node, str | int | float):
            return str(node)
        if isinstance(node, dict) and len(node) == 1:
            function, argument = next(iter(node.items()))
            if function == "Ref":
                return self._named(argument, names)
            if function == "Fn::GetAtt":
                return self._named(argument if isinstance(argument, str) else ".".join(argument), names)
            if function == "Fn::Sub":
                text, local = (argument, {}) if isinstance(argument, str) else argument
                return re.sub(
                    r"\$\{([^!}]+)\}",
                    lambda m: self.resolve(local[m[1]], names=names) if m[1] in local else self._named(m[1], names),
                    text,
                )
            if function == "Fn::Join":
                return str(argument[0]).join(self.resolve(part, names=names) for part in argument[1])
        raise TemplateError(f"cannot follow {node!r}")

    def _named(self, name: str, names: Mapping[str, str]) -> str:
        for known in (names, self.parameters):
            for candidate in (name, name.split(".")[0]):
                if candidate in known:
                    return known[candidate]
        raise TemplateError(f"nothing is known as {name}")


def read_template(path: Path) -> Template:
    """Read a SAM template.

    Raises:
        TemplateError: The file is no template, or lacks what the server needs.
    """
    document = read_document(path)
    resources: dict[str, dict[str, Any]] = document["Resources"]
    common = (document.get("Globals") or {}).get("Function") or {}
    root = path.parent
    layers = [
        root / r["Properties"]["ContentUri"] for r in resources.values() if r["Type"] == "AWS::Serverless::LayerVersion"
    ]
    stages = [
        (r.get("Properties") or {}).get("StageName", DEFAULT_ROUTE)
        for r in resources.values()
        if r["Type"] == "AWS::Serverless::HttpApi"
    ]
    parameters = {
        name: str(p["Default"]) for name, p in (document.get("Parameters") or {}).items() if "Default" in (p or {})
    }
    template = Template(
        functions=tuple(
            _function(name, r.get("Properties") or {}, common=common, root=root)
            for name, r in resources.items()
            if r["Type"] == "AWS::Serverless::Function"
        ),
        layers=tuple(layers),
        resources=resources,
        parameters=parameters,
        stage=DEFAULT_ROUTE,
    )
    stage = template.resolve(stages[0], names={}) if stages else DEFAULT_ROUTE
    return Template(template.functions, template.layers, template.resources, template.parameters, stage)


def read_document(path: Path) -> dict[str, Any]:
    """All of a template, its intrinsic functions in the long form.

    Raises:
        TemplateError: The file is no template.
    """
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    if not isinstance(document, dict) or not isinstance(document.get("Resources"), dict):
        raise TemplateError(f"{path} has no Resources")
    return document


def _function(logical_id: str, own: Mapping[str, Any], *, common: Mapping[str, Any], root: Path) -> Function:
    settings = {**common, **own}
    for required in ("CodeUri", "Handler"):
        if required not in settings:
            raise TemplateError(f"{logical_id} has no {required}")
    variables = {
        name: value
        for source in (common, own)
        for name, value in ((source.get("Environment") or {}).get("Variables") or {}).items()
    }
    events = (own.get("Events") or {}).items()
    return Function(
        logical_id=logical_id,
        folder=root / settings["CodeUri"],
        handler=settings["Handler"],
        timeout_seconds=int(settings.get("Timeout", DEFAULT_TIMEOUT_SECONDS)),
        memory_mb=int(settings.get("MemorySize", DEFAULT_MEMORY_MB)),
        environment=variables,
        routes=tuple(_route(e.get("Properties") or {}) for _, e in events if e["Type"] == "HttpApi"),
        schedules=tuple(
            _schedule(f"{logical_id}{name}", e["Type"], e.get("Properties") or {})
            for name, e in events
            if e["Type"] in ("Schedule", "ScheduleV2")
        ),
    )


def _route(properties: Mapping[str, Any]) -> Route:
    path, method = properties.get("Path", DEFAULT_ROUTE), str(properties.get("Method", "ANY")).upper()
    return Route(method="ANY" if method in ANY_METHODS else method, path=path)


def _schedule(name: str, kind: str, properties: Mapping[str, Any]) -> Schedule:
    scheduler = kind == "ScheduleV2"
    expression = properties["ScheduleExpression" if scheduler else "Schedule"]
    return Schedule(name=name, expression=expression, scheduler=scheduler, input=properties.get("Input"))


class _Loader(yaml.SafeLoader):
    """Reads `!Ref x` as `{"Ref": x}` and `!Sub x` as `{"Fn::Sub": x}`, the long forms of the same."""


def _intrinsic(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(cast("yaml.MappingNode", node), deep=True)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _intrinsic)
