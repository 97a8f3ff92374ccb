"""The built functions at work: everything they import is in the artifact, and their roles allow all that they do."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.artifact.built import Built, built_product
from tests.artifact.lambda_runtime import FunctionError, running
from tests.journeys.routes import JOURNEYS
from tests.template.repository import ROOT, functions, resource_name
from tools.serving.template import Template
from tools.tables import client

LOGS = "/queue/v1/namespaces/shop/queues"


@pytest.fixture(scope="module")
def built(artifact: Template) -> Iterator[Built]:
    with built_product(artifact) as built:
        yield built


@pytest.mark.parametrize("journey", JOURNEYS)
def test_a_journey(built: Built, journey: str) -> None:
    JOURNEYS[journey](built.product)


@pytest.mark.parametrize("name", [function.name for function in functions() if function.routes])
def test_a_sample_event_meets_its_function(built: Built, name: str) -> None:
    """With a key that nobody has: whoever is not open to all refuses it."""
    function = next(f for f in built.functions.template.functions if f.logical_id == resource_name(name))
    event = json.loads((ROOT / "events" / f"{name}.json").read_text(encoding="utf-8"))
    answer = built.functions.start(function).invoke(event)
    assert answer["statusCode"] == {"health_read": 200, "route_missing": 404}.get(name, 401)


@pytest.mark.parametrize("name", [function.name for function in functions() if function.schedules])
def test_a_schedule_runs(built: Built, name: str) -> None:
    assert built.run(name) >= 0


def test_a_right_that_is_missing_shows(built: Built) -> None:
    """Without it the tests above would say nothing about rights."""
    admin, _ = built.product.tenant()
    admin("POST", LOGS, body={"queue": "orders", "partitions": 1})
    admin("GET", f"{LOGS}/orders/stats")
    iam = client("iam", endpoint_url=built.functions.resources.environment["AWS_ENDPOINT_URL"])
    iam.delete_role_policy(RoleName="LogStats", PolicyName="own")
    admin("GET", f"{LOGS}/orders/stats", expect=500)


def test_what_is_not_shipped_cannot_be_imported(artifact: Template, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import pytest\n", encoding="utf-8")
    stray = dataclasses.replace(artifact.functions[0], folder=tmp_path)
    with (
        running(stray, layers=artifact.layers, environment={}) as function,
        pytest.raises(FunctionError, match="No module named 'pytest'"),
    ):
        function.invoke({})
