"""The stack as `sam deploy` makes it, over HTTP: what the template says is what is deployed, and it works."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.template.repository import functions
from tools.deployment import LAMBDA_PYTHON, Deployment, deploy
from tools.ministack import ministack
from tools.tables import client

LOGS = "/queue/v1/namespaces/shop/queues"


@pytest.fixture(scope="module")
def endpoint_url() -> Iterator[str]:
    with ministack(lambda_python=LAMBDA_PYTHON, environment={"AUTH": "true"}) as url:
        yield url


@pytest.fixture(scope="module")
def deployment(build: Path, endpoint_url: str) -> Deployment:
    return deploy(build, endpoint_url=endpoint_url)


def call(deployment: Deployment, method: str, path: str, *, key: str | None = None, body: object = None) -> Any:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    answer = requests.request(method, deployment.url + path, json=body, headers=headers, timeout=60)
    assert answer.ok, answer.text
    return answer.json()


def test_the_log_works_over_http(deployment: Deployment) -> None:
    tenant = call(deployment, "POST", "/tenants", key=deployment.platform_key, body={"name": "acme"})
    key = tenant["admin"]["api_key"]
    call(deployment, "POST", LOGS, key=key, body={"queue": "orders", "partitions": 1})
    # The last is too big for an item.
    messages = [{"key": "k", "seq": seq, "value": "x" * length} for seq, length in ((2, 2), (1, 1), (3, 500_000))]
    call(deployment, "POST", f"{LOGS}/orders/messages", key=key, body={"messages": messages})
    page = call(deployment, "GET", f"{LOGS}/orders/partitions/0/poll", key=key)
    assert [len(message["value"]) for message in page["messages"]] == [1, 2, 500_000]


def test_what_no_route_takes_is_answered_by_us(deployment: Deployment) -> None:
    answer = requests.get(deployment.url + "/nowhere", timeout=60)
    assert answer.status_code == 404
    assert answer.json()["code"] == "route_not_found"
    assert answer.headers["X-Request-Id"]


def test_every_function_is_deployed_with_its_layers_and_logs(deployment: Deployment, endpoint_url: str) -> None:
    lambda_client = client("lambda", endpoint_url=endpoint_url)
    for function in functions():
        name = deployment.resources[function.logical_id]
        made = lambda_client.get_function_configuration(FunctionName=name)
        assert made["Runtime"] == "python3.11"
        assert len(made["Layers"]) == 2
        assert made["LoggingConfig"]["LogGroup"] == deployment.resources[f"{function.logical_id}Logs"]
