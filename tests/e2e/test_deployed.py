"""The stack as `sam deploy` makes it, over HTTP: what the template says is what is deployed, and it works."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.callers import HttpTransport, Product
from tests.journeys.routes import JOURNEYS
from tests.template.repository import ROOT, functions, resource_name
from tools.deployment import LAMBDA_PYTHON, Deployment, deploy
from tools.ministack import ministack
from tools.tables import client


@pytest.fixture(scope="module")
def endpoint_url() -> Iterator[str]:
    with ministack(lambda_python=LAMBDA_PYTHON, environment={"AUTH": "true"}) as url:
        yield url


@pytest.fixture(scope="module")
def deployment(build: Path, endpoint_url: str) -> Deployment:
    return deploy(build, endpoint_url=endpoint_url)


@pytest.fixture(scope="module")
def product(deployment: Deployment, endpoint_url: str) -> Product:
    lambda_client = client("lambda", endpoint_url=endpoint_url)

    def schedule(name: str) -> int:
        event = (ROOT / "events" / f"{name}.json").read_bytes()
        answer = lambda_client.invoke(FunctionName=deployment.resources[resource_name(name)], Payload=event)
        result = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, result
        return int(result["done"])

    return Product(HttpTransport(deployment.url), deployment.platform_key, schedule)


@pytest.mark.parametrize("journey", JOURNEYS)
def test_a_journey_over_http(product: Product, journey: str) -> None:
    JOURNEYS[journey](product)


def test_every_function_is_deployed_with_its_layers_and_logs(deployment: Deployment, endpoint_url: str) -> None:
    lambda_client = client("lambda", endpoint_url=endpoint_url)
    for function in functions():
        name = deployment.resources[function.logical_id]
        made = lambda_client.get_function_configuration(FunctionName=name)
        assert made["Runtime"] == "python3.11"
        assert len(made["Layers"]) == 2
        assert made["LoggingConfig"]["LogGroup"] == deployment.resources[f"{function.logical_id}Logs"]
