"""Where a page may end, against a plain reading of the contract."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from edge.page import Cut, cut_page

Record = tuple[int, int]  # seq, weight
MOST, HEAVIEST = 6, 10

records = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 12)), max_size=25).map(
    lambda found: sorted(found, key=lambda record: record[0])
)


def cut(source: list[Record], limit: int) -> tuple[Cut[Record], int]:
    """The page, and how many records were read for it."""
    read = 0

    def reader() -> Iterator[Record]:
        nonlocal read
        for record in source:
            read += 1
            yield record

    page = cut_page(
        reader(),
        limit=limit,
        most=MOST,
        max_weight=HEAVIEST,
        weigh=lambda record: record[1],
        seq=lambda record: record[0],
    )
    return page, read


@given(records, st.integers(1, MOST))
def test_the_promises_of_a_page(source: list[Record], limit: int) -> None:
    page, read = cut(source, limit)
    size = len(page.records)
    assert page.records == source[:size]
    assert page.more == (size < len(source))
    assert read <= size + MOST + 1
    if not source:
        return
    assert size >= 1
    ends_inside = page.more and source[size][0] == source[size - 1][0]
    assert page.inside_run == ends_inside
    first_run = sum(record[0] == source[0][0] for record in source)
    if ends_inside:  # only where that one run is all there is on the page, and too much for it
        assert page.records[0][0] == page.records[-1][0]
        assert size == MOST or sum(weight for _, weight in source[: size + 1]) > HEAVIEST
    assert size <= max(limit, min(first_run, MOST))
    assert size == 1 or sum(weight for _, weight in page.records) <= HEAVIEST


@given(records, st.integers(1, MOST))
def test_a_page_is_not_shorter_than_it_must_be(source: list[Record], limit: int) -> None:
    page, _ = cut(source, limit)
    size = len(page.records)
    if not page.more or page.inside_run or size >= limit:
        return
    run = [record for record in source[size:] if record[0] == source[size][0]]
    longer = source[: size + len(run)]
    assert len(longer) > limit or sum(weight for _, weight in longer) > HEAVIEST


def test_examples() -> None:
    light = [(7, 1), (7, 1), (7, 1), (8, 1)]
    assert cut(light, 2)[0] == Cut(light[:3], more=True, inside_run=False)
    assert cut([(6, 1), *light], 2)[0] == Cut([(6, 1)], more=True, inside_run=False)
    assert cut([(7, 0)] * 8, 2)[0] == Cut([(7, 0)] * 6, more=True, inside_run=True)
    assert cut([(7, 5)] * 3, 2)[0] == Cut([(7, 5)] * 2, more=True, inside_run=True)
    assert cut([(7, 99), (7, 1)], 2)[0] == Cut([(7, 99)], more=True, inside_run=True)
    assert cut([(7, 99), (8, 1)], 2)[0] == Cut([(7, 99)], more=True, inside_run=False)
    assert cut([(7, 9), (8, 1), (8, 1)], 3)[0] == Cut([(7, 9)], more=True, inside_run=False)
    assert cut([], 1)[0] == Cut([], more=False, inside_run=False)
