import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tools import tables
from tools.dynalite import dynalite
from tools.engine_process import ROOT, EngineError, running
from tools.ministack import ministack

Launcher = Callable[[], AbstractContextManager[str]]
BY_NAME: dict[str, Launcher] = {"ministack": ministack, "dynalite": dynalite}

# Starts an engine, tells its URL, and waits to be killed.
HOLDER = """
import sys
from tools.{name} import {name}
with {name}() as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=sorted(BY_NAME))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def listens(url: str) -> bool:
    parts = urlsplit(url)
    with contextlib.closing(socket.socket()) as probe:
        return probe.connect_ex((str(parts.hostname), int(parts.port or 0))) == 0


def gone_within(url: str, *, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while listens(url):
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.02)
    return True


def test_an_engine_lives_as_long_as_its_block(name: str) -> None:
    with BY_NAME[name]() as url:
        assert url.startswith("http://127.0.0.1:")
        assert tables.client("dynamodb", endpoint_url=url).list_tables()["TableNames"] == []
    assert not listens(url)


def test_a_failure_in_the_block_stops_the_engine(name: str) -> None:
    with pytest.raises(KeyboardInterrupt), BY_NAME[name]() as url:
        raise KeyboardInterrupt
    assert not listens(url)


@pytest.mark.parametrize("with_signal", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_an_engine_does_not_outlive_its_starter(name: str, with_signal: signal.Signals) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(name=name)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with starter:
        assert starter.stdout is not None
        url = starter.stdout.readline().strip()
        assert listens(url)
        starter.send_signal(with_signal)
        starter.wait(20)
    assert gone_within(url, seconds=20)


def test_ministack_keeps_its_state_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with ministack(state=folder) as url:
        first = tables.create(endpoint_url=url, prefix="kept")
        dynamodb, s3, kms = (tables.client(each, endpoint_url=url) for each in ("dynamodb", "s3", "kms"))
        item = {"source": {"S": "s"}, "seq": {"S": "1"}, "n": {"N": "9" * 38}, "b": {"B": b"\x00\xff"}}
        dynamodb.put_item(TableName=first.names["Edges"], Item=item)
        s3.put_object(Bucket=first.names["Bucket"], Key="a/b c", Body=b"\x00body")
        data_key = kms.generate_data_key(KeyId=first.names["TenantKeys"], KeySpec="AES_256")
    with ministack(state=folder) as url:
        second = tables.create(endpoint_url=url, prefix="kept")
        dynamodb, s3, kms = (tables.client(each, endpoint_url=url) for each in ("dynamodb", "s3", "kms"))
        assert (second.names, second.secret_values) == (first.names, first.secret_values)
        assert dynamodb.scan(TableName=first.names["Edges"])["Items"] == [item]
        assert s3.get_object(Bucket=first.names["Bucket"], Key="a/b c")["Body"].read() == b"\x00body"
        assert kms.decrypt(CiphertextBlob=data_key["CiphertextBlob"])["Plaintext"] == data_key["Plaintext"]


@pytest.mark.parametrize("variable", ["TOWPATH_NODE", "TOWPATH_DYNALITE"])
def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "/nowhere/to/be/found")
    with pytest.raises(EngineError, match=f"/nowhere/to/be/found is missing: run `make install`, or set {variable}"):
        dynalite().__enter__()


def test_an_engine_that_does_not_start_says_why() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no room for me')"]
    with (
        pytest.raises(EngineError, match="no room for me"),
        running(command, url="http://127.0.0.1:9", environment=dict(os.environ)),
    ):
        pytest.fail("the block was entered")
