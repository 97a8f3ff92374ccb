"""Work side by side: in order, within the caller's time, and never waiting for itself."""

import threading

import pytest

from edge.clients import THREADS
from edge.retry import remaining_seconds, time_limit
from edge.threads import side_by_side


def test_results_come_in_the_order_of_the_tasks() -> None:
    assert side_by_side(lambda number: number * 2, range(100)) == [number * 2 for number in range(100)]


def test_tasks_run_at_the_same_time() -> None:
    meeting = threading.Barrier(8, timeout=10)
    assert sorted(side_by_side(lambda _: meeting.wait(), range(8))) == list(range(8))


def test_tasks_inside_tasks_do_not_wait_for_threads_that_wait_for_them() -> None:
    def nested(number: int) -> int:
        return sum(side_by_side(lambda inner: inner + number, range(5)))

    outer = range(THREADS * 4)
    assert side_by_side(nested, outer) == [10 + 5 * number for number in outer]


def test_the_time_limit_holds_in_every_thread() -> None:
    with time_limit(5):
        assert all(0 < left <= 5 for left in side_by_side(lambda _: remaining_seconds(), range(20)))


def test_the_first_failure_in_order_is_raised_after_all_have_ended() -> None:
    ended: list[int] = []

    def work(number: int) -> None:
        ended.append(number)
        if number in {3, 7}:
            raise ValueError(number)

    with pytest.raises(ValueError, match="3"):
        side_by_side(work, range(10))
    assert sorted(ended) == list(range(10))
