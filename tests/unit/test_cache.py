import pytest

from broker.cache import Cache
from tests.worlds import ManualClock


class Loads:
    """Counts what is loaded."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> int:
        self.count += 1
        return self.count


def test_a_value_is_kept_for_its_time_and_not_longer(clock: ManualClock) -> None:
    cache: Cache[str, int] = Cache(seconds=60, clock=clock)
    load = Loads()
    assert cache.get("a", load) == 1
    clock.advance(milliseconds=59_999)
    assert cache.get("a", load) == 1  # and reading does not prolong it
    clock.advance(milliseconds=1)
    assert cache.get("a", load) == 2


def test_the_time_is_of_before_the_load(clock: ManualClock) -> None:
    cache: Cache[str, int] = Cache(seconds=60, clock=clock)

    def slow() -> int:
        clock.advance(seconds=30)
        return 1

    cache.get("a", slow)
    clock.advance(seconds=30)
    assert cache.get("a", lambda: 2) == 2


def test_a_clock_that_goes_back_is_not_trusted(clock: ManualClock) -> None:
    cache: Cache[str, int] = Cache(seconds=60, clock=clock)
    cache.get("a", lambda: 1)
    clock.advance(milliseconds=-1)
    assert cache.get("a", lambda: 2) == 2


def test_a_load_that_fails_remembers_nothing(clock: ManualClock) -> None:
    cache: Cache[str, int] = Cache(seconds=60, clock=clock)

    def fail() -> int:
        raise LookupError

    with pytest.raises(LookupError):
        cache.get("a", fail)
    assert cache.get("a", lambda: 1) == 1


def test_none_is_a_value(clock: ManualClock) -> None:
    cache: Cache[str, None] = Cache(seconds=60, clock=clock)
    loads: list[None] = []
    for _ in range(2):
        assert cache.get("a", lambda: loads.append(None)) is None
    assert len(loads) == 1


def test_the_least_recently_used_goes_first(clock: ManualClock) -> None:
    cache: Cache[str, int] = Cache(seconds=60, clock=clock, size=2)
    load = Loads()
    for key in ("a", "b", "a", "c"):
        cache.get(key, load)
    assert [cache.get(key, lambda: 0) for key in ("a", "c")] == [1, 3]
    assert cache.get("b", lambda: 0) == 0


def test_forgotten_values_are_loaded_again(clock: ManualClock) -> None:
    cache: Cache[str, int] = Cache(seconds=60, clock=clock)
    for key in ("a", "b"):
        cache.get(key, lambda: 1)
    cache.forget("a")
    cache.forget("never there")
    assert [cache.get(key, lambda: 2) for key in ("a", "b")] == [2, 1]
    cache.clear()
    assert [cache.get(key, lambda: 3) for key in ("a", "b")] == [3, 3]
