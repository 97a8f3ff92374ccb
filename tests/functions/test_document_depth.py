"""Limits of a queue of documents: depth with both policies, age, purge, deletion, stats."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.functions.documents import DocumentClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


def queue(process: Process, owner: Tenant, name: str = "small", **settings: Any) -> DocumentClient:
    return DocumentClient(process, owner.key, name).create(**settings)


def fill(documents: DocumentClient, clock: ManualClock, *names: str) -> None:
    for name in names:
        documents.upload(name=name)
        clock.advance(seconds=1)


def test_a_full_queue_refuses_and_stores_nothing(
    timed: Process, owner: Tenant, clock: ManualClock, world: World
) -> None:
    documents = queue(timed, owner, max_queue_depth=2)
    fill(documents, clock, "a", "b")
    assert documents.try_upload(name="c").problem == (409, "queue_full")
    assert documents.names() == ["a", "b"]
    assert len(world.objects()) == 2
    documents.delete(documents.listed()[0]["document_id"])
    fill(documents, clock, "d")
    assert documents.names() == ["b", "d"]


def test_the_oldest_makes_room(timed: Process, owner: Tenant, clock: ManualClock, world: World) -> None:
    documents = queue(timed, owner, max_queue_depth=2, overflow_policy="drop_oldest_append")
    fill(documents, clock, "a", "b", "c", "d")
    assert documents.names() == ["c", "d"]
    assert documents.stats()["depth"] == 2
    assert len(world.objects()) == 2


def test_d4_a_refused_upload_evicts_nothing(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    documents = queue(timed, owner, max_queue_depth=2, overflow_policy="drop_oldest_append")
    fill(documents, clock, "a", "b")
    assert documents.try_upload("a,a\n").problem == (422, "not_convertible")
    assert documents.try_upload(kind="text/plain").problem == (415, "unsupported_media_type")
    assert documents.try_upload(name=None).problem == (400, "validation_failed")
    assert documents.names() == ["a", "b"]


@pytest.mark.parametrize("policy", ["reject", "drop_oldest_append"])
def test_j4_the_expired_do_not_count(timed: Process, owner: Tenant, clock: ManualClock, policy: str) -> None:
    documents = queue(timed, owner, max_queue_depth=2, max_message_age_seconds=5, overflow_policy=policy)
    fill(documents, clock, "a", "b")
    document_id = documents.listed()[0]["document_id"]
    clock.advance(seconds=10)
    assert documents.stats() == {"depth": 0, "oldest_message_age_seconds": None}
    assert documents.try_download(document_id).problem == (404, "not_found")
    assert documents.head(document_id).status == 404
    assert documents.try_delete(document_id).problem == (404, "not_found")
    fill(documents, clock, "c", "d")
    assert documents.names() == ["c", "d"]
    if policy == "reject":
        assert documents.try_upload(name="e").problem == (409, "queue_full")


@pytest.mark.parametrize("policy", ["reject", "drop_oldest_append"])
def test_d3_parallel_uploads_at_the_limit(process: Process, tenant: Tenant, policy: str) -> None:
    documents = DocumentClient(process, tenant.key, policy).create(max_queue_depth=5, overflow_policy=policy)
    process.handler("document_upload")
    for _ in range(2):
        with ThreadPoolExecutor(16) as pool:
            replies = list(pool.map(lambda number: documents.try_upload(name=f"n{number}"), range(16)))
        stored = [reply.json["document_id"] for reply in replies if reply.status == 201]
        refused = [reply.problem for reply in replies if reply.status != 201]
        kept = [document["document_id"] for document in documents.listed()]
        assert len(kept) == 5
        assert set(kept) <= set(stored)
        if policy == "reject":
            assert refused == [(409, "queue_full")] * 11
        else:
            assert refused == []
        for document_id in kept:
            documents.delete(document_id)
        assert documents.stats()["depth"] == 0


def test_a_limit_that_comes_later_counts_what_is_there(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    documents = queue(timed, owner)
    fill(documents, clock, "a", "b", "c")
    for limit, policy, expected in ((3, "reject", 409), (2, "drop_oldest_append", 201), (1, "drop_oldest_append", 201)):
        body = {"settings": {"max_queue_depth": limit, "overflow_policy": policy}}
        assert documents.call("queue_update", body=body).status == 200
        clock.advance(seconds=6)
        reply = documents.try_upload(name=f"under{limit}")
        assert reply.status == expected
        assert len(documents.listed()) == (3 if expected == 409 else limit)


def test_stats_count_and_age(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    documents = queue(timed, owner)
    assert documents.stats() == {"depth": 0, "oldest_message_age_seconds": None}
    fill(documents, clock, "a", "b")
    assert documents.stats() == {"depth": 2, "oldest_message_age_seconds": 2}


@pytest.mark.parametrize("limit", [{}, {"max_queue_depth": 300}])
def test_a_purge_empties_the_queue(
    timed: Process, owner: Tenant, clock: ManualClock, world: World, limit: dict[str, Any]
) -> None:
    documents = queue(timed, owner, **limit)
    for number in range(120):
        documents.upload(name=f"n{number}")
    assert documents.call("queue_purge").status == 202
    assert documents.listed() == []
    assert world.objects() == []
    assert documents.stats()["depth"] == 0
    clock.advance(seconds=1)
    documents.upload(name="later")
    timed.run("queue_sweep")
    assert documents.names() == ["later"]


def test_a_deleted_queue_leaves_nothing(timed: Process, owner: Tenant, clock: ManualClock, world: World) -> None:
    documents = queue(timed, owner, max_queue_depth=10)
    fill(documents, clock, "a", "b")
    queue_id = documents.queue_id
    before = len(world.rows(world.state_table))
    assert documents.call("queue_delete").status == 204
    assert documents.try_list().problem == (404, "not_found")
    timed.run("queue_sweep")
    clock.advance(seconds=70)
    timed.run("queue_sweep")
    rows = [row for row in world.rows(world.state_table) if queue_id in str(row)]
    assert rows == []
    assert world.objects() == []
    assert before > len(world.rows(world.state_table))
