"""What documents cost: calls counted by the ledger, the same whatever is stored and whoever subscribes."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.functions.documents import DocumentClient
from tests.processes import Process
from tests.worlds import ManualClock, World
from tools.ledger import Ledger

ONE_READ_ONE_WRITE = {"s3.PutObject": 1, "dynamodb.GetItem": 1}
PLAIN = {**ONE_READ_ONE_WRITE, "dynamodb.PutItem": 1}
TOGETHER = {**ONE_READ_ONE_WRITE, "dynamodb.TransactWriteItems": 1}


@pytest.fixture
def process(clock: ManualClock) -> Process:
    return Process(clock=clock)


@pytest.fixture
def documents(process: Process, world: World) -> DocumentClient:
    tenant = process.tenant(platform_key=f"platform.{world.platform_key}")
    return DocumentClient(process, tenant.key)


def cost(ledger: Ledger, work: Callable[[], object]) -> Mapping[str, int]:
    with ledger.operation("it") as operation:
        work()
    return operation.calls


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, PLAIN),
        ({"max_message_age_seconds": 60}, PLAIN),
        ({"max_queue_depth": 100}, TOGETHER),
        ({"max_queue_depth": 100, "overflow_policy": "drop_oldest_append"}, TOGETHER),
    ],
)
def test_an_upload_is_one_object_one_read_and_one_write(
    documents: DocumentClient, ledger: Ledger, settings: dict[str, Any], expected: dict[str, int]
) -> None:
    documents.create(**settings)
    for _ in range(2):
        documents.upload()
    assert cost(ledger, documents.upload) == expected
    for number in range(30):
        documents.upload(name=f"n{number}")
    assert cost(ledger, documents.upload) == expected


def test_an_upload_with_subscribers_costs_no_call_more(
    documents: DocumentClient, process: Process, ledger: Ledger
) -> None:
    documents.create()
    documents.upload()
    for name in ("a", "b", "c"):
        DocumentClient(process, documents.key, name).create().subscribe(documents)
    assert cost(ledger, documents.upload) == TOGETHER


def test_reading_is_one_row_and_one_object(documents: DocumentClient, ledger: Ledger) -> None:
    documents.create()
    document_id = documents.upload()["document_id"]
    both = {"dynamodb.GetItem": 1, "s3.GetObject": 1}
    documents.download(document_id)
    documents.head(document_id)
    for accept in (None, "application/json", "application/xml"):
        assert cost(ledger, lambda accept=accept: documents.download(document_id, accept=accept)) == both  # type: ignore[misc]  # bound
    assert cost(ledger, lambda: documents.head(document_id)) == both


def test_a_page_is_one_query_whatever_is_stored(documents: DocumentClient, ledger: Ledger) -> None:
    documents.create()
    documents.upload(name="x")
    documents.names()
    assert cost(ledger, documents.names) == {"dynamodb.Query": 1}
    for number in range(60):
        documents.upload(name=f"n{number}")
    with ledger.operation("page") as page:
        assert len(documents.names(limit=20)) == 20
    with ledger.operation("prefix") as prefixed:
        assert documents.names(name_prefix="x") == ["x"]
    assert page.calls == {"dynamodb.Query": 1}
    assert prefixed.calls == {"dynamodb.Query": 1, "dynamodb.BatchGetItem": 1}
    assert prefixed.read_units <= 2


def test_a_deletion_is_one_write_and_one_object(documents: DocumentClient, process: Process, ledger: Ledger) -> None:
    documents.create()
    first, second = (documents.upload()["document_id"] for _ in range(2))
    documents.delete(first)
    assert cost(ledger, lambda: documents.delete(second)) == {"dynamodb.DeleteItem": 1, "s3.DeleteObjects": 1}
    limited = DocumentClient(process, documents.key, "limited").create(max_queue_depth=5)
    first, second = (limited.upload()["document_id"] for _ in range(2))
    limited.delete(first)
    counted = {"dynamodb.GetItem": 1, "dynamodb.TransactWriteItems": 1, "s3.DeleteObjects": 1}
    assert cost(ledger, lambda: limited.delete(second)) == counted


def test_a_copy_costs_the_same_whatever_waits(documents: DocumentClient, process: Process, ledger: Ledger) -> None:
    documents.create()
    target = DocumentClient(process, documents.key, "target").create()
    target.subscribe(documents)

    def deliver(uploads: int) -> Mapping[str, int]:
        for _ in range(uploads):
            documents.upload()
        with ledger.operation("delivery") as operation:
            assert process.run("document_deliver") == {"done": uploads}
        return operation.calls

    deliver(1)
    one, many = deliver(1), deliver(21)
    more = {name: (many[name] - one.get(name, 0)) / 20 for name in many if many[name] != one.get(name, 0)}
    assert more.pop("s3.GetObject") == more.pop("s3.PutObject") == 1
    assert more.pop("dynamodb.TransactWriteItems") == 2
    assert sum(more.values()) <= 5
