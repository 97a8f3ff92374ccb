"""What stands before every function: keys, headers, the shape of problems, and outages of what all depend on."""

from types import ModuleType
from typing import Any

import pytest

from broker.apikeys import ApiKey
from tests.processes import Process, Tenant, read_reply, request_event, sample_event
from tests.worlds import ManualClock, World


def test_health_needs_no_key_and_no_storage(process: Process, faults: ModuleType) -> None:
    with faults.failing(faults.TIMEOUT, times=None):
        reply = process.call("health_read")
    assert reply.status == 200
    assert reply.json["status"] == "ok"
    assert isinstance(reply.json["version"], str)
    assert reply.headers["content-type"] == "application/json"


def test_a_route_that_is_not_there_is_a_problem(process: Process, tenant: Tenant) -> None:
    assert process.call("route_missing").problem == (404, "route_not_found")
    assert process.call("route_missing", key=tenant.key).problem == (404, "route_not_found")


def test_whoami_tells_each_principal_what_it_is(process: Process, tenant: Tenant, platform_key: str) -> None:
    admin = process.call("whoami_read", key=tenant.key).json
    assert (admin["role"], admin["tenant_id"], admin["client_id"]) == ("admin", tenant.tenant_id, tenant.admin_id)
    key = process.client_key(tenant, ("shop/*", "publish"), ("*", "consume"))
    client = process.call("whoami_read", key=key).json
    assert client == {
        "role": "client",
        "tenant_id": tenant.tenant_id,
        "client_id": key.partition(".")[0],
        "name": "client",
        "permissions": [{"queues": "shop/*", "actions": ["publish"]}, {"queues": "*", "actions": ["consume"]}],
    }
    platform = process.call("whoami_read", key=platform_key).json
    assert (platform["role"], platform["tenant_id"], platform["permissions"]) == ("platform", None, [])


def test_a_key_comes_as_bearer_in_any_case_or_bare(process: Process, tenant: Tenant) -> None:
    accepted = [tenant.key, f"Bearer {tenant.key}", f"bearer {tenant.key}", f"  BEARER   {tenant.key} "]
    assert [whoami(process, header) for header in accepted] == [200] * len(accepted)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic {key}",
        "Bearer {key} {key}",
        "Bearer {key}x",
        "Bearer x{key}",
        "{id}.",
        ".{secret}",
        "{id}",
        "{id}{secret}",
        "{id}.é{secret}",
        "é{id}.{secret}",
        "{id}.\ud800",
        "{id}..{secret}",
        "{id}.{secret}." + "x" * 600,
        "platform.{secret}",
        "PLATFORM.{secret}",
        "nobody.{secret}",
        "{id}#client.{secret}",
    ],
    ids=repr,
)
def test_a_key_that_is_none_is_unauthenticated(process: Process, tenant: Tenant, header: str | None) -> None:
    key = ApiKey.parse(tenant.key)
    assert key is not None
    sent = header and header.format(key=tenant.key, id=key.client_id, secret=key.secret)
    assert whoami(process, sent) == 401


def test_all_keys_that_are_none_are_answered_alike(process: Process, tenant: Tenant) -> None:
    bad = [None, "Bearer nobody.secret", f"{tenant.admin_id}.wrong", "platform.wrong", "gibberish"]
    events = [request_event("whoami_read", headers={} if each is None else {"authorization": each}) for each in bad]
    assert len({process.send("whoami_read", event).body for event in events}) == 1


def test_the_secret_of_a_key_is_not_stored(process: Process, world: World, tenant: Tenant) -> None:
    client = process.client_key(tenant)
    rotated = process.call("client_rotate", key=tenant.key, path={"client_id": tenant.admin_id}).json["api_key"]
    stored = repr(world.rows(world.state_table))
    for key in (tenant.key, client, rotated):
        assert key.partition(".")[2] not in stored


def test_header_names_come_in_any_case(process: Process, tenant: Tenant) -> None:
    event = request_event("whoami_read", key=tenant.key)
    event["headers"] = {name.title(): value for name, value in event["headers"].items()}
    assert process.send("whoami_read", event).status == 200


@pytest.mark.parametrize("member", ["headers", "queryStringParameters", "pathParameters", "body", "rawQueryString"])
@pytest.mark.parametrize("absent", [True, False])
def test_a_member_of_an_event_may_be_null_or_absent(
    process: Process, tenant: Tenant, member: str, *, absent: bool
) -> None:
    for name in ("whoami_read", "client_list", "tenant_rotate_key", "log_poll", "health_read", "client_read"):
        event = request_event(name, key=tenant.key)
        event[member] = None
        if absent:
            del event[member]
        assert process.send(name, event).status < 500


def test_the_request_id_is_the_gateway_s_or_lambda_s(process: Process) -> None:
    event = request_event("health_read")
    assert process.send("health_read", event).headers["x-request-id"] == event["requestContext"]["requestId"]
    assert process.send("health_read", {**event, "requestContext": None}).headers["x-request-id"].startswith("8f5c")


