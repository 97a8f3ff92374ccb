"""J1: bodies in base64 or none at all, on every endpoint that reads JSON."""

import base64
import json
from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant, request_event, sample_event
from tests.template.repository import functions
from tests.worlds import World

READERS = ("tenant_create", "client_create", "client_update", "log_create", "log_enqueue")
"""The functions of tenants, clients and logs that read a body."""


@pytest.fixture
def event(process: Process, tenant: Tenant, platform_key: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A good request to a function, everything in its place."""
    name: str = request.param
    if name == "log_enqueue":
        LogClient(process, tenant.key).create()
    path = {}
    if name == "client_update":
        path["client_id"] = process.client_key(tenant).partition(".")[0]
    return request_event(name, key=platform_key if name == "tenant_create" else tenant.key, path=path)


each = pytest.mark.parametrize(("name", "event"), [(name, name) for name in READERS], indirect=["event"])


def test_these_are_the_functions_whose_sample_has_a_body() -> None:
    ours = [function.name for function in functions() if function.name.startswith(("tenant_", "client_", "log_"))]
    assert sorted(READERS) == sorted(name for name in ours if "body" in sample_event(name))


@each
def test_base64_is_the_same_as_its_plain_twin(process: Process, name: str, event: dict[str, Any]) -> None:
    encoded = {**event, "body": base64.b64encode(event["body"].encode()).decode(), "isBase64Encoded": True}
    plain, twin = process.send(name, event), process.send(name, encoded)
    assert plain.status == twin.status
    assert plain.status in (200, 201)
    assert set(plain.json) == set(twin.json)


@each
@pytest.mark.parametrize(
    "body", [None, "", " ", "\n", "null", "[]", "1", '"x"', "{", "{'a':1}", "undefined", "\x00", "\ud800"], ids=repr
)
def test_no_body_or_no_object_is_refused(
    process: Process, world: World, name: str, event: dict[str, Any], body: str | None
) -> None:
    before = rows(world)
    assert process.send(name, {**event, "body": body}).problem == (400, "malformed_json")
    if body is None:
        del event["body"]
        assert process.send(name, event).problem == (400, "malformed_json")
    elif body.isascii():
        encoded = base64.b64encode(body.encode()).decode()
        refused = process.send(name, {**event, "body": encoded, "isBase64Encoded": True})
        assert refused.problem == (400, "malformed_json")
    assert rows(world) == before


@each
@pytest.mark.parametrize("body", ["{}", "not base64!", "e30", "e30=x", "é", "=", "e30=\n", "%%%%"])
def test_base64_that_is_none_is_refused(
    process: Process, world: World, name: str, event: dict[str, Any], body: str
) -> None:
    before = rows(world)
    assert process.send(name, {**event, "body": body, "isBase64Encoded": True}).problem == (400, "malformed_json")
    assert rows(world) == before


@each
@pytest.mark.parametrize("member", ["queryStringParameters", "pathParameters", "cookies", "rawQueryString"])
def test_null_maps_do_no_harm(process: Process, name: str, event: dict[str, Any], member: str) -> None:
    assert process.send(name, {**event, member: None}).status in (200, 201)


@each
def test_headers_in_mixed_case_or_null(process: Process, name: str, event: dict[str, Any]) -> None:
    headers = {key.title(): value for key, value in event["headers"].items()}
    assert process.send(name, {**event, "headers": headers}).status in (200, 201)
    assert process.send(name, {**event, "headers": None}).problem == (401, "unauthenticated")


@each
@pytest.mark.parametrize("content_type", [None, "text/plain", "application/json; charset=latin-1", "x"])
def test_the_content_type_does_not_matter(
    process: Process, name: str, event: dict[str, Any], content_type: str | None
) -> None:
    event["headers"].pop("content-type")
    if content_type is not None:
        event["headers"]["content-type"] = content_type
    assert process.send(name, event).status in (200, 201)


@each
def test_an_unknown_member_is_refused(process: Process, world: World, name: str, event: dict[str, Any]) -> None:
    before = rows(world)
    body = json.dumps({**json.loads(event["body"]), "extra": 1})
    reply = process.send(name, {**event, "body": body})
    assert reply.problem == (400, "validation_failed")
    assert reply.fields == ["extra"]
    assert rows(world) == before


@each
def test_a_body_over_five_mebibytes_is_refused(
    process: Process, world: World, name: str, event: dict[str, Any]
) -> None:
    before = rows(world)
    padded = event["body"] + " " * (5 * 1024 * 1024)
    assert process.send(name, {**event, "body": padded}).problem == (413, "payload_too_large")
    assert rows(world) == before


@each
def test_depth_and_constants_are_refused(process: Process, name: str, event: dict[str, Any]) -> None:
    for body, code in (
        ("[" * 100_000, "payload_too_deep"),
        ('{"name":NaN}', "malformed_json"),
        ('{"name":-Infinity}', "malformed_json"),
        ('{"name":"x","name":"x"}', "malformed_json"),
        ('{"name":' + "9" * 5000 + "}", "validation_failed"),
        ('{"name":1e400}', "validation_failed"),
        ('{"\\ud800":1}', "validation_failed"),
    ):
        assert process.send(name, {**event, "body": body}).problem == (400, code)


@pytest.mark.parametrize("name", ["client_list", "log_list", "log_read", "log_poll", "log_enable", "client_rotate"])
@pytest.mark.parametrize("body", [None, "", "{", "x"])
def test_where_no_body_is_read_none_does_harm(process: Process, tenant: Tenant, name: str, body: str | None) -> None:
    LogClient(process, tenant.key).create()
    path = {"partition": "0"} if name == "log_poll" else {}
    if name == "client_rotate":
        path["client_id"] = process.client_key(tenant).partition(".")[0]
    for base in (False, True):
        reply = process.call(name, key=tenant.key, path=path, isBase64Encoded=base, body=body)
        assert reply.status == 200


@pytest.mark.parametrize("body", ["{}", '{"name":"x","extra":1}', '{"Name":"x"}'])
def test_a_tenant_needs_a_name_and_nothing_else(process: Process, platform_key: str, body: str) -> None:
    assert process.call("tenant_create", key=platform_key, body=body).problem == (400, "validation_failed")


BAD_DEFINITIONS: dict[str, str] = {
    "{}": "queue",
    '{"queue":null}': "queue",
    '{"queue":""}': "queue",
    '{"queue":"a b"}': "queue",
    '{"queue":"a\\n"}': "queue",
    '{"queue":"a/b"}': "queue",
    '{"queue":"é"}': "queue",
    '{"queue":1}': "queue",
    '{"queue":"' + "x" * 81 + '"}': "queue",
    '{"queue":"q","partitions":0}': "partitions",
    '{"queue":"q","partitions":1025}': "partitions",
    '{"queue":"q","partitions":-1}': "partitions",
    '{"queue":"q","partitions":1.5}': "partitions",
    '{"queue":"q","partitions":"1"}': "partitions",
    '{"queue":"q","partitions":true}': "partitions",
    '{"queue":"q","partitions":null}': "partitions",
    '{"queue":"q","partitions":1e400}': "partitions",
    '{"queue":"q","storage":""}': "storage",
    '{"queue":"q","storage":"a\\nb"}': "storage",
    '{"queue":"q","storage":1}': "storage",
    '{"queue":"q","storage":"' + "x" * 1001 + '"}': "storage",
    '{"queue":"q","enabled":true}': "enabled",
}


@pytest.mark.parametrize("body", BAD_DEFINITIONS, ids=lambda text: text[:40])
def test_a_bad_definition_of_a_log_is_refused(process: Process, tenant: Tenant, world: World, body: str) -> None:
    before = rows(world)
    reply = process.call("log_create", key=tenant.key, body=body)
    assert reply.problem == (400, "validation_failed")
    assert reply.fields == [BAD_DEFINITIONS[body]]
    assert rows(world) == before


@pytest.mark.parametrize("name", ["", "x" * 81, "a b", "é", "a%2Fb"])
def test_a_bad_namespace_is_refused(process: Process, tenant: Tenant, name: str) -> None:
    for function in ("log_create", "log_list"):
        reply = process.call(function, key=tenant.key, path={"namespace": name})
        assert reply.problem == (400, "validation_failed")


def rows(world: World) -> list[dict[str, Any]]:
    return world.rows(world.state_table) + world.rows(world.edges_table)
