"""L1: what was altered or moved in storage is never shown as something else, and does not stop its neighbours."""

from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import World

LARGE = "x" * 70_000


class Store:
    """Storage as someone with access to it sees it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._dynamodb = world.client("dynamodb")
        self._s3 = world.client("s3")

    def row(self, message_id: str) -> dict[str, Any]:
        return next(row for row in self._world.rows(self._world.edges_table) if message_id in row["seq"]["S"])

    def write(self, row: dict[str, Any]) -> None:
        self._dynamodb.put_item(TableName=self._world.edges_table, Item=row)

    def swap(self, first: str, second: str) -> None:
        """Exchange what two messages hold, their keys stay."""
        one, two = self.row(first), self.row(second)
        keys = ("source", "seq")
        for row, other in ((one, two), (two, one)):
            held = {name: value for name, value in other.items() if name not in keys}
            self.write({name: row[name] for name in keys} | held)

    def alter(self, message_id: str, **attributes: Any) -> None:
        row = self.row(message_id)
        changed = {name: change(row.get(name)) for name, change in attributes.items()}
        self.write({**row, **{name: value for name, value in changed.items() if value is not None}})

    def drop(self, message_id: str, name: str) -> None:
        row = self.row(message_id)
        del row[name]
        self.write(row)

    def object(self, message_id: str) -> bytes:
        answer = self._s3.get_object(Bucket=self._world.bucket, Key=self.row(message_id)["blob"]["S"])
        body: bytes = answer["Body"].read()
        return body

    def replace(self, message_id: str, body: bytes | None) -> None:
        key = self.row(message_id)["blob"]["S"]
        if body is None:
            self._s3.delete_object(Bucket=self._world.bucket, Key=key)
        else:
            self._s3.put_object(Bucket=self._world.bucket, Key=key, Body=body)


@pytest.fixture
def store(world: World) -> Store:
    return Store(world)


def enqueue(log: LogClient, value: object, seq: int = 1) -> str:
    return str(log.enqueue({"key": "k", "seq": seq, "value": value})["results"][0]["id"])


def opened(log: LogClient) -> dict[str, object]:
    """Values by id; `unreadable` for what does not open."""
    found = {}
    for message in log.poll()["messages"]:
        assert (message.get("error") == "unreadable") == ("error" in message)
        assert message["value"] is None or "error" not in message
        found[message["id"]] = message.get("error", message["value"])
    return found


def places(process: Process, tenant: Tenant, stranger: Tenant) -> dict[str, LogClient]:
    return {
        "message": LogClient(process, tenant.key),
        "partition": LogClient(process, tenant.key),
        "queue": LogClient(process, tenant.key, "other"),
        "tenant": LogClient(process, stranger.key),
    }


@pytest.mark.parametrize("value", ["small", LARGE], ids=["in the row", "in the bucket"])
@pytest.mark.parametrize("place", ["message", "queue", "tenant"])
def test_swapped_contents_do_not_open(
    process: Process, tenant: Tenant, stranger: Tenant, store: Store, place: str, value: str
) -> None:
    log, other = LogClient(process, tenant.key).create(), places(process, tenant, stranger)[place]
    if other != log:
        other.create()
    first, spared = enqueue(log, value), enqueue(log, "spared", seq=5)
    second, also_spared = enqueue(other, value.upper(), seq=2), enqueue(other, "also spared", seq=6)
    store.swap(first, second)
    found = opened(log) | opened(other)
    assert found == {first: "unreadable", second: "unreadable", spared: "spared", also_spared: "also spared"}
    store.swap(first, second)
    assert opened(log)[first] == value


def test_swapped_objects_do_not_open(log: LogClient, store: Store) -> None:
    first, second, spared = enqueue(log, LARGE), enqueue(log, LARGE.upper()), enqueue(log, LARGE)
    bodies = store.object(first), store.object(second)
    store.replace(first, bodies[1])
    store.replace(second, bodies[0])
    assert opened(log) == {first: "unreadable", second: "unreadable", spared: LARGE}


def flipped(at: int) -> Any:
    def flip(value: dict[str, bytes]) -> dict[str, bytes]:
        body = bytearray(value["B"])
        body[at] ^= 1
        return {"B": bytes(body)}

    return flip


@pytest.mark.parametrize("at", [0, 1, 4, 5, 16, 17, 20, -1], ids=str)
def test_a_flipped_bit_does_not_open(log: LogClient, store: Store, at: int) -> None:
    first, spared = enqueue(log, "value"), enqueue(log, "spared")
    store.alter(first, body=flipped(at))
    assert opened(log) == {first: "unreadable", spared: "spared"}


@pytest.mark.parametrize("size", [0, 1, 5, 17, 32, 33, -1])
def test_what_is_cut_short_does_not_open(log: LogClient, store: Store, size: int) -> None:
    first, spared, large = enqueue(log, "value"), enqueue(log, "spared"), enqueue(log, LARGE)
    store.alter(first, body=lambda value: {"B": value["B"][:size]})
    store.replace(large, store.object(large)[:size])
    assert opened(log) == {first: "unreadable", spared: "spared", large: "unreadable"}


POISON: dict[str, Any] = {
    "no body": lambda store, small, _: store.drop(small, "body"),
    "text": lambda store, small, _: store.alter(small, body=lambda _: {"S": "text"}),
    "a number": lambda store, small, _: store.alter(small, body=lambda _: {"N": "1"}),
    "null": lambda store, small, _: store.alter(small, body=lambda _: {"NULL": True}),
    "a set": lambda store, small, _: store.alter(small, body=lambda _: {"BS": [b"x"]}),
    "another type": lambda store, small, _: store.alter(small, other=lambda _: {"NS": ["1"]}),
    "no object": lambda store, _, large: store.replace(large, None),
    "no object's name": lambda store, _, large: store.drop(large, "blob"),
    "another name": lambda store, _, large: store.alter(large, blob=lambda _: {"S": "payload/none/none"}),
    "a name of another type": lambda store, _, large: store.alter(large, blob=lambda _: {"N": "7"}),
    "a size that is none": lambda store, _, large: store.alter(large, size=lambda _: {"S": "large"}),
    "no size": lambda store, _, large: store.drop(large, "size"),
    "an empty object": lambda store, _, large: store.replace(large, b""),
}


@pytest.mark.parametrize("poison", POISON)
def test_a_poisoned_row_fails_alone_and_can_be_committed(log: LogClient, store: Store, poison: str) -> None:
    before, small, large, after = (
        enqueue(log, "b", 0),
        enqueue(log, "s", 1),
        enqueue(log, LARGE, 2),
        enqueue(log, "a", 3),
    )
    POISON[poison](store, small, large)
    found = opened(log)
    assert list(found) == [before, small, large, after]
    assert (found[before], found[after]) == ("b", "a")
    assert found[small] in ("s", "unreadable")
    assert found[large] in (LARGE, "unreadable")
    assert log.committed(cursor=log.poll()["cursor"]) == 4


def test_a_log_whose_key_is_gone_does_not_open(process: Process, tenant: Tenant, world: World) -> None:
    log = LogClient(process, tenant.key).create()
    enqueue(log, "value")
    config = next(row for row in world.rows(world.state_table) if "data_keys" in row and tenant.tenant_id in repr(row))
    config["data_keys"] = {"M": {"v2": config["data_keys"]["M"]["v1"]}}
    config["key_version"] = {"N": "2"}
    world.client("dynamodb").put_item(TableName=world.state_table, Item=config)
    assert list(opened(LogClient(Process(), tenant.key)).values()) == ["unreadable"]


@pytest.mark.usefixtures("stranger")
def test_data_keys_do_not_open_for_another_tenant(tenant: Tenant, world: World) -> None:
    log = LogClient(Process(), tenant.key).create()
    configs = [row for row in world.rows(world.state_table) if "data_keys" in row]
    assert len(configs) == 2
    for row, other in (configs, reversed(configs)):
        world.client("dynamodb").put_item(TableName=world.state_table, Item={**row, "data_keys": other["data_keys"]})
    assert LogClient(Process(), log.key).try_enqueue({"key": "k", "seq": 1}).problem == (503, "unavailable")
    assert world.rows(world.edges_table) == []


def test_what_does_not_open_is_counted(
    log: LogClient, store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED")
    store.alter(enqueue(log, "value"), body=flipped(-1))
    capsys.readouterr()
    log.poll()
    assert "Unreadable" in capsys.readouterr().out
