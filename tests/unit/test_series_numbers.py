"""Exact decimals and the grid of buckets."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker import times
from broker.errors import ValidationFailed
from broker.jsontext import Number
from broker.series import decimals
from broker.series.grid import Grid
from broker.series.key import SeriesKey, readings

numbers = st.builds(
    lambda digits, power: Decimal(f"{digits}e{power}"), st.integers(-(10**38) + 1, 10**38 - 1), st.integers(-150, 80)
)


@given(numbers)
def test_limbs_amount_to_the_number(value: Decimal) -> None:
    found = decimals.limbs(value)
    assert Fraction(decimals.total(found)) == Fraction(value)
    assert all(part and abs(part) < 10**18 and (part < 0) == (value < 0) for part in found.values())
    assert all(limb in decimals.LIMBS for limb in found)
    assert len(found) <= 4


@given(st.lists(numbers, max_size=8))
def test_limbs_add_up(values: list[Decimal]) -> None:
    added: dict[int, int] = {}
    for value in values:
        for limb, part in decimals.limbs(value).items():
            added[limb] = added.get(limb, 0) + part
    assert Fraction(decimals.total(added)) == sum(map(Fraction, values), Fraction())


def test_a_usual_number_is_one_limb() -> None:
    assert [list(decimals.limbs(Decimal(text))) for text in ("12.34", "-0.000000001", "999999999")] == [[0]] * 3
    assert decimals.limbs(Decimal(0)) == {}
    assert decimals.total({}) == 0


@given(numbers, st.integers(1, 10**9))
def test_an_average_is_exact_or_has_38_digits(value: Decimal, count: int) -> None:
    found = decimals.average(value, count)
    exact = Fraction(value) / count
    if Fraction(found) != exact:
        assert len(found.as_tuple().digits) <= 38
        assert abs(Fraction(found) - exact) <= abs(exact) / 2 / 10**37


def test_an_average_is_rounded_half_to_even() -> None:
    assert decimals.average(Decimal(f"2{0:037d}1"), 2) == Decimal("100000000000000000000000000000000000000.5")
    assert decimals.average(Decimal(2), 3) == Decimal("0." + "6" * 37 + "7")


@given(st.one_of(st.integers(), st.decimals(allow_nan=False, allow_infinity=False)))
def test_what_is_read_is_the_number_or_nothing(value: int | Decimal) -> None:
    found = decimals.read(value if isinstance(value, int) else Number(str(value)))
    if found is not None:
        assert Fraction(found) == Fraction(value)
        assert Fraction(decimals.text(found)) == Fraction(value)
        assert len(found.as_tuple().digits) <= 38


@pytest.mark.parametrize("value", [True, "1", None, 1.5, [], {}])
def test_what_is_no_json_number_is_none(value: object) -> None:
    assert decimals.read(value) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("1E+2", "100"),
        ("1E+39", "1" + "0" * 39),
        ("1E+40", "1E+40"),
        ("1E-20", f"0.{0:019d}1"),
        ("1E-21", "1E-21"),
        ("-12.50", "-12.50"),
    ],
)
def test_numbers_are_plain_where_that_is_short(value: str, text: str) -> None:
    assert decimals.text(Decimal(value)) == text


@given(
    st.one_of(st.sampled_from([1, 60, 300, 7200]), st.integers(1, 60).map(lambda days: days * 86_400)),
    st.integers(times.FIRST, times.LAST),
)
def test_every_moment_lies_in_one_bucket(interval: int, at: int) -> None:
    grid = Grid(interval)
    start = grid.floor(at)
    assert start <= at < start + grid.interval
    assert grid.floor(start) == grid.ceil(start) == start
    assert grid.ceil(at) in (start, start + grid.interval)
    assert grid.ceil(at) >= at
    assert grid.floor(start - 1) == start - grid.interval
    if interval % (7 * 86_400) == 0:
        assert (start // 86_400_000 + 3) % 7 == 0, "a Monday"
    else:
        assert start % grid.interval == 0


def test_the_grid_lies_within_the_years_that_can_be_written() -> None:
    for interval in (1, 86_400, 7 * 86_400, 36_500 * 86_400):
        grid = Grid(interval)
        assert times.FIRST <= grid.first < times.FIRST + grid.interval
        assert times.LAST - grid.interval < grid.end <= times.LAST
        assert times.text(grid.first) >= "0001"
        assert times.text(grid.end) < "9999-12-32"


def ids(text: str | None, *paths: str) -> list[str]:
    return [key.id for key in readings(text, paths=paths)]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a", [["a"]]),
        ("1.0", [["1.0"], [1]]),
        ("true", [["true"], [True]]),
        ("null", [["null"]]),
        ('["a"]', [['["a"]'], ["a"]]),
        ('"a"', [['"a"']]),
        ("", [[""]]),
        ("NaN", [["NaN"]]),
        ("\ud800", [["\ud800"]]),
    ],
)
def test_what_the_text_of_one_field_can_mean(text: str, meant: list[list[object]]) -> None:
    assert ids(text, "id") == [SeriesKey.of(values).id for values in meant]


def test_what_the_text_of_several_fields_means() -> None:
    assert ids('["a", 1.0]', "id", "k") == [SeriesKey.of(["a", 1]).id]
    for text in ("a", "1", '["a"]', '["a",null]', '["a",[]]', None):
        with pytest.raises(ValidationFailed):
            ids(text, "id", "k")
    assert ids(None) == [SeriesKey.of([]).id]
    with pytest.raises(ValidationFailed):
        ids("a")


def test_equal_keys_are_one_series() -> None:
    assert SeriesKey.of([1]) == SeriesKey.of([Number("1.0")])
    assert SeriesKey.of(["1"]) != SeriesKey.of([1])
    assert len(SeriesKey.of(["a"]).id) == 43
