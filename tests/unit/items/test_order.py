"""The order of items, as texts."""

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from broker.items.order import number_order, prefix_text, sort_text
from broker.jsontext import Number

digits = st.integers(-(10**40), 10**40)
numbers = st.one_of(
    st.integers(-1100, 1100).map(str),
    digits.map(str),
    st.builds(lambda whole, power: f"{whole}e{power}", digits, st.integers(-400, 400)),
    st.builds(lambda whole, places: f"{whole}e-{places}", st.integers(-200, 200), st.integers(0, 3)),
).map(Number)
texts = st.text(alphabet=st.sampled_from("ab\x00\x01\x02é\U0001f600"), max_size=6)
HASH = "0" * 64


def place(*values: Any) -> bytes:
    return sort_text(list(values), digest=HASH).encode()


@given(numbers, numbers)
def test_numbers_compare_by_value(one: Number, other: Number) -> None:
    left, right = Decimal(one.text), Decimal(other.text)
    assert (number_order(one) < number_order(other)) == (left < right)
    assert (number_order(one) == number_order(other)) == (left == right)


@given(texts, texts, texts, texts)
def test_strings_compare_by_code_point_field_by_field(a: str, b: str, c: str, d: str) -> None:
    assert (place(a, b) < place(c, d)) == ((a, b) < (c, d))


@given(numbers, texts)
def test_numbers_come_before_strings_and_strings_before_the_rest(number: Number, text: str) -> None:
    assert place(number) < place(text) < place(False) < place(True)


@given(numbers, texts, texts)
def test_sort_keys_are_ordered_as_keys_are(number: Number, one: str, other: str) -> None:
    by_number, by_one, by_other, by_rest = (
        sort_text(["k"], digest=HASH, by=value).encode() for value in (number, one, other, None)
    )
    assert by_number < by_one < by_rest
    assert (by_one < by_other) == (one < other)


@given(texts, texts)
def test_a_prefix_is_one_of_the_place_too(prefix: str, rest: str) -> None:
    assert sort_text([prefix + rest], digest=HASH).startswith(prefix_text(prefix))


@given(st.text(max_size=3000), st.one_of(numbers, st.text(max_size=3000), st.none()))
def test_a_place_fits_a_range_key(key: str, by: Any) -> None:
    assert len(sort_text([key], digest=HASH, by=by).encode("utf-8", "surrogatepass")) <= 1024
