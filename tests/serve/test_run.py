"""The server as a process of its own, over the loopback."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.fakes import ECHO, default_route, route, write_project
from tests.serve.process import ROOT, Server, running

# Stands in for tenants: what it stores is in DynamoDB, so that what is kept between runs shows.
TENANTS = """
import boto3
table = boto3.resource("dynamodb").Table(os.environ["TABLE"])
secret = boto3.client("secretsmanager").get_secret_value(SecretId=os.environ["PLATFORM_SECRET_ID"])["SecretString"]

def handler(event, context):
    key = event["headers"].get("authorization", "").removeprefix("Bearer ")
    if event["routeKey"] == "GET /whoami":
        found = "Item" in table.get_item(Key={"pk": key})
        return {"statusCode": 200 if found else 401, "body": ""}
    if key != "platform." + secret:
        return {"statusCode": 401, "body": "who?"}
    key = "key." + event["requestContext"]["requestId"]
    table.put_item(Item={"pk": key})
    answer = {"tenant_id": "T", "name": json.loads(event["body"])["name"], "admin": {"client_id": "C", "api_key": key}}
    return {"statusCode": 201, "body": json.dumps(answer)}
"""
RESOURCES = {
    "Table": {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        },
    },
    "Secret": {"Type": "AWS::SecretsManager::Secret"},
}
NAMES = {"TABLE": {"Ref": "Table"}, "PLATFORM_SECRET_ID": {"Ref": "Secret"}}


def project(folder: Path) -> Path:
    tenants = route("POST", "/tenants") | {"Environment": {"Variables": NAMES}}
    whoami = route("GET", "/whoami") | {"Environment": {"Variables": NAMES}}
    template = write_project(
        folder,
        {
            "pet_echo": (ECHO, route("POST", "/pets/{pet}")),
            "pet_any": (
                "def handler(event, context):\n    return {'statusCode': 200, 'body': 'any'}",
                route("ANY", "/any"),
            ),
            "pet_metrics": (
                "def handler(event, context):\n    print(json.dumps({'_aws': {}}))\n    return 'ok'",
                route("GET", "/metrics"),
            ),
            "tenant_create": (TENANTS, tenants),
            "whoami_read": (TENANTS, whoami),
            "route_missing": ("def handler(event, context):\n    return {'statusCode': 404}", default_route()),
        },
    )
    document = json.loads(template.read_text())
    document["Resources"] |= RESOURCES
    template.write_text(json.dumps(document))
    return template


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(project(tmp_path_factory.mktemp("project"))) as server:
        yield server


def test_a_request_goes_through_the_socket_and_back(server: Server) -> None:
    headers = {"Content-Type": "application/json", "X-Probe": "1"}
    status, body = server.call("POST", "/pets/a%20b?x=1&x=2", body='{"a":"ü"}'.encode(), headers=headers)
    event = json.loads(body)
    assert status == 200
    assert (event["rawPath"], event["queryStringParameters"], event["body"]) == ("/pets/a b", {"x": "1,2"}, '{"a":"ü"}')
    assert event["requestContext"]["http"]["sourceIp"] == "127.0.0.1"
    assert event["headers"]["x-forwarded-port"] == str(server.port)


def test_a_connection_is_kept_and_no_answer_waits_for_an_acknowledgement(server: Server) -> None:
    with contextlib.closing(server.connect()) as connection:
        sockets = set()
        for n in range(20):
            connection.request("POST", f"/pets/{n}", body=b"x" * 10)
            response = connection.getresponse()
            assert json.loads(response.read())["pathParameters"] == {"pet": str(n)}
            assert response.headers["Apigw-Requestid"]
            sockets.add(connection.sock)
        assert len(sockets) == 1


def test_chunked_bodies_arrive_whole(server: Server) -> None:
    chunks = [b"a" * 70_000, b"b", b"c" * 9]
    headers = {"Content-Type": "text/plain", "Transfer-Encoding": "chunked"}
    status, body = server.call("POST", "/pets/1", body=iter(chunks), headers=headers, encode_chunked=True)
    event = json.loads(body)
    assert (status, event["body"]) == (200, b"".join(chunks).decode())
    assert event["headers"]["content-length"] == str(70_010)
    assert "transfer-encoding" not in event["headers"]


def test_a_client_that_asks_first_is_told_to_go_on(server: Server) -> None:
    head = b"POST /pets/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert connection.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_client_that_asks_first_with_too_much_is_told_at_once(server: Server) -> None:
    head = b"POST /pets/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 10485761\r\nExpect: 100-continue\r\n\r\n"
    assert server.raw(head).startswith(b"HTTP/1.1 413 ")


def test_head_is_answered_without_a_body_but_with_its_length(server: Server) -> None:
    answer = server.raw(b"HEAD /any HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"content-length: 3\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")
    assert server.call("HEAD", "/pets/1") == (404, b"")  # GET, HEAD and POST are routes of their own


def test_unknown_methods_and_paths_reach_the_default_route(server: Server) -> None:
    assert server.call("BREW", "/pot")[0] == 404
    assert server.call("BREW", "/any") == (200, b"any")
    assert server.call("GET", "/any/")[0] == 404


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"POST /pets/1 HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 10_240 + b"\r\n\r\n", 431),
        (b"GET /" + b"x" * 11_000 + b" HTTP/1.1\r\n\r\n", 431),
        (b"POST /pets/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 10485761\r\n\r\nabc", 413),
        (b"POST /pets/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /pets/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nshort", 400),
        (b"POST /pets/50%25 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /any HTTP/1.1\r\nno colon here\r\n\r\n", 400),
        (b"GET /any HTTP/3.0\r\n\r\n", 505),
    ],
)
def test_what_the_gateway_refuses(server: Server, request_bytes: bytes, status: int) -> None:
    answer = server.raw(request_bytes)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/json" in head
    assert set(json.loads(body)) == {"message"}


def test_the_demo_tenant_is_made_and_its_key_kept_from_others(server: Server) -> None:
    path = server.folder / ".local/credentials.json"
    kept = server.credentials()
    assert path.stat().st_mode & 0o777 == 0o600
    assert set(kept) == {"url", "platform_key", "tenant_id", "tenant_key"}
    assert kept["url"] == f"http://127.0.0.1:{server.port}"
    assert server.call("GET", "/whoami", headers={"Authorization": f"Bearer {kept['tenant_key']}"})[0] == 200
    shown = "\n".join(server.banner)
    for value in kept.values():
        assert value in shown


def test_a_taken_port_is_said_plainly(server: Server) -> None:
    environment = {**os.environ, "PORT": str(server.port), "TEMPLATE": str(server.folder / "template.yaml")}
    second = subprocess.run(
        [sys.executable, "-m", "tools.serve"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=30
    )
    assert second.returncode == 1
    assert second.stdout == (
        f"towpath: cannot listen at port {server.port} of 127.0.0.1: Address already in use. "
        "Choose another with PORT=<number>\n"
    )
    assert second.stderr == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_cleanly_with_one_line_per_request(tmp_path: Path, number: int) -> None:
    with running(project(tmp_path)) as server, contextlib.closing(server.connect()) as idle:
        idle.connect()  # an open connection does not hold it up
        server.call("GET", "/metrics")
        server.call("GET", "/none?token=secret")
        status, output = server.stop(number)
    assert status == 0
    lines = [line.split(" ", 1)[1] for line in output.splitlines()[:-1]]
    lines = [line for line in lines if "/tenants" not in line]  # the demo tenant's line may come after the banner
    assert [line.split(" ")[:3] + line.split(" ")[5:] for line in lines] == [
        ["GET", "/metrics", "200", "pet_metrics"],
        ["GET", "/none", "404", "route_missing"],
    ]
    assert output.splitlines()[-1] == "stopped"


def test_state_is_kept_over_restarts_and_credentials_stay_valid(tmp_path: Path) -> None:
    template, state = project(tmp_path), tmp_path / "state"
    with running(template, STATE=str(state)) as server:
        first = server.credentials()
        assert server.stop()[0] == 0
    with running(template, STATE=str(state)) as server:
        second = server.credentials()
        headers = {"Authorization": f"Bearer {first['tenant_key']}"}
        assert server.call("GET", "/whoami", headers=headers)[0] == 200
        assert server.stop(signal.SIGTERM)[0] == 0
    assert {**second, "url": ""} == {**first, "url": ""}


def test_an_endpoint_can_be_the_backend_and_keeps_its_own_data(tmp_path: Path) -> None:
    from tools.ministack import ministack

    template = project(tmp_path)
    with ministack() as endpoint:
        with running(template, BACKEND=endpoint) as server:
            first = server.credentials()
            assert server.stop()[0] == 0
        with running(template, BACKEND=endpoint) as server:
            assert {**server.credentials(), "url": ""} == {**first, "url": ""}
            assert server.stop()[0] == 0
