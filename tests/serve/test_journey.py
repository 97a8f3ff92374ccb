"""The project's own functions behind the local server: the journey of the README, and what is kept over a restart."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.serve.process import ROOT, Server, running

LOGS = "/queue/v1/namespaces/shop/queues"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project, but for the folder that credentials are left in."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("functions", "layers", "shared"):
        (folder / name).symlink_to(ROOT / name)
    return Path(shutil.copy(ROOT / "template.yaml", folder))


def call(server: Server, method: str, path: str, body: object = None, *, key: str | None = None) -> tuple[int, Any]:
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {key or server.credentials()['tenant_key']}",
    }
    status, answer = server.call(method, path, body=None if body is None else json.dumps(body), headers=headers)
    return status, json.loads(answer) if answer else None


def test_make_enqueue_poll_and_commit(project: Path) -> None:
    with running(project) as server:
        kept = server.credentials()
        assert call(server, "GET", "/health") == (200, {"status": "ok", "version": "0.1.0"})
        assert (
            call(server, "GET", "/tenants", key=kept["platform_key"])[1]["tenants"][0]["tenant_id"] == kept["tenant_id"]
        )
        assert call(server, "POST", LOGS, {"queue": "orders", "partitions": 1})[0] == 200
        messages = [{"key": "a", "seq": n, "value": {"n": n}} for n in (1, 2, 3)]
        assert call(server, "POST", f"{LOGS}/orders/messages", {"messages": messages})[1]["accepted"] == 3
        due = call(server, "GET", f"{LOGS}/orders/partitions/0/poll?until=2")[1]
        assert [m["value"] for m in due["messages"]] == [{"n": 1}, {"n": 2}]
        assert (
            call(server, "DELETE", f"{LOGS}/orders/partitions/0/messages?offset={due['offset']}")[1]["committed"] == 2
        )
        assert call(server, "GET", "/nothing")[1]["code"] == "route_not_found"
        status, output = server.stop()
    assert status == 0
    assert output.splitlines()[-1] == "stopped"
    assert len(output.splitlines()) == 8  # a line per request; the functions log and count nothing here


def test_messages_are_read_after_a_restart(project: Path, tmp_path: Path) -> None:
    large = "x" * 600_000  # goes to the bucket
    with running(project, STATE=str(tmp_path / "state")) as server:
        key = server.credentials()["tenant_key"]
        call(server, "POST", LOGS, {"queue": "orders", "partitions": 1})
        stored = [{"key": "a", "seq": 1, "value": "ü"}, {"key": "a", "seq": 2, "value": large}]
        assert call(server, "POST", f"{LOGS}/orders/messages", {"messages": stored})[1]["accepted"] == 2
        assert server.stop()[0] == 0
    with running(project, STATE=str(tmp_path / "state")) as server:
        status, page = call(server, "GET", f"{LOGS}/orders/partitions/0/poll", key=key)
        assert (status, [m["value"] for m in page["messages"]]) == (200, ["ü", large])
        assert server.stop()[0] == 0
