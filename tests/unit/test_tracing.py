"""What AWS X-Ray is told: of sampled invocations only, every attempt, and nothing of what is stored."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from edge.clients import make_client
from edge.tracing import HEADER, trace
from tests.worlds import ManualClock, World
from tools import faults
from tools.tables import client

SAMPLED = "Root=1-67c0ffee-000000000000000000000001;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=1:a:0"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The documents sent by `traced`."""
    monkeypatch.setenv("_X_AMZN_TRACE_ID", SAMPLED)
    return []


def traced(sent: list[dict[str, Any]]) -> Any:
    clock = ManualClock()

    def seconds() -> float:
        clock.advance(seconds=1)
        return clock() / 1000

    def send(datagram: bytes) -> None:
        assert datagram.startswith(HEADER)
        sent.append(json.loads(datagram.removeprefix(HEADER)))

    dynamodb = client("dynamodb")
    trace(dynamodb, send=send, clock=seconds)
    return dynamodb


def put(dynamodb: Any, world: World) -> None:
    dynamodb.put_item(TableName=world.state_table, Item={"pk": {"S": "secret"}, "sk": {"S": "k"}})


def test_a_call_is_a_subsegment_of_its_invocation(sent: list[dict[str, Any]], world: World) -> None:
    put(traced(sent), world)
    (document,) = sent
    assert (document["trace_id"], document["parent_id"]) == ("1-67c0ffee-000000000000000000000001", "53995c3f42cd8ad8")
    assert (document["type"], document["namespace"], document["name"]) == ("subsegment", "aws", "DynamoDB")
    assert document["aws"] == {"operation": "PutItem", "region": "us-east-1", "table_name": world.state_table}
    assert document["end_time"] - document["start_time"] == 1
    assert (document["error"], document["throttle"], document["fault"]) == (False, False, False)
    assert len(document["id"]) == 16
    assert "secret" not in json.dumps(document)


@pytest.mark.parametrize(
    ("fault", "flags"),
    [
        (faults.THROTTLED, (True, True, False)),
        (faults.refusal("ConditionalCheckFailedException"), (True, False, False)),
        (faults.SERVER_ERROR, (False, False, True)),
        (faults.TIMEOUT, (False, False, True)),
    ],
    ids=repr,
)
def test_a_failure_says_whose_it_was(
    sent: list[dict[str, Any]], world: World, fault: faults.Fault, flags: tuple[bool, bool, bool]
) -> None:
    dynamodb = traced(sent)
    with faults.failing(fault), pytest.raises(Exception, match=r"injected|timeout"):
        put(dynamodb, world)
    (document,) = sent
    assert (document["error"], document["throttle"], document["fault"]) == flags


@pytest.mark.parametrize(
    "header", ["", "Root=1-a-b;Parent=c;Sampled=0", "Root=1-a-b", "nonsense", "Sampled=1;Parent=c"]
)
def test_what_is_not_sampled_is_not_told(
    sent: list[dict[str, Any]], world: World, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", header)
    put(traced(sent), world)
    assert sent == []


def test_a_daemon_that_is_not_there_harms_no_call(
    sent: list[dict[str, Any]], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWPATH_TRACING", "Active")
    monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", "nowhere.invalid:2000")
    put(make_client("dynamodb"), world)
    assert sent == []


@pytest.mark.parametrize(("mode", "imported"), [("Active", True), ("PassThrough", False), ("Disabled", False)])
def test_the_tracer_is_imported_only_where_it_is_on(mode: str, *, imported: bool) -> None:
    code = "import sys; from edge.clients import make_client; make_client('sqs'); print('edge.tracing' in sys.modules)"
    environment = {**os.environ, "TOWPATH_TRACING": mode, "PYTHONPATH": "layers/edge"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(imported)
