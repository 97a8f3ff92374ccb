"""docs/openapi.yaml against the running server: whatever is sent, the answer is one that is described there.

Requests are made from the description by schemathesis, good ones and ones with something wrong with them, for every
route. They name queues, items and documents that exist, each route those of the type it is about.
"""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks as described

from tests.described import faults
from tests.journeys.callers import Caller, HttpTransport, Product
from tests.serve.process import ROOT, running
from tests.template.repository import functions

EXAMPLES = 6
API = schemathesis.openapi.from_path(ROOT / "docs" / "openapi.yaml")
OPERATIONS = {
    found.ok().definition.raw["operationId"]: found.ok() for found in API.get_all_operations() if isinstance(found, Ok)
}
CHECKS = [
    described.status_code_conformance,
    described.content_type_conformance,
    described.response_headers_conformance,
    described.response_schema_conformance,
]
GATEWAY = {"apigw-requestid", "connection", "content-length", "date", "server"}
"""Headers that the gateway adds."""

SETTINGS: dict[str, dict[str, Any]] = {
    "one_to_one": {"visibility_key": ["k"], "max_deliveries": 2},
    "one_to_many": {"primary_key": ["k"], "max_deliveries": 2},
    "key_value": {"primary_key": ["k"], "on_duplicate": "replace"},
    "stream_to_one": {"lookup_queue": "key_value", "foreign_key": ["k"], "missing_lookup": "defer"},
    "stream_to_many": {"lookup_queue": "key_value", "foreign_key": ["k"], "missing_lookup": "reject"},
    "time_series": {"interval_seconds": 60, "aggregation_fields": ["n"]},
    "document": {"allow_subscriptions": True},
    "text_document": {},
}
load_all_checks()


@dataclass(frozen=True)
class Running:
    """The server, with something of every kind in it.

    Attributes:
        url: Where it listens.
        keys: API keys, by role.
        names: What path parameters may be, by name; by `function.name` where a function must not have them all.
    """

    url: str
    keys: dict[str, str]
    names: dict[str, list[str]] = field(default_factory=dict)

    def choices(self, function: str, name: str) -> list[str]:
        """What a path parameter of a function may be."""
        kinds = {"item": ["key_value"], "bucket": ["time_series"], "consumer": ["one_to_many"]}
        kinds |= {"document": ["document", "text_document"], "subscription": ["document"], "subscriber": ["document"]}
        noun = function.split("_")[0]
        if name == "queue" and noun == "log":
            return ["doomed" if function in ("log_delete", "log_disable") else "orders"]
        if name == "queue":
            found = [f"doomed-{kind}" for kind in SETTINGS] if function in ("queue_delete", "queue_disable") else []
            return found or kinds.get(noun, list(SETTINGS))
        return self.names.get(name, ["nowhere"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("project")
    for name in ("functions", "layers", "shared"):
        (folder / name).symlink_to(ROOT / name)
    with running(Path(shutil.copy(ROOT / "template.yaml", folder))) as process:
        assert process.process.stdout is not None
        # A line per request: somebody has to take them, or the server waits for it.
        threading.Thread(target=process.process.stdout.read, daemon=True).start()
        kept = process.credentials()
        product = Product(HttpTransport(kept["url"]), kept["platform_key"], lambda _: 0)
        admin = product.caller(kept["tenant_key"])
        found = Running(kept["url"], {"platform": kept["platform_key"], "tenant": kept["tenant_key"]})
        found.names.update(_fill(admin, tenant_id=kept["tenant_id"]))
        yield found


def _fill(admin: Caller, *, tenant_id: str) -> dict[str, list[str]]:
    """Make something of everything; returns the path parameters that name it."""
    for log in ("orders", "doomed"):
        admin("POST", "/queue/v1/namespaces/shop/queues", body={"queue": log, "partitions": 2})
    for kind, given_settings in SETTINGS.items():
        for name in (kind, f"doomed-{kind}"):
            admin("POST", "/queues", body={"name": name, "type": kind, "settings": given_settings}, expect=201)
    sent = [admin("POST", "/queues/one_to_many/messages", body={"k": k}, expect=201)["message_id"] for k in range(4)]
    admin("POST", "/queues/key_value/messages", body={"k": "a"}, expect=201)
    admin("POST", "/queues/time_series/messages", body={"n": 1}, expect=201)
    named = {"x_document_name": "n", "x_document_description": "d"}
    uploaded = [
        json.loads(admin.ask("POST", f"/queues/{queue}/documents", body=b"{}", content_type=kind, **named).body)
        for queue, kind in (("document", "application/json"), ("text_document", "text/plain"))
    ]
    client = admin("POST", "/clients", body={"name": "c", "permissions": []}, expect=201)["client_id"]
    return {
        "namespace": ["shop"],
        "partition": ["0", "1"],
        "tenant_id": [tenant_id],
        "client_id": [client],
        "message_id": sent,
        "key": ["a", "b"],
        "document_id": [*(one["document_id"] for one in uploaded), "01JT7PYQ3W6B8Z2N4X5C7V9M1K"],
    }


CASES = [(function, GenerationMode.POSITIVE) for function in OPERATIONS] + [
    (function, GenerationMode.NEGATIVE)
    for function, operation in OPERATIONS.items()
    if [*operation.query, *operation.body]  # else there is nothing that could be wrong
]


@pytest.mark.parametrize(("function", "mode"), CASES, ids=[f"{function}-{mode.value}" for function, mode in CASES])
def test_answers_are_as_described(server: Running, function: str, mode: GenerationMode) -> None:
    operation = OPERATIONS[function]
    anybody = operation.definition.raw.get("security") == []
    key = server.keys["platform" if function.startswith("tenant_") else "tenant"]
    headers = {} if anybody else {"Authorization": f"Bearer {key}"}
    named = {name: server.choices(function, name) for name in re.findall(r"{(\w+)}", operation.path)}
    session = requests.Session()

    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def check(data: st.DataObject) -> None:
        path = {name: data.draw(st.sampled_from(choices)) for name, choices in named.items()}
        case = data.draw(operation.as_strategy(generation_mode=mode, path_parameters=path, headers=headers))
        if isinstance(case.body, dict) and type(case.body.get("wait_seconds")) is int:
            case.body["wait_seconds"] = 0
        response = case.call(base_url=server.url, session=session, headers=headers, timeout=30)
        assert response.status_code < 500, f"{case.as_curl_command()}\n{response.text}"
        case.validate_response(response, checks=CHECKS)
        told = {name: value[0] for name, value in response.headers.items() if name not in GATEWAY}
        found = list(faults(function, status=response.status_code, headers=told, body=response.content))
        assert found == [], f"{case.as_curl_command()}\n{response.text}"

    check()


def test_every_route_is_tried() -> None:
    assert set(OPERATIONS) == {function.name for function in functions() if function.routes} - {"route_missing"}
