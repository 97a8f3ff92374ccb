"""Bucket rows: how candles are stored, and the one update by which a bucket takes more of them.

Of field i (its index among the aggregation fields) a row has

| attribute | what |
|---|---|
| n{i} | count |
| s{i}{a…q} | the limbs of the sum that are not 0; `j` is limb 0 (see `decimals`) |
| o{i}, c{i} | open and close: the moment in 15 digits, `|`, the value |
| h{i}, l{i} | high and low |

and beside them `made_at`, and `w_…` for each process that wrote of late (see `marks`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from broker import keys, times
from broker.series import decimals
from broker.series.candle import Candle
from broker.series.marks import PREFIX, Mark
from edge import Row, Value

_LETTERS = {limb: chr(ord("a") + limb - decimals.LIMBS[0]) for limb in decimals.LIMBS}


@dataclass(frozen=True, slots=True)
class Change:
    """An update of a bucket's row.

    Attributes:
        expression: The update expression.
        condition: The comparisons it relies on, and no more: writes that do not touch them do not make it fail.
        values: The values of both.
        assigned: What the row has of it afterwards, counts and sums apart.
    """

    expression: str
    condition: str
    values: Row
    assigned: Row


def start_of(row: Mapping[str, Value]) -> int:
    """The start of a row's bucket."""
    return keys.bucket_start(str(row["sk"]))


def candles(row: Mapping[str, Value], *, fields: int) -> dict[int, Candle]:
    """The candles of a row by the index of their field; fields without a value are left out."""
    return {index: _candle(row, index) for index in range(fields) if f"n{index}" in row}


def creation(folded: Mapping[int, Candle], *, bucket: tuple[str, str], made_at: int, mark: Mark) -> Row:
    """The row of a bucket which is not there."""
    row: Row = {"pk": bucket[0], "sk": bucket[1], "made_at": made_at, mark.name: mark.number}
    for index, candle in folded.items():
        row |= {**_edges(index, candle), **_sums(index, candle)}
    return row


def addition(folded: Mapping[int, Candle], *, seen: Row, mark: Mark, forgotten: Mapping[str, Value]) -> Change:
    """The change that adds candles to a bucket as it was seen.

    Every comparison that the change relies on is part of its condition. What it leaves alone (an open that is
    earlier, a high that is higher) stays right for as long as the row lives, so that a failed condition can have but
    one cause less the next time.

    Args:
        folded: What to add, by the index of the field.
        seen: The row, perhaps of some time ago.
        mark: By which the change is known once it took effect.
        forgotten: Marks to remove, with the values they were seen with.
    """
    assign: Row = {mark.name: mark.number}
    add: Row = {}
    conditions = ["attribute_exists(#pk)", f"(attribute_not_exists(#{mark.name}) OR #{mark.name} < :{mark.name})"]
    extra: Row = {}
    for index, candle in folded.items():
        add |= _sums(index, candle)
        edges = _edges(index, candle)
        if f"n{index}" not in seen:
            conditions.append(f"attribute_not_exists(#n{index})")
            assign |= edges
            continue
        old = _candle(seen, index)
        replaced = {
            "o": candle.opened_at < old.opened_at,
            "c": candle.closed_at >= old.closed_at,
            "h": candle.high > old.high,
            "l": candle.low < old.low,
        }
        extra |= {
            f"p{index}": _after(candle.opened_at),
            f"q{index}": _after(candle.closed_at),
            f"h{index}": candle.high,
            f"l{index}": candle.low,
        }
        conditions += [
            f"#o{index} {'>=' if replaced['o'] else '<'} :p{index}",
            f"#c{index} {'<' if replaced['c'] else '>='} :q{index}",
            f"#h{index} {'<' if replaced['h'] else '>='} :h{index}",
            f"#l{index} {'>' if replaced['l'] else '<='} :l{index}",
        ]
        assign |= {name: value for name, value in edges.items() if replaced[name[0]]}
    for name, value in forgotten.items():
        conditions.append(f"#{name} = :{name}")
        extra[name] = value
    return _change(assign, add, forgotten, conditions, extra)


def marks(row: Mapping[str, Value]) -> dict[str, int]:
    """The marks that a row has."""
    return {name: int(str(value)) for name, value in row.items() if name.startswith(PREFIX)}


def _change(assign: Row, add: Row, remove: Iterable[str], conditions: list[str], extra: Row) -> Change:
    clauses = [
        ("SET", ", ".join(f"#{name} = :{name}" for name in assign)),
        ("ADD", ", ".join(f"#{name} :{name}" for name in add)),
        ("REMOVE", ", ".join(f"#{name}" for name in remove)),
    ]
    expression = " ".join(f"{verb} {what}" for verb, what in clauses if what)
    return Change(expression, " AND ".join(conditions), {**assign, **add, **extra}, assign)


def _edges(index: int, candle: Candle) -> Row:
    return {
        f"o{index}": f"{_stamp(candle.opened_at)}|{candle.open}",
        f"c{index}": f"{_stamp(candle.closed_at)}|{candle.close}",
        f"h{index}": candle.high,
        f"l{index}": candle.low,
    }


def _sums(index: int, candle: Candle) -> Row:
    limbs = decimals.limbs(candle.total)
    return {f"n{index}": candle.count, **{f"s{index}{_LETTERS[limb]}": part for limb, part in limbs.items()}}


def _candle(row: Mapping[str, Value], index: int) -> Candle:
    opened, _, first = str(row[f"o{index}"]).partition("|")
    closed, _, last = str(row[f"c{index}"]).partition("|")
    limbs = {limb: int(str(row[name])) for limb, letter in _LETTERS.items() if (name := f"s{index}{letter}") in row}
    return Candle(
        Decimal(first),
        int(opened) + times.FIRST,
        Decimal(last),
        int(closed) + times.FIRST,
        Decimal(str(row[f"h{index}"])),
        Decimal(str(row[f"l{index}"])),
        decimals.total(limbs),
        int(str(row[f"n{index}"])),
    )


def _stamp(at: int) -> str:
    return f"{at - times.FIRST:015d}"


def _after(at: int) -> str:
    """What sorts after every value of a moment, and before or at every value of the next."""
    return _stamp(at + 1)
