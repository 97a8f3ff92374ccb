"""Where a page of an ordered log may end: never inside a run of equal seq, unless the run alone is too big."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Cut(Generic[R]):
    """A page: its records, whether more follow, and whether it had to end inside a run of equal seq."""

    records: list[R]
    more: bool
    inside_run: bool


def cut_page(
    records: Iterable[R],
    *,
    limit: int,
    most: int,
    max_weight: int,
    weigh: Callable[[R], int],
    seq: Callable[[R], int],
) -> Cut[R]:
    """Take a page off a lazily read, ordered source; no more is read than it takes to know where the page ends.

    The page aims at `limit` records and `max_weight`. If that would end it inside a run of equal seq it stops
    before the run; if the run is all there is on the page, the page grows to its end; if the run passes `most`
    records or `max_weight`, the page ends inside it.
    """
    page: list[R] = []
    run_start, weight = 0, 0
    for record in records:
        if page and seq(record) != seq(page[-1]):
            run_start = len(page)
            if len(page) >= limit:
                return Cut(page, more=True, inside_run=False)
        heavy = bool(page) and weight + weigh(record) > max_weight
        if heavy or len(page) >= (limit if run_start else most):
            if run_start == len(page):
                return Cut(page, more=True, inside_run=False)
            if run_start:
                return Cut(page[:run_start], more=True, inside_run=False)
            return Cut(page, more=True, inside_run=True)
        page.append(record)
        weight += weigh(record)
    return Cut(page, more=False, inside_run=False)
