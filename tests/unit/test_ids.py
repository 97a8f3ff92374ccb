from concurrent.futures import ThreadPoolExecutor

import pytest

from broker.ids import MonotonicIds, SeededIds, is_ulid, moment
from tests.worlds import START, ManualClock


def test_ids_grow_whatever_the_clock_does(clock: ManualClock) -> None:
    ids = MonotonicIds(clock)
    made = [ids() for _ in range(1000)]
    clock.advance(milliseconds=1)
    made += [ids() for _ in range(10)]
    clock.advance(seconds=-3600)
    made += [ids() for _ in range(10)]
    assert made == sorted(set(made))
    assert {moment(made[0]), moment(made[1005])} == {START, START + 1}
    assert all(is_ulid(each) for each in made)


def test_ids_of_two_processes_differ(clock: ManualClock) -> None:
    first, second = MonotonicIds(clock), MonotonicIds(clock)
    assert {first() for _ in range(100)}.isdisjoint({second() for _ in range(100)})


def test_ids_are_unique_across_threads(clock: ManualClock) -> None:
    ids = MonotonicIds(clock)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: ids(), range(4000)))
    assert len(set(made)) == 4000


def test_seeded_ids_are_the_same_again_and_grow() -> None:
    first, again, other, later = (
        SeededIds(at, seed=seed) for at, seed in ((START, b"a"), (START, b"a"), (START, b"b"), (START + 1, b"a"))
    )
    made = [first() for _ in range(1000)]
    assert made == [again() for _ in range(1000)]
    assert made == sorted(set(made))
    assert {moment(each) for each in made} == {START}
    assert set(made).isdisjoint(other() for _ in range(1000))
    assert made[-1] < later()


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", True),
        ("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", True),
        ("8ZZZZZZZZZZZZZZZZZZZZZZZZZ", False),
        ("01arz3ndektsv4rrffq69g5fav", False),
        ("01ARZ3NDEKTSV4RRFFQ69G5FA", False),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAVX", False),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAU", False),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAI", False),
        ("01ARZ3NDEKTSV4RRFFQ69G5F V", False),
        ("\u0661" * 26, False),
        ("é" * 26, False),
        ("", False),
    ],
)
def test_what_is_an_id(text: str, *, valid: bool) -> None:
    assert is_ulid(text) is valid
