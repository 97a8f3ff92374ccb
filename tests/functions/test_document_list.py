"""document_list: newest last, by name prefix and time, a page at a time, none twice and none missing."""

from typing import Any

import pytest

from edge import StatePage, StateTable
from tests.functions.documents import DocumentClient
from tests.processes import Process, Tenant
from tests.worlds import START, ManualClock
from tools.ledger import Ledger


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


@pytest.fixture
def documents(timed: Process, owner: Tenant) -> DocumentClient:
    return DocumentClient(timed, owner.key).create()


def fill(documents: DocumentClient, clock: ManualClock, *names: str) -> None:
    for name in names:
        documents.upload(name=name)
        clock.advance(seconds=1)


def test_newest_last_page_by_page(documents: DocumentClient, clock: ManualClock) -> None:
    names = ["d", "a", "c", "a", "b"]
    fill(documents, clock, *names)
    assert documents.names() == names
    assert documents.pages(limit=2) == [["d", "a"], ["c", "a"], ["b"]]
    assert documents.pages(limit=5) == [names]


def test_by_prefix_newest_last_page_by_page(documents: DocumentClient, clock: ManualClock) -> None:
    fill(documents, clock, "inv-3", "offer", "inv-1", "inv", "INV-9", "inv-2")
    assert documents.names(name_prefix="inv-") == ["inv-3", "inv-1", "inv-2"]
    assert documents.pages(name_prefix="inv", limit=3) == [["inv-3", "inv-1", "inv"], ["inv-2"]]
    assert documents.names(name_prefix="inv-12") == []


@pytest.mark.parametrize("prefix", ["é", "📄", "%", "a b", "#", "inv-"])
def test_a_prefix_is_text(documents: DocumentClient, prefix: str) -> None:
    from urllib.parse import quote

    for name in (prefix, f"{prefix}x", f"x{prefix}"):
        documents.upload(name=quote(name, safe=""))
    assert documents.names(name_prefix=prefix) == [prefix, f"{prefix}x"]


def test_by_time(documents: DocumentClient, clock: ManualClock) -> None:
    fill(documents, clock, "a", "b", "c")
    second = START + 1000
    assert documents.names(uploaded_from=second) == ["b", "c"]
    assert documents.names(uploaded_to=second) == ["a"]
    assert documents.names(uploaded_from=second, uploaded_to=second + 1) == ["b"]
    assert documents.names(uploaded_from=second, uploaded_to=second) == []
    assert documents.names(uploaded_from="2026-11-30T11:00:01+01:00") == ["b", "c"]
    assert documents.names(uploaded_to=-5) == []
    assert documents.names(name_prefix="b", uploaded_from=START + 500) == ["b"]
    assert documents.names(name_prefix="a", uploaded_from=START + 500) == []
    assert documents.pages(uploaded_from=START, uploaded_to=START + 2000, limit=1) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"uploaded_from": "2026-11-30T10:00:00"}, "uploaded_from"),
        ({"uploaded_to": "yesterday"}, "uploaded_to"),
        ({"uploaded_from": 2, "uploaded_to": 1}, "uploaded_to"),
        ({"name_prefix": ""}, "name_prefix"),
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"prefix": "a"}, "prefix"),
    ],
)
def test_a_query_that_makes_no_sense_is_400(documents: DocumentClient, query: dict[str, object], field: str) -> None:
    reply = documents.try_list(**query)
    assert (reply.status, reply.fields) == (400, [field])


def test_a_token_is_of_one_list(documents: DocumentClient, clock: ManualClock, timed: Process, owner: Tenant) -> None:
    fill(documents, clock, "a1", "a2", "a3")
    token = documents.try_list(limit=1).json["next_token"]
    prefixed = documents.try_list(limit=1, name_prefix="a").json["next_token"]
    other = DocumentClient(timed, owner.key, "other").create()
    for client, query in (
        (documents, {"next_token": prefixed}),
        (documents, {"next_token": token, "name_prefix": "a"}),
        (documents, {"next_token": prefixed, "name_prefix": "a1"}),
        (documents, {"next_token": token, "uploaded_from": START}),
        (documents, {"next_token": token[:-2] + "AA"}),
        (other, {"next_token": token}),
    ):
        assert client.try_list(**query).problem == (400, "invalid_token")


def test_the_expired_are_not_listed(timed: Process, owner: Tenant, clock: ManualClock) -> None:
    documents = DocumentClient(timed, owner.key, "short").create(max_message_age_seconds=2)
    fill(documents, clock, "a", "b", "c")
    assert documents.names() == ["c"]
    assert documents.names(name_prefix="a") == []
    assert documents.names(name_prefix="c") == ["c"]
    assert documents.names(uploaded_from=START) == ["c"]
    clock.advance(seconds=5)
    assert documents.names() == []


def test_a_page_is_one_query_and_a_prefix_reads_only_what_it_names(
    documents: DocumentClient, ledger: Ledger, clock: ManualClock
) -> None:
    fill(documents, clock, *(f"other-{number}" for number in range(60)), "inv-1", "inv-2")
    documents.names()
    with ledger.operation("page") as page:
        assert len(documents.names(limit=10)) == 10
    with ledger.operation("prefix") as prefixed:
        assert documents.names(name_prefix="inv-") == ["inv-1", "inv-2"]
    assert page.calls == {"dynamodb.Query": 1}
    assert prefixed.calls == {"dynamodb.Query": 1, "dynamodb.BatchGetItem": 1}
    assert prefixed.read_units <= 4


@pytest.mark.parametrize("change", ["nothing", "delete", "upload"])
def test_a_prefix_of_more_than_one_read_is_listed_whole(
    documents: DocumentClient, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """As if a read of the index gave three documents: runs by name, each newest last, none twice and none missing."""
    original = StateTable.query

    def query(self: StateTable, pk: str, **request: Any) -> StatePage:
        if request.get("index") == "by_sort":
            request["limit"] = 3
        return original(self, pk, **request)

    monkeypatch.setattr(StateTable, "query", query)
    names = ["p7", "p1", "p5", "p2", "p8", "p3", "p6", "p4"]
    fill(documents, clock, *names, "q1", "o1")
    answer = documents.try_list(name_prefix="p", limit=2).json
    seen = [document["name"] for document in answer["documents"]]
    assert seen == ["p1", "p2"]
    if change == "delete":
        documents.delete(answer["documents"][0]["document_id"])
    if change == "upload":
        fill(documents, clock, "p0", "p10", "p11")
    while "next_token" in answer:
        answer = documents.try_list(name_prefix="p", limit=2, next_token=answer["next_token"]).json
        seen += [document["name"] for document in answer["documents"]]
    assert sorted(set(seen) & set(names)) == sorted(names)
    assert len(seen) == len(set(seen))
    if change == "nothing":
        assert seen == ["p1", "p2", "p3", "p5", "p6", "p4", "p7", "p8"]


def test_a_document_deleted_between_pages_takes_no_other_with_it(documents: DocumentClient, clock: ManualClock) -> None:
    fill(documents, clock, "p1", "p2", "p3", "p4", "p5")
    for query in ({}, {"name_prefix": "p"}):
        first = documents.try_list(limit=2, **query).json
        documents.delete(first["documents"][1]["document_id"])
        rest = documents.try_list(limit=9, next_token=first["next_token"], **query).json
        assert [one["name"] for one in rest["documents"]][-2:] == ["p4", "p5"]