@pytest.mark.parametrize("stage", ["$default", "live"])
def test_the_path_is_read_the_same_encoded_or_decoded_under_any_stage(
    process: Process, tenant: Tenant, stage: str
) -> None:
    prefix = "" if stage == "$default" else f"/{stage}"
    for raw in (f"/tenants/{tenant.tenant_id}/rotate-key", f"/tenants/%{ord('0'):x}{tenant.tenant_id[1:]}/rotate-key"):
        event = request_event("tenant_rotate_key", key=tenant.key)
        event["requestContext"]["stage"] = stage
        assert process.send("tenant_rotate_key", {**event, "rawPath": prefix + raw}).status == 200


def test_a_path_that_is_not_text_is_refused(process: Process, tenant: Tenant) -> None:
    event = request_event("log_read", key=tenant.key)
    event["rawPath"] = "/queue/v1/namespaces/%ff/queues/orders"
    assert process.send("log_read", event).problem == (400, "validation_failed")


def test_a_defect_is_told_without_its_inside(process: Process, tenant: Tenant, monkeypatch: Any) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("dynamodb said: test-Edges")

    monkeypatch.setattr("broker.tenancy.service.Tenancy.whoami", broken)
    assert process.call("whoami_read", key=tenant.key).problem == (500, "internal_error")


# Outages of what authentication stands on


def test_keys_cannot_be_checked_while_storage_is_away(timed: Process, tenant: Tenant, faults: ModuleType) -> None:
    for fault, code in ((faults.THROTTLED, "throttled"), (faults.TIMEOUT, "unavailable")):
        with faults.failing(fault, times=None, service="dynamodb"):
            assert timed.call("whoami_read", key=tenant.key).problem == (503, code)
    assert timed.call("whoami_read", key=tenant.key).status == 200


def test_a_throttled_key_is_found_by_a_later_attempt(timed: Process, tenant: Tenant, faults: ModuleType) -> None:
    with faults.failing(faults.THROTTLED, times=3, service="dynamodb") as injection:
        assert timed.call("whoami_read", key=tenant.key).status == 200
    assert len(injection.struck) == len(timed.pauses) == 3


def test_the_platform_s_key_fails_closed_without_secrets_manager(
    timed: Process, platform_key: str, tenant: Tenant, faults: ModuleType
) -> None:
    for fault in (faults.TIMEOUT, faults.SERVER_ERROR, faults.refusal("ResourceNotFoundException")):
        with faults.failing(fault, times=None, service="secretsmanager"):
            for key in (platform_key, "platform.wrong"):
                assert timed.call("tenant_list", key=key).problem == (503, "unavailable")
            assert timed.call("tenant_list", key=tenant.key).problem == (403, "forbidden")
    assert timed.call("tenant_list", key=platform_key).status == 200


def test_the_platform_s_secret_is_read_once_a_minute(
    timed: Process, platform_key: str, clock: ManualClock, faults: ModuleType
) -> None:
    assert timed.call("tenant_list", key=platform_key).status == 200
    with faults.failing(faults.TIMEOUT, times=None, service="secretsmanager"):
        clock.advance(milliseconds=59_999)
        assert timed.call("tenant_list", key=platform_key).status == 200
        clock.advance(milliseconds=1)
        assert timed.call("tenant_list", key=platform_key).status == 503


def test_a_function_that_may_not_read_the_secret_knows_the_key_by_its_hash(platform_key: str) -> None:
    elsewhere = Process(environment={"PLATFORM_SECRET_ID": ""})
    assert elsewhere.call("whoami_read", key=platform_key).status == 401  # nobody has left the hash yet
    assert Process().call("tenant_list", key=platform_key).status == 200
    assert elsewhere.call("whoami_read", key=platform_key).json["role"] == "platform"
    assert elsewhere.call("whoami_read", key="platform.wrong").status == 401


def test_a_changed_platform_secret_replaces_the_old_hash(platform_key: str, world: World) -> None:
    elsewhere = Process(environment={"PLATFORM_SECRET_ID": ""})
    secret_id, secrets = world.resources.environment["PLATFORM_SECRET_ID"], world.client("secretsmanager")
    assert Process().call("tenant_list", key=platform_key).status == 200
    try:
        secrets.put_secret_value(SecretId=secret_id, SecretString="changed")
        assert Process().call("tenant_list", key=platform_key).status == 401
        assert Process().call("tenant_list", key="platform.changed").status == 200
        assert elsewhere.call("whoami_read", key="platform.changed").status == 200
        assert elsewhere.call("whoami_read", key=platform_key).status == 401
    finally:
        secrets.put_secret_value(SecretId=secret_id, SecretString=world.platform_key)


def test_answers_over_a_mebibyte_are_base64() -> None:
    from broker.http.answer import PLAIN_MOST, ok

    small, large = ok("x" * (PLAIN_MOST - 2)), ok("é" * PLAIN_MOST)
    assert small.event(request_id="r")["isBase64Encoded"] is False
    assert large.event(request_id="r")["isBase64Encoded"] is True
    assert read_reply(large.event(request_id="r")).json == "é" * PLAIN_MOST


def whoami(process: Process, header: str | None) -> int:
    event = sample_event("whoami_read")
    event["headers"].pop("authorization")
    if header is not None:
        event["headers"]["Authorization"] = header
    return process.send("whoami_read", event).status
