import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edge import Edge, EdgePage, EdgeTable, Position
from tools.ledger import Ledger

MAX = 2**63 - 1


def store(edges: EdgeTable, source: str, *seqs: int, size: int = 0) -> list[Edge]:
    """Insert one edge per seq, ids ascending; returns them in (seq, id) order."""
    stored = [Edge(source, seq, f"{n:05d}", {"body": bytes(size)}) for n, seq in enumerate(seqs)]
    assert edges.insert_many(stored) == [None] * len(stored)
    return sorted(stored, key=lambda edge: edge.position)


def seqs(page: EdgePage) -> list[int]:
    return [edge.seq for edge in page.edges]


def test_after_is_exclusive_and_until_inclusive(edges: EdgeTable, source: str) -> None:
    store(edges, source, -3, -2, -1, 0, 5)
    assert seqs(edges.scan(source, after=-2)) == [-1, 0, 5]
    assert seqs(edges.scan(source, until=-1)) == [-3, -2, -1]
    assert seqs(edges.scan(source, after=-3, until=0)) == [-2, -1, 0]
    assert seqs(edges.scan(source, after=0, until=0)) == []
    assert seqs(edges.scan(source, after=3, until=1)) == []


def test_bounds_reach_the_ends_of_int64(edges: EdgeTable, source: str) -> None:
    store(edges, source, -MAX - 1, MAX)
    assert seqs(edges.scan(source)) == [-MAX - 1, MAX]
    assert seqs(edges.scan(source, after=-MAX - 1, until=MAX)) == [MAX]
    assert seqs(edges.scan(source, until=-MAX - 1)) == [-MAX - 1]
    assert edges.scan(source, after=MAX) == EdgePage((), MAX, has_next=False, resume=None)


def test_an_empty_page_keeps_what_it_was_given(edges: EdgeTable, source: str) -> None:
    assert edges.scan(source) == EdgePage((), None, has_next=False, resume=None)
    assert edges.scan(source, after=7) == EdgePage((), 7, has_next=False, resume=None)
    resume = Position(7, "A")
    assert edges.scan(source, after=3, resume=resume) == EdgePage((), 3, has_next=False, resume=resume)


def test_a_page_has_the_limit_and_says_what_follows(edges: EdgeTable, source: str) -> None:
    stored = store(edges, source, 1, 2, 3)
    page = edges.scan(source, limit=2)
    assert page == EdgePage(tuple(stored[:2]), 2, has_next=True, resume=stored[1].position)
    page = edges.scan(source, after=page.offset, limit=2)
    assert page == EdgePage(tuple(stored[2:]), 3, has_next=False, resume=stored[2].position)
    assert not edges.scan(source, limit=3).has_next


def test_a_page_stops_before_a_run_or_grows_to_its_end(edges: EdgeTable, source: str) -> None:
    store(edges, source, 7, 7, 7, 8)
    grown = edges.scan(source, limit=2)
    assert (seqs(grown), grown.offset, grown.has_next) == ([7, 7, 7], 7, True)
    rest = edges.scan(source, after=grown.offset, limit=2)
    assert (seqs(rest), rest.offset, rest.has_next) == ([8], 8, False)
    edges.insert(Edge(source, 6, "early"))
    before = edges.scan(source, limit=2)
    assert (seqs(before), before.offset, before.has_next) == ([6], 6, True)
    fitting = edges.scan(source, limit=4)
    assert (seqs(fitting), fitting.offset, fitting.has_next) == ([6, 7, 7, 7], 7, True)


def test_a_run_too_long_is_split_and_not_offered_for_deletion(edges: EdgeTable, source: str) -> None:
    stored = store(edges, source, 3, *[7] * 12, 8)
    first = edges.scan(source, limit=2, max_run=5)
    assert (seqs(first), first.offset, first.has_next) == ([3], 3, True)
    second = edges.scan(source, after=3, limit=2, max_run=5)
    assert (seqs(second), second.offset, second.has_next) == ([7] * 5, 3, True)
    third = edges.scan(source, after=second.offset, resume=second.resume, limit=2, max_run=5)
    assert (seqs(third), third.offset, third.has_next) == ([7] * 5, 3, True)
    fourth = edges.scan(source, after=third.offset, resume=third.resume, limit=2, max_run=5)
    assert (seqs(fourth), fourth.offset, fourth.has_next) == ([7, 7], 7, True)
    last = edges.scan(source, after=fourth.offset, resume=fourth.resume, limit=2, max_run=5)
    pages = (first, second, third, fourth, last)
    assert [edge for page in pages for edge in page.edges] == stored
    assert not last.has_next


def test_a_page_ends_at_its_weight(edges: EdgeTable, source: str) -> None:
    store(edges, source, 1, 2, 3, 3, size=100)
    page = edges.scan(source, max_weight=250)
    assert (seqs(page), page.offset, page.has_next) == ([1, 2], 2, True)
    alone = edges.scan(source, max_weight=1)
    assert (seqs(alone), alone.offset, alone.has_next) == ([1], 1, True)
    inside = edges.scan(source, after=2, max_weight=150)
    assert (seqs(inside), inside.offset, inside.has_next) == ([3], 2, True)
    assert inside.resume is not None
    weighed = edges.scan(source, max_weight=2, weigh=lambda _: 1)
    assert seqs(weighed) == [1, 2]


def test_pages_of_the_engine_do_not_show(edges: EdgeTable, source: str, ledger: Ledger) -> None:
    stored = store(edges, source, *range(20), *[20] * 20, size=45_000)
    with ledger.operation("scan") as cost:
        page = edges.scan(source, limit=100)
    assert page == EdgePage(tuple(stored), 20, has_next=False, resume=stored[-1].position)
    assert cost.calls["dynamodb.Query"] == 2, "1.8 MB are two pages of 1 MB"
    grown = edges.scan(source, after=19, limit=1)
    assert (len(grown.edges), grown.offset, grown.has_next) == (20, 20, False)


@pytest.mark.parametrize("depth", [10, 300])
def test_a_page_is_one_query_however_much_follows(edges: EdgeTable, source: str, ledger: Ledger, depth: int) -> None:
    store(edges, source, *range(depth), size=1000)
    with ledger.operation("scan") as cost:
        page = edges.scan(source, after=1, limit=7)
    assert len(page.edges) == 7
    assert cost.calls == {"dynamodb.Query": 1}
    assert cost.read_units == 3, "eight edges of 1 KB: the seven, and the one that tells where the page ends"


_examples = itertools.count()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stored=st.lists(st.integers(-3, 3) | st.sampled_from([-MAX - 1, MAX]), max_size=30),
    limit=st.integers(1, 8),
    max_run=st.integers(8, 12),
    exact=st.booleans(),
)
def test_pages_lose_nothing_and_offsets_promise_nothing_unread(
    edges: EdgeTable, stored: list[int], limit: int, max_run: int, exact: bool
) -> None:
    source = f"pages#{next(_examples)}"
    want = store(edges, source, *stored)
    read: list[Edge] = []
    offset: int | None = None
    resume: Position | None = None
    while True:
        page = edges.scan(source, after=offset, resume=resume, limit=limit, max_run=max_run)
        read += page.edges
        promised = [edge for edge in want if page.offset is not None and edge.seq <= page.offset]
        assert promised == read[: len(promised)], "what may be deleted has been read"
        unfinished_run = page.offset != page.edges[-1].seq if page.edges else False
        offset = page.offset
        resume = page.resume if exact or unfinished_run else None
        if not page.has_next:
            break
    assert read == want
