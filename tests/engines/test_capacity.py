from typing import Any

import pytest

from tools.capacity import item_size, read_units, write_units

KEYS_ONLY = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "rank", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
    "TableKeys": ["pk", "sk"],
}
ALL = {**KEYS_ONLY, "Projection": {"ProjectionType": "ALL"}}
INCLUDING = {**KEYS_ONLY, "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]}}


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "abc"}, 3),
        ({"S": "Zürich"}, 7),
        ({"N": "0"}, 2),
        ({"N": "7"}, 2),
        ({"N": "-7"}, 3),
        ({"N": "123456"}, 4),
        ({"N": "1000000"}, 2),
        ({"N": "0.00012"}, 2),
        ({"N": "12345678901234567890123456789012345678"}, 20),
        ({"N": "1.5e100"}, 2),
        ({"B": b"\x00\x01\x02"}, 3),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "22"]}, 4),
        ({"L": []}, 3),
        ({"L": [{"S": "a"}, {"S": "b"}]}, 7),
        ({"M": {"key": {"S": "a"}}}, 8),
    ],
)
def test_sizes_of_values(value: dict[str, Any], size: int) -> None:
    assert item_size({"ä": value}) == 2 + size


@pytest.mark.parametrize(
    ("sizes", "consistent", "units"),
    [
        ([], True, 1.0),
        ([], False, 0.5),
        ([4096], True, 1.0),
        ([4096, 1], True, 2.0),
        ([100] * 100, True, 3.0),
        ([100] * 100, False, 1.5),
    ],
)
def test_items_read_together_are_rounded_together(sizes: list[int], consistent: bool, units: float) -> None:
    assert read_units(sizes, consistent=consistent) == units


def item(body: int = 0, **attributes: str) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"S": "s"}, "body": {"B": bytes(body)}} | {
        k: {"S": v} for k, v in attributes.items()
    }


def test_a_write_is_charged_by_the_larger_of_the_item_before_and_after() -> None:
    assert write_units(None, item(1024 - 10)) == 1
    assert write_units(None, item(1024)) == 2
    assert write_units(item(5000), item()) == 5
    assert write_units(item(5000), None) == 5
    assert write_units(None, None) == 1


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, item(), 1),
        (None, item(rank="a"), 2),
        (item(rank="a"), item(rank="a", n="1"), 1),
        (item(rank="a"), item(rank="b"), 3),
        (item(rank="a"), item(), 2),
        (item(rank="a"), None, 2),
        (item(3000, rank="a"), item(3000, rank="b"), 5),
    ],
)
def test_entries_of_an_index_are_written_when_they_change(
    before: dict[str, Any] | None, after: dict[str, Any] | None, units: float
) -> None:
    assert write_units(before, after, indexes=[KEYS_ONLY]) == units


def test_entries_hold_what_is_projected() -> None:
    before, after = item(3000, rank="a"), item(3000, rank="a", n="1")
    assert write_units(before, after, indexes=[INCLUDING]) == 3 + 1
    assert write_units(before, after, indexes=[ALL]) == 3 + 3
    assert write_units(before, after, indexes=[KEYS_ONLY, ALL]) == 3 + 3


def test_a_transaction_writes_items_twice_and_index_entries_once() -> None:
    assert write_units(None, item(1500, rank="a"), indexes=[KEYS_ONLY], in_transaction=True) == 2 * 2 + 1
