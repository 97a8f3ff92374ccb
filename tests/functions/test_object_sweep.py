"""object_sweep: objects without a document go after a day, documents with their age."""

import pytest

from tests.functions.documents import DocumentClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World
from tools import faults
from tools.ledger import Ledger

DAY = 24 * 3600


@pytest.fixture
def clock() -> ManualClock:
    """Begins now, since objects are dated by the bucket."""
    import time

    return ManualClock(time.time_ns() // 1_000_000)


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


@pytest.fixture
def documents(timed: Process, owner: Tenant) -> DocumentClient:
    return DocumentClient(timed, owner.key).create()


def sweep(process: Process) -> int:
    return int(process.run("object_sweep")["done"])


def test_an_object_whose_upload_died_goes_after_a_day(
    timed: Process, documents: DocumentClient, clock: ManualClock, world: World
) -> None:
    documents.upload(name="kept")
    with faults.failing(faults.KILLED, operation="PutItem"), pytest.raises(faults.Killed):
        documents.try_upload(name="lost")
    assert len(world.objects()) == 2
    assert sweep(timed) == 0
    clock.advance(seconds=DAY + 60)
    assert sweep(timed) == 1
    assert len(world.objects()) == 1
    assert documents.names() == ["kept"]
    assert documents.download(documents.listed()[0]["document_id"])


def test_the_bytes_of_copies_still_to_be_made_stay(
    timed: Process, documents: DocumentClient, owner: Tenant, clock: ManualClock
) -> None:
    target = DocumentClient(timed, owner.key, "target").create()
    target.subscribe(documents)
    documents.delete(documents.upload()["document_id"])
    clock.advance(seconds=DAY + 60)
    assert sweep(timed) == 0
    assert timed.run("document_deliver") == {"done": 1}
    assert target.download(target.listed()[0]["document_id"])
    assert sweep(timed) == 0


def test_documents_go_with_their_age(timed: Process, owner: Tenant, clock: ManualClock, world: World) -> None:
    documents = DocumentClient(timed, owner.key, "short").create(max_message_age_seconds=60, max_queue_depth=5)
    documents.upload(name="old")
    clock.advance(seconds=50)
    documents.upload(name="young")
    clock.advance(seconds=20)
    assert sweep(timed) == 1
    assert len(world.objects()) == 1
    assert documents.names() == ["young"]
    assert next(row for row in world.rows(world.state_table) if row["sk"]["S"] == "depth")["count"] == {"N": "1"}


def test_old_objects_are_looked_at_once_a_week(
    timed: Process, documents: DocumentClient, clock: ManualClock, ledger: Ledger
) -> None:
    documents.upload()
    sweep(timed)
    clock.advance(seconds=5 * DAY)
    with ledger.operation("walk") as walk:
        sweep(timed)
    assert "dynamodb.BatchGetItem" not in walk.calls
    clock.advance(seconds=3 * DAY)
    with ledger.operation("thorough") as thorough:
        sweep(timed)
    assert thorough.calls["dynamodb.BatchGetItem"] == 1


def test_a_walk_goes_on_where_it_ended(
    timed: Process, documents: DocumentClient, clock: ManualClock, world: World
) -> None:
    for number in range(3):
        with faults.failing(faults.KILLED, operation="PutItem"), pytest.raises(faults.Killed):
            documents.try_upload(name=f"lost{number}")
    clock.advance(seconds=DAY + 60)
    with faults.failing(faults.KILLED_AFTER, operation="DeleteObjects"), pytest.raises(faults.Killed):
        timed.run("object_sweep")
    assert sweep(timed) == 0
    assert world.objects() == []


def test_a_counter_of_a_limit_that_is_gone_goes_too(
    timed: Process, owner: Tenant, clock: ManualClock, world: World
) -> None:
    documents = DocumentClient(timed, owner.key, "limited").create(max_queue_depth=5)
    documents.upload()
    assert documents.call("queue_update", body={"settings": {"max_queue_depth": None}}).status == 200
    clock.advance(seconds=6)
    sweep(timed)
    assert [row for row in world.rows(world.state_table) if row["sk"]["S"] == "depth"] == []
