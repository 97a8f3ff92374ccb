"""Cases C1, C2 and C4 on the pure functions that every type of queue uses."""

import itertools
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors import KeyFieldInvalid
from broker.identity import canonical, digest, field, key_value, key_values
from broker.jsontext import loads


def identity(text: str, *paths: str) -> str:
    return digest(key_values(loads(text.encode()), paths=paths))


# C1: values are never joined


def test_fields_do_not_run_into_each_other() -> None:
    pairs = [("1", "11"), ("11", "1"), ("", "x"), ("x", ""), ("a", "bc"), ("ab", "c")]
    for joint in ("|", "\u0000", ":", ",", "#", '"', "[", "]", "\\", '","', "\u001f", "/"):
        pairs += [(f"x{joint}y", "z"), ("x", f"y{joint}z")]
    found = {pair: identity(json.dumps({"a": pair[0], "b": pair[1]}), "a", "b") for pair in pairs}
    assert len(set(found.values())) == len(set(pairs))
    for pair, expected in found.items():
        assert identity(json.dumps({"b": pair[1], "other": 1, "a": pair[0]}), "a", "b") == expected


def test_the_number_and_order_of_fields_count() -> None:
    body = '{"a":"1","b":"2"}'
    assert len({identity(body, *paths) for paths in (("a",), ("b",), ("a", "b"), ("b", "a"), ("a", "a"))}) == 5


# C2: identity is typed and exact


def test_types_and_values_are_told_apart() -> None:
    values = ["1", '"1"', "true", '"true"', '"null"', "false", '""', "0", "100", "9007199254740993", "9007199254740992"]
    values += ["0.1", "0.10000000000000000555", "1e400", "1e401", "-1", '"\u00e9"', '"e\u0301"', '"A"', '"a"', '" a"']
    assert len({identity(f'{{"id":{value}}}', "id") for value in values}) == len(values)


@pytest.mark.parametrize(
    "same",
    [
        ["1", "1.0", "1e0", "1E0", "1E+0", "10e-1", "0.1e1", "1.000", "100e-2"],
        ["100", "1e2", "100.0", "1E+2", "0.1e3"],
        ["0", "-0", "0.0", "-0.0", "0e5", "0e-5", "0e99999"],
        ["-1.5", "-15e-1", "-1.50"],
        ["1e400", "10e399", "0.1e401"],
        ["12345678901234567890123456789", "1.2345678901234567890123456789e28"],
        ["1" + "0" * 5000, "1e5000"],
        ['"\\u00e9"', '"é"'],
        ['"\\ud83d\\ude00"', '"\U0001f600"'],
        ['"\\/"', '"/"'],
    ],
    ids=lambda same: same[0][:20],
)
def test_one_value_in_many_writings(same: list[str]) -> None:
    assert len({identity(f'{{"id":{text}}}', "id") for text in same}) == 1


def test_a_value_from_storage_is_the_same_as_published() -> None:
    for text in ("1", "1.0", "1e2", "100", "0.10", "-0"):
        published = loads(text.encode())
        stored = Decimal(text)
        assert canonical([published]) == canonical([int(stored) if stored == stored.to_integral_value() else stored])


def test_the_canonical_text() -> None:
    values = loads(b'["a\\"\\u0001\\u2028\\u007f", 100, 1.50, true, false, -0]')
    assert canonical(values).decode() == '["a\\"\\u0001\u2028\x7f",1e2,15e-1,true,false,0]'
    assert len(digest(values)) == 64
    assert canonical([]) == b"[]"


@given(st.integers(-(10**30), 10**30), st.integers(0, 30))
def test_decimals_are_the_same_however_written(digits: int, places: int) -> None:
    value = Decimal(digits).scaleb(-places)
    plain, scientific = format(value, "f"), f"{digits}e-{places}"
    assert identity(f'{{"id":{plain}}}', "id") == identity(f'{{"id":{scientific}}}', "id")


@given(st.lists(st.one_of(st.text(), st.booleans(), st.integers(-5, 5)), max_size=3).map(tuple), st.data())
def test_different_lists_differ(first: tuple[Any, ...], data: st.DataObject) -> None:
    second = data.draw(st.sampled_from([first[:-1], (*first, ""), tuple(map(str, first)), (first + first)[1:]]))
    typed = [[(type(value), value) for value in values] for values in (first, second)]
    if any("\ud800" <= character <= "\udfff" for value in first if isinstance(value, str) for character in value):
        return
    assert (digest(first) == digest(second)) == (typed[0] == typed[1])


# C4: field paths


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ('{"user":{"id":1}}', 1),
        ('{"user.id":1}', 1),
        ('{"user.id":1,"user":{"id":2}}', 1),
        ('{"user":{"id":2},"user.id":1}', 1),
        ('{"user":{"id":"x","other":1}}', "x"),
        ('{"user":{"id":false}}', False),
        ('{"user":{"id":""}}', ""),
        ('{"user":{"id":0}}', 0),
    ],
)
def test_a_nested_or_a_literal_member(body: str, value: object) -> None:
    found = key_value(loads(body.encode()), path="user.id")
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        '{"user":[{"id":1}]}',
        '{"user":"x"}',
        '{"user":null}',
        '{"user":1}',
        '{"user":{}}',
        '{"user":{"id":null}}',
        '{"user":{"id":{"a":1}}}',
        '{"user":{"id":[]}}',
        '{"user":{"id":[1]}}',
        '{"user":{"ID":1}}',
        '{"user.id":null,"user":{"id":1}}',
        '{"user.id":{},"user":{"id":1}}',
        '{"user":{"id":"\\ud800"}}',
        '{" user.id":1}',
    ],
)
def test_a_field_that_is_none_is_refused_by_its_name(body: str) -> None:
    with pytest.raises(KeyFieldInvalid, match=r"user\.id") as refused:
        key_values(loads(body.encode()), paths=["user.id"])
    assert refused.value.members == {"field": "user.id"}


def test_deeper_paths_prefer_the_longest_literal_name() -> None:
    bodies = {
        '{"a":{"b":{"c":1}}}': 1,
        '{"a.b":{"c":2}}': 2,
        '{"a":{"b.c":3}}': 3,
        '{"a.b.c":4}': 4,
        '{"a.b.c":4,"a.b":{"c":2},"a":{"b.c":3,"b":{"c":1}}}': 4,
        '{"a.b":{"c":2},"a":{"b.c":3}}': 2,
        '{"a.b":{},"a":{"b.c":3}}': 3,
        '{"a.b":1,"a":{"b":{"c":1}}}': 1,
    }
    for body, value in bodies.items():
        assert field(loads(body.encode()), path="a.b.c") == value


def test_a_number_beyond_all_bounds_is_refused_not_an_error() -> None:
    for text in ("1e" + "9" * 5000, "1e-" + "9" * 5000):
        with pytest.raises(KeyFieldInvalid):
            identity(f'{{"id":{text}}}', "id")


def test_all_orders_of_members_are_one() -> None:
    members = ['"a":1', '"b":"x"', '"c":true']
    found = {identity("{" + ",".join(order) + "}", "a", "b", "c") for order in itertools.permutations(members)}
    assert len(found) == 1
