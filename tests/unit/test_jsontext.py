import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors import MalformedJson, PayloadTooDeep
from broker.jsontext import MAX_DEPTH, Number, Raw, check_depth, dumps, loads

EXACT = [
    "0",
    "-0",
    "-0.0",
    "1",
    "-1",
    "1.0",
    "0.10",
    "1e400",
    "-1E+400",
    "1e-400",
    "123456789012345678901234567890",
    "9" * 4301,
    "-" + "9" * 4301,
    "0." + "3" * 10_000,
    "1" * 4000,
    "1" * 4001,
    "true",
    "null",
    '""',
    '"\\u0000\\u001f"',
    '"\\"\\\\/"',
    '"\u2028\u00e9\U0001f600"',
    "[]",
    "{}",
    '{"b":1,"a":2,"":3}',
    '[1,1.0,1e0,"1",true,null]',
]


@pytest.mark.parametrize("text", EXACT, ids=lambda text: text[:20])
def test_a_text_comes_back_as_it_was(text: str) -> None:
    assert dumps(loads(text.encode())).decode() == text


def test_surrogates_come_back_escaped() -> None:
    for text in ('"\\ud800"', '"a\\udfffb"', '{"\\ud800":"\\udc00"}', '["\\udc00\\ud800"]'):
        assert dumps(loads(text.encode())).decode() == text
    assert dumps(loads(b'"\\ud83d\\ude00"')).decode() == '"\U0001f600"'  # a pair is a character


NO_JSON = [
    "NaN",
    "[NaN]",
    "Infinity",
    "-Infinity",
    "nan",
    "inf",
    "01",
    "1.",
    ".1",
    "+1",
    "0x1",
    "1e",
    "'a'",
    '"',
    "[1,]",
    '{"a":1,}',
    "{a:1}",
    '{"a"}',
    "tru",
    "[1",
    "]",
    "--1",
    '{"a":1,"a":1}',
    '[{"x":{"a":1,"b":2,"a":3}}]',
]


@pytest.mark.parametrize(
    "text", [*NO_JSON, "", " ", "1 2", "\ufeff1", '"\x00"', '"\n"', "\x00", "1\x00", "\xa01"], ids=repr
)
def test_what_is_no_json_is_malformed(text: str) -> None:
    with pytest.raises(MalformedJson):
        loads(text.encode())


@pytest.mark.parametrize(
    "data", [b"\xff", b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\x80"', '"a"'.encode("utf-16"), b"\xfe\xff"]
)
def test_what_is_not_utf_8_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedJson):
        loads(data)


def test_the_place_of_a_fault_is_told() -> None:
    with pytest.raises(MalformedJson, match="line 2, column 6"):
        loads(b'{"a":\n[1,2,}')


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_depths_beyond_reading_are_too_deep(opening: str) -> None:
    with pytest.raises(PayloadTooDeep):
        loads((opening * 100_000).encode())


@pytest.mark.parametrize("kind", ["lists", "objects", "both"])
def test_depth_is_64(kind: str) -> None:
    def nested(depth: int) -> object:
        value: object = 1
        for level in range(depth):
            value = [value, 2] if kind == "lists" or (kind == "both" and level % 2) else {"x": 0, "y": value}
        return value

    for depth in (0, 1, MAX_DEPTH):
        check_depth(nested(depth))
    with pytest.raises(PayloadTooDeep):
        check_depth(nested(MAX_DEPTH + 1))
    with pytest.raises(PayloadTooDeep):
        check_depth([1, {"wide": [nested(MAX_DEPTH - 1)]}, 2])
    check_depth(nested(3), most=3)
    with pytest.raises(PayloadTooDeep):
        check_depth(nested(4), most=3)


def test_an_empty_container_is_a_level() -> None:
    value: object = []
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    check_depth(value)
    with pytest.raises(PayloadTooDeep):
        check_depth([value])


def test_whole_numbers_are_int_and_others_text() -> None:
    assert [type(loads(text)) for text in (b"1", b"1.0", b"1e0", b"-0")] == [int, Number, Number, Number]
    assert loads(b"9007199254740993") == 9007199254740993


WHOLE = {"1.0": 1, "1e3": 1000, "10e-1": 1, "-0": 0, "1e40": 10**40, "0.1e1": 1, "-2.50e1": -25, "0e99": 0}
NOT_WHOLE = ["1.5", "1e400", "1e-400", "1e41", "9" * 4301, "1e99999999999999999999"]


@pytest.mark.parametrize("text", [*WHOLE, *NOT_WHOLE], ids=lambda text: text[:20])
def test_the_whole_value_of_a_number(text: str) -> None:
    assert Number(text).integer() == WHOLE.get(text)


def test_the_decimal_of_a_number_is_exact_or_none() -> None:
    assert Number("0.10").decimal() == Decimal("0.10")
    assert Number("1e999999999999999999999").decimal() is None


@pytest.mark.parametrize("value", [Decimal(1), {1, 2}, b"x", float("nan"), float("inf"), object()])
def test_what_is_not_json_is_not_written(value: object) -> None:
    for whole in (value, [value], {"a": Raw("1"), "b": value}):
        with pytest.raises((TypeError, ValueError)):
            dumps(whole)


def test_raw_text_is_spliced_in() -> None:
    assert dumps({"a": Raw('{"x": 1.50}'), "b": [Raw("1e400")], "é": "ü"}).decode() == (
        '{"a":{"x": 1.50},"b":[1e400],"é":"ü"}'
    )


def test_both_ways_of_writing_agree() -> None:
    plain = {"a\n": ["é", True, None, 1, {"": "\u2028\x7f"}], "z": "\ud800"}
    assert dumps([plain, Raw("0")]) == b"[" + dumps(plain) + b",0]"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_plain_values_are_written_as_json(value: object) -> None:
    assert json.loads(dumps(value)) == value
    assert loads(dumps(value)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_decimals_keep_their_digits(value: Decimal) -> None:
    text = str(value)
    assert dumps(loads(text.encode())).decode() == text
