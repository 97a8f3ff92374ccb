"""The built functions, each in an interpreter that has nothing else, against the emulator."""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.artifact.lambda_runtime import FunctionError, RunningFunction, running
from tests.template.repository import ROOT, functions, resource_name
from tools.serving.template import Template
from tools.tables import Resources


def sample_event(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text(encoding="utf-8"))
    return event


class Deployment:
    """Built functions, started when they are first called."""

    def __init__(self, artifact: Template, resources: Resources, stack: ExitStack) -> None:
        self._artifact = artifact
        self._functions = {function.logical_id: function for function in artifact.functions}
        self._resources = resources
        self._stack = stack
        self._running: dict[str, RunningFunction] = {}

    def start(self, name: str) -> RunningFunction:
        """The warm function that was built from a folder."""
        if name not in self._running:
            function = self._functions[resource_name(name)]
            variables = {
                key: self._artifact.resolve(value, names=self._resources.names)
                for key, value in function.environment.items()
            }
            environment = variables | {"AWS_ENDPOINT_URL": self._resources.environment["AWS_ENDPOINT_URL"]}
            process = running(function, layers=self._artifact.layers, environment=environment)
            self._running[name] = self._stack.enter_context(process)
        return self._running[name]

    def call(self, name: str, *, key: str, body: object = None, query: str | None = None) -> tuple[int, Any]:
        """Call a function with its sample event under a key; returns the status and the decoded body."""
        sample = sample_event(name)
        sample["headers"]["authorization"] = f"Bearer {key}"
        if body is not None:
            sample["body"] = json.dumps(body)
        if query is not None:
            sample["rawQueryString"] = query
            sample["queryStringParameters"] = dict(pair.split("=") for pair in query.split("&"))
        answer = self.start(name).invoke(sample)
        return answer["statusCode"], json.loads(answer["body"]) if answer.get("body") else None


@pytest.fixture
def deployment(artifact: Template, deployed: Resources) -> Iterator[Deployment]:
    with ExitStack() as stack:
        yield Deployment(artifact, deployed, stack)


def test_the_log_works_from_the_artifact(deployment: Deployment, deployed: Resources) -> None:
    platform = f"platform.{deployed.secret_values['PlatformSecret']}"
    status, tenant = deployment.call("tenant_create", key=platform)
    assert status == 201
    key = tenant["admin"]["api_key"]
    status, _ = deployment.call("log_create", key=key)
    assert status == 200

    messages = [{"key": "order-1", "seq": seq, "value": {"seq": seq}} for seq in (3, 1, 2)]
    status, enqueued = deployment.call("log_enqueue", key=key, body={"messages": messages})
    assert status == 200
    assert [(r["partition"], r["status"]) for r in enqueued["results"]] == [(2, "CREATED")] * 3
    status, page = deployment.call("log_poll", key=key, query="limit=10")
    assert status == 200
    assert [(m["seq"], m["value"]) for m in page["messages"]] == [(seq, {"seq": seq}) for seq in (1, 2, 3)]
    status, _ = deployment.call("log_commit", key=key, query="offset=3")
    assert status == 200
    status, page = deployment.call("log_poll", key=key, query="limit=10")
    assert (status, page["messages"]) == (200, [])


@pytest.mark.parametrize("name", [function.name for function in functions() if function.routes])
def test_a_built_function_starts_and_refuses_a_key_that_nobody_has(deployment: Deployment, name: str) -> None:
    """Nothing that it imports is missing from the artifact."""
    status, _ = deployment.call(name, key="nobody.nothing")
    assert status == {"health_read": 200, "route_missing": 404}.get(name, 401)


@pytest.mark.parametrize("name", [function.name for function in functions() if function.schedules])
def test_a_built_schedule_runs(deployment: Deployment, name: str) -> None:
    deployment.start(name).invoke(sample_event(name))


def test_what_is_not_shipped_cannot_be_imported(artifact: Template, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import pytest\n", encoding="utf-8")
    function = next(iter(artifact.functions))
    alone = dataclasses.replace(function, folder=tmp_path)
    with (
        running(alone, layers=artifact.layers, environment={}) as stray,
        pytest.raises(FunctionError, match="No module named 'pytest'"),
    ):
        stray.invoke({})
