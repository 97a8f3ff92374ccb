"""What DynamoDB charges, computed from items: its own rules on sizes, reads, writes and local indexes.

Items are in DynamoDB's typed form (`{"seq": {"S": "…"}}`), binary values as bytes.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Item = Mapping[str, Mapping[str, Any]]

READ_BLOCK = 4096
WRITE_BLOCK = 1024


def item_size(item: Item | None) -> int:
    """Bytes an item counts for: its attribute names in UTF-8 and its values; None is no item."""
    return sum(len(name.encode()) + value_size(value) for name, value in (item or {}).items())


def value_size(value: Mapping[str, Any]) -> int:
    """Bytes one value counts for."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return _number_size(content)
        case "B":
            return len(content)
        case "SS" | "NS" | "BS":
            return sum(value_size({kind[0]: member}) for member in content)
        case "L":
            return 3 + sum(1 + value_size(member) for member in content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + value_size(member) for name, member in content.items())
    return 1  # BOOL, NULL


def _number_size(text: str) -> int:
    """Two digits a byte, zeros at both ends not counted, one byte for the exponent and one for a minus."""
    mantissa = text.lower().partition("e")[0]
    digits = mantissa.lstrip("-").replace(".", "").strip("0") or "0"
    return (len(digits) + 1) // 2 + 1 + mantissa.startswith("-")


def read_units(sizes: Iterable[int], *, consistent: bool) -> float:
    """Units of one read of items that are charged together, as a Query's are. Reading nothing costs a block too."""
    blocks = max(1, math.ceil(sum(sizes) / READ_BLOCK))
    return blocks * (1.0 if consistent else 0.5)


def write_units(
    before: Item | None, after: Item | None, *, indexes: Sequence[Mapping[str, Any]] = (), in_transaction: bool = False
) -> float:
    """Units of one write that turns `before` into `after`, entries of the local indexes included.

    Args:
        before: The item as it stood, None when there was none.
        after: The item as it stands, None when it was deleted.
        indexes: Of each local index its `KeySchema` and `Projection` as CreateTable takes them, and `TableKeys`, the
            names of the table's own keys, which every entry holds.
        in_transaction: The item is written twice, to prepare and to commit; the entries of the indexes are not.
    """
    units = _write_blocks(max(item_size(before), item_size(after))) * (2 if in_transaction else 1)
    for index in indexes:
        keys = [key["AttributeName"] for key in index["KeySchema"]]
        old, new = _entry(before, index, keys), _entry(after, index, keys)
        if old == new:
            continue
        if old and new and all(old[key] == new[key] for key in keys):
            units += _write_blocks(max(item_size(old), item_size(new)))
        else:
            units += sum(_write_blocks(item_size(entry)) for entry in (old, new) if entry)
    return units


def _entry(item: Item | None, index: Mapping[str, Any], keys: Sequence[str]) -> Item | None:
    """The index's copy of an item; None when the item is not in the index, for want of one of its keys."""
    if item is None or any(key not in item for key in keys):
        return None
    projection = index["Projection"]
    if projection["ProjectionType"] == "ALL":
        return item
    names = {*keys, *index["TableKeys"], *projection.get("NonKeyAttributes", ())}
    return {name: value for name, value in item.items() if name in names}


def _write_blocks(size: int) -> float:
    return float(max(1, math.ceil(size / WRITE_BLOCK)))
