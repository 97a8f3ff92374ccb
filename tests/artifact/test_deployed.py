"""The stack as `sam deploy` makes it, over HTTP, with the rights of each function's role enforced.

Every route is called so that it does all that it can do; what its role lacks would be a 5xx.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.template.repository import functions
from tools.deployment import LAMBDA_PYTHON, Deployment, deploy
from tools.ministack import ministack
from tools.tables import client

QUEUES = "/queue/v1/namespaces/shop/queues"


@dataclass
class Stack:
    """A deployed stack and its platform administrator."""

    deployment: Deployment
    endpoint_url: str
    platform_key: str

    def call(self, method: str, path: str, *, key: str | None = None, body: object = None, **headers: str) -> Any:
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        return requests.request(method, self.deployment.url + path, json=body, headers=headers, timeout=60)


@pytest.fixture(scope="module")
def stack(build: Path) -> Iterator[Stack]:
    with ministack(lambda_python=LAMBDA_PYTHON, environment={"AUTH": "true"}) as url:
        deployment = deploy(build, endpoint_url=url)
        secrets = client("secretsmanager", endpoint_url=url)
        secret = secrets.get_secret_value(SecretId=deployment.resources["PlatformSecret"])["SecretString"]
        yield Stack(deployment, url, f"platform.{secret}")


def test_every_route_has_the_rights_it_needs(stack: Stack) -> None:
    called: list[str] = []

    def call(name: str, path: str, *, expect: int, **arguments: Any) -> Any:
        method = next(function.routes[0].method for function in functions() if function.name == name)
        answer = stack.call("GET" if method == "ANY" else method, path, **arguments)
        assert answer.status_code == expect, f"{name}: {answer.status_code} {answer.text}"
        called.append(name)
        return answer.json() if answer.content else None

    call("health_read", "/health", expect=200)
    call("route_missing", "/nowhere", expect=404)
    platform = {"key": stack.platform_key}
    call("whoami_read", "/whoami", expect=200, **platform)
    tenants = [call("tenant_create", "/tenants", expect=201, body={"name": name}, **platform) for name in ("a", "b")]
    page = call("tenant_list", "/tenants?limit=1", expect=200, **platform)
    call("tenant_list", f"/tenants?limit=1&next_token={page['next_token']}", expect=200, **platform)
    tenant, tenant_id = tenants[0], tenants[0]["tenant_id"]
    admin = {"key": tenant["admin"]["api_key"]}
    call("tenant_read", f"/tenants/{tenant_id}", expect=200, **platform)
    call("tenant_rotate_key", f"/tenants/{tenant_id}/rotate-key", expect=200, **platform)
    call("tenant_rotate_key", f"/tenants/{tenant_id}/rotate-key", expect=200, **admin)

    allowed = {"permissions": [{"queues": "shop/*", "actions": ["publish", "consume"]}]}
    made = [call("client_create", "/clients", expect=201, body={"name": "c", **allowed}, **admin) for _ in range(2)]
    page = call("client_list", "/clients?limit=1", expect=200, **admin)
    call("client_list", f"/clients?limit=1&next_token={page['next_token']}", expect=200, **admin)
    path = f"/clients/{made[0]['client_id']}"
    call("client_read", path, expect=200, **admin)
    call("client_update", path, expect=200, body=allowed, **admin)
    client_key = {"key": call("client_rotate", f"{path}/rotate", expect=200, **admin)["api_key"]}

    for queue in ("orders", "returns"):
        call("log_create", QUEUES, expect=200, body={"queue": queue, "partitions": 1}, **admin)
    page = call("log_list", f"{QUEUES}?limit=1", expect=200, **admin)
    call("log_list", f"{QUEUES}?limit=1&next_token={page['next_token']}", expect=200, **admin)
    orders, messages = (
        f"{QUEUES}/orders",
        [{"key": "k", "seq": seq, "value": "v" * 500_000 * (seq % 2)} for seq in range(4)],
    )
    call("log_read", orders, expect=200, **client_key)
    call("log_partitions", f"{orders}/partitions", expect=200, **client_key)
    for _ in range(2):
        headers = {"Idempotency-Key": "once"}
        call("log_enqueue", f"{orders}/messages", expect=200, body={"messages": messages}, **client_key, **headers)
    call("log_stats", f"{orders}/stats", expect=200, **client_key)
    page = call("log_poll", f"{orders}/partitions/0/poll?limit=2", expect=200, **client_key)
    assert [message["seq"] for message in page["messages"]] == [0, 1]
    rest = call("log_poll", f"{orders}/partitions/0/poll?cursor={page['cursor']}", expect=200, **client_key)
    assert [len(message["value"]) for message in rest["messages"]] == [0, 500_000]
    done = call("log_commit", f"{orders}/partitions/0/messages?cursor={page['cursor']}", expect=200, **client_key)
    assert done["committed"] == 2

    call("log_disable", f"{orders}/disable", expect=200, **admin)
    call("log_enable", f"{orders}/enable", expect=200, **admin)
    call("log_disable", f"{orders}/disable", expect=200, **admin)
    call("log_delete", orders, expect=204, **admin)
    assert invoke(stack, "LogSweep") == {"done": 2}
    call("client_delete", f"/clients/{made[1]['client_id']}", expect=204, **admin)
    call("tenant_delete", f"/tenants/{tenant_id}", expect=409, **platform)
    call("tenant_delete", f"/tenants/{tenants[1]['tenant_id']}", expect=204, **platform)
    assert set(called) == {function.name for function in functions() if function.routes}


def invoke(stack: Stack, resource: str) -> Any:
    lambda_client = client("lambda", endpoint_url=stack.endpoint_url)
    answer = lambda_client.invoke(FunctionName=stack.deployment.resources[resource], Payload=b'{"id": "test"}')
    payload = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, payload
    return payload


def test_a_right_that_is_missing_shows(stack: Stack) -> None:
    """Without it the test above would prove nothing."""
    roles = client("iam", endpoint_url=stack.endpoint_url)
    role = stack.deployment.resources["TenantReadRole"]
    for policy in roles.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
        if "Authenticates" in policy["PolicyName"]:
            roles.detach_role_policy(RoleName=role, PolicyArn=policy["PolicyArn"])
    answer = stack.call("GET", "/tenants/01KB9Z5N6V4T8R2QWXYZ0ABCDE", key=stack.platform_key)
    assert answer.status_code >= 500
