import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors import InvalidToken
from broker.log.cursor import Cursor, Seen
from edge import Position

positions = st.builds(
    Position, st.integers(-(2**63), 2**63 - 1), st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", max_size=26)
)
pages = st.lists(positions, min_size=1, max_size=30, unique=True).map(sorted)


@given(pages, st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | positions)
def test_a_cursor_survives_its_writing(page: list[Position], offset: int | None, start: Position | None) -> None:
    first = Cursor.after(page, offset=offset, start=start, previous=None)
    second = Cursor.after(page[-1:], offset=offset, start=None, previous=first)
    for cursor in (first, second):
        assert Cursor.decode(cursor.encode()) == cursor
    assert all(first.returned(position) for position in page)


@given(pages, pages)
def test_a_chain_counts_all_it_returned(first: list[Position], second: list[Position]) -> None:
    start = Cursor.after(first, offset=1, start=None, previous=None)
    end = Cursor.after(second, offset=2, start=None, previous=start)
    assert (start.start, start.page_start, start.last, start.before) == (None, None, first[-1], Seen())
    assert (end.start, end.page_start, end.last, end.before) == (None, first[-1], second[-1], Seen.of(first))


@given(st.lists(positions, max_size=20, unique=True), st.randoms())
def test_what_was_seen_does_not_depend_on_order(page: list[Position], rng: object) -> None:
    shuffled = list(page)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis' own Random
    assert Seen.of(shuffled) == Seen.of(page)
    assert Seen.of(page[:5]) + Seen.of(page[5:]) == Seen.of(page)


@given(st.lists(positions, min_size=1, max_size=20, unique=True), positions)
def test_one_more_one_less_or_another_is_seen(page: list[Position], other: Position) -> None:
    if other not in page:
        assert Seen.of([*page, other]) != Seen.of(page)
        assert Seen.of([*page[1:], other]) != Seen.of(page)
        assert not Cursor.after(sorted(page), offset=None, start=None, previous=None).returned(other)
    assert Seen.of(page[1:]) != Seen.of(page)


def test_a_message_of_another_id_was_not_returned() -> None:
    cursor = Cursor.after([Position(7, "B")], offset=7, start=None, previous=None)
    assert cursor.returned(Position(7, "B"))
    assert not any(cursor.returned(Position(seq, record)) for seq, record in ((7, "A"), (7, "C"), (6, "B"), (8, "B")))


@pytest.mark.parametrize("content", [b"", b"\n", b"[]", b"[1,2]\nabcd", b"{}", b"x\n", b"[1,2,3,4,5,6,7,8,9]\n"])
def test_a_cursor_of_another_version_is_no_token(content: bytes) -> None:
    with pytest.raises(InvalidToken):
        Cursor.decode(content)
