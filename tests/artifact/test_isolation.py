"""The built functions at work: everything they import is in the artifact, and their roles allow all that they do."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.artifact.built import Built, built
from tests.artifact.lambda_runtime import FunctionError, running
from tests.template.repository import ROOT, functions, resource_name
from tools.serving.template import Template
from tools.tables import client

LOGS = "/queue/v1/namespaces/shop/queues"


@pytest.fixture(scope="module")
def product(artifact: Template) -> Iterator[Built]:
    with built(artifact) as product:
        yield product


def resources(*prefixes: str) -> set[str]:
    """The names of the built functions whose folders begin like this, as the gateway knows them."""
    return {resource_name(f.name) for f in functions() if f.routes and f.name.startswith(prefixes)}


def test_service_and_tenants(product: Built) -> None:
    anybody = product.caller(None)
    anybody("GET", "/health")
    anybody("GET", "/nowhere", expect=404)
    platform = product.platform()
    platform("GET", "/whoami")
    (admin, tenant_id), (_, other) = (product.tenant() for _ in range(2))
    page = platform("GET", "/tenants?limit=1")
    platform("GET", f"/tenants?limit=1&next_token={page['next_token']}")
    platform("GET", f"/tenants/{tenant_id}")
    for caller in (platform, admin):
        caller("POST", f"/tenants/{tenant_id}/rotate-key")
    admin("POST", LOGS, body={"queue": "orders"})
    platform("DELETE", f"/tenants/{tenant_id}", expect=409)
    platform("DELETE", f"/tenants/{other}", expect=204)
    assert resources("tenant_", "health_", "whoami_", "route_") <= product.taken


def test_clients(product: Built) -> None:
    admin, _ = product.tenant()
    allowed = {"permissions": [{"queues": "*", "actions": ["consume"]}]}
    made = [admin("POST", "/clients", body={"name": name, **allowed}, expect=201) for name in ("a", "b")]
    page = admin("GET", "/clients?limit=1")
    admin("GET", f"/clients?limit=1&next_token={page['next_token']}")
    client_id = made[0]["client_id"]
    admin("GET", f"/clients/{client_id}")
    admin("PATCH", f"/clients/{client_id}", body=allowed)
    admin("POST", f"/clients/{client_id}/rotate")
    admin("DELETE", f"/clients/{client_id}", expect=204)
    assert resources("client_") <= product.taken


def test_logs(product: Built) -> None:
    admin, _ = product.tenant()
    for queue in ("orders", "returns"):
        admin("POST", LOGS, body={"queue": queue, "partitions": 1})
    page = admin("GET", f"{LOGS}?limit=1")
    admin("GET", f"{LOGS}?limit=1&next_token={page['next_token']}")
    orders = f"{LOGS}/orders"
    admin("GET", orders)
    admin("GET", f"{orders}/partitions")
    # The last is too big for an item.
    messages = [{"key": "k", "seq": seq, "value": "x" * length} for seq, length in ((2, 2), (1, 1), (3, 500_000))]
    for _ in range(2):
        enqueued = admin("POST", f"{orders}/messages", body={"messages": messages}, idempotency_key="once")
        assert enqueued["accepted"] == 3
    admin("GET", f"{orders}/stats")
    page = admin("GET", f"{orders}/partitions/0/poll?limit=2")
    assert [message["value"] for message in page["messages"]] == ["x", "xx"]
    rest = admin("GET", f"{orders}/partitions/0/poll?cursor={page['cursor']}")
    assert [len(message["value"]) for message in rest["messages"]] == [500_000]
    for cursor in (page["cursor"], rest["cursor"]):
        admin("DELETE", f"{orders}/partitions/0/messages?cursor={cursor}")
    assert admin("GET", f"{orders}/partitions/0/poll")["messages"] == []

    admin("POST", f"{orders}/messages", body={"messages": messages})
    admin("PUT", f"{orders}/disable")
    admin("PUT", f"{orders}/enable")
    admin("PUT", f"{orders}/disable")
    admin("DELETE", orders, expect=204)
    sweep = next(function for function in product.functions.template.functions if function.logical_id == "QueueSweep")
    event = json.loads((ROOT / "events" / "queue_sweep.json").read_text(encoding="utf-8"))
    assert product.functions.start(sweep).invoke(event) == {"done": 1}
    assert resources("log_") <= product.taken


def test_time_series(product: Built) -> None:
    admin, _ = product.tenant()
    settings = {"interval_seconds": 60, "aggregation_fields": ["p"], "timestamp_field": "at", "primary_key": ["id"]}
    limits = {"max_buckets": 3, "max_message_age_seconds": 10**8}
    admin("POST", "/queues", body={"name": "s", "type": "time_series", "settings": {**settings, **limits}}, expect=201)
    points = [{"id": key, "p": 1, "at": f"2026-11-30T09:0{minute}:00Z"} for key in "ab" for minute in range(5)]
    admin("POST", "/queues/s/messages", body=points[0], expect=201)
    for _ in range(2):
        admin("POST", "/queues/s/messages", body=points[0], idempotency_key="once", expect=201)
    assert admin("POST", "/queues/s/messages/batch", body={"messages": points})["accepted"] == 10
    admin("PATCH", "/queues/s", body={"settings": {"max_buckets": 2}})
    page = admin("GET", "/queues/s/buckets?primary_key=a&limit=1")
    admin("GET", f"/queues/s/buckets?primary_key=a&limit=1&next_token={page['next_token']}")
    page = admin("GET", "/queues/s/buckets/keys?limit=1")
    admin("GET", f"/queues/s/buckets/keys?limit=1&next_token={page['next_token']}")
    admin("GET", "/queues/s/buckets/latest?primary_key=b")
    assert admin("GET", "/queues/s/stats")["series"] == 2
    admin("DELETE", "/queues/s/buckets?primary_key=a", expect=204)
    admin("DELETE", "/queues/s/buckets", expect=204)
    for method, path, status in (("POST", "/queues/s/purge", 202), ("DELETE", "/queues/s", 204)):
        admin("POST", "/queues/s/messages/batch", body={"messages": points})
        admin(method, path, expect=status)
    sweep = next(function for function in product.functions.template.functions if function.logical_id == "QueueSweep")
    event = json.loads((ROOT / "events" / "queue_sweep.json").read_text(encoding="utf-8"))
    product.functions.start(sweep).invoke(event)
    assert resources("bucket_") <= product.taken


@pytest.mark.parametrize("name", [function.name for function in functions() if function.routes])
def test_a_sample_event_meets_its_function(product: Built, name: str) -> None:
    """With a key that nobody has: whoever is not open to all refuses it."""
    function = next(f for f in product.functions.template.functions if f.logical_id == resource_name(name))
    event = json.loads((ROOT / "events" / f"{name}.json").read_text(encoding="utf-8"))
    answer = product.functions.start(function).invoke(event)
    assert answer["statusCode"] == {"health_read": 200, "route_missing": 404}.get(name, 401)


def test_a_right_that_is_missing_shows(product: Built) -> None:
    """Without it the tests above would say nothing about rights."""
    admin, _ = product.tenant()
    admin("POST", LOGS, body={"queue": "orders", "partitions": 1})
    admin("GET", f"{LOGS}/orders/stats")
    iam = client("iam", endpoint_url=product.functions.resources.environment["AWS_ENDPOINT_URL"])
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
