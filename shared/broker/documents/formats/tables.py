"""Tables: what CSV holds, and which JSON values are one."""

import re
from collections.abc import Iterator
from typing import Any

from broker.documents.formats.json_text import Members
from broker.errors import NotConvertible
from broker.jsontext import Number

# The last alternative takes what is no cell, so that no search for one begins behind it.
_CELL = r'(?:"([^"]*+(?:""[^"]*+)*+)"|([^",\r\n][^,\r\n]*+)?)({}|\Z)|(?s:(.))'
_LINE_BY_LINE = re.compile(_CELL.format(r",|\r\n|\n|\r"))
_PAST_EMPTY_LINES = re.compile(_CELL.format(r",|[\r\n]+"))
_LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false", re.ASCII)
_WORDS = {"true": True, "false": False}
_SPECIAL = re.compile(r'[",\r\n]|\A[\s\ufeff]|\s\Z|\A\Z')
_BOM = "\ufeff"


class NotATable(Exception):
    """A value that CSV cannot hold; says why."""


class Quoted(str):
    """The text of a cell that stood in quotes."""

    __slots__ = ()


def read_csv(text: str) -> list[Members]:
    """The rows of a CSV text, as JSON objects.

    An unquoted empty cell is null. Unquoted JSON numbers, `true` and `false` are values, in columns where every
    unquoted cell is one or empty. Everything else, and whatever stands in quotes, is a string.

    Raises:
        NotConvertible: There is no header row, a name is empty or there twice, or a row has more or fewer cells.
    """
    names, rows = _read(text)
    typed = [all(_is_value(row[index]) for row in rows) for index in range(len(names))]
    return [
        Members(
            [(name, _value(cell, typed=of_values)) for name, cell, of_values in zip(names, row, typed, strict=True)]
        )
        for row in rows
    ]


def check_csv(text: str) -> None:
    """Make sure that `read_csv` reads this.

    Raises:
        NotConvertible: It does not.
    """
    _read(text)


def write_csv(value: Any) -> str:
    """The CSV text of a JSON array of flat objects that all have the same members, which `read_csv` gives back.

    Raises:
        NotATable: It is something else.
    """
    names, rows = _table(value)
    typed = [any(not isinstance(row[index], str | None) for row in rows) for index in range(len(names))]
    lines = [",".join(_quoted(name) if _SPECIAL.search(name) else name for name in names)]
    lines += [
        ",".join(_cell(value, typed=of_values) for value, of_values in zip(row, typed, strict=True)) for row in rows
    ]
    return "\r\n".join([*lines, ""])


def _read(text: str) -> tuple[list[str], list[list[str]]]:
    text = text.removeprefix(_BOM)
    names, at = _header(text)
    rows: list[list[str]] = []
    width = len(names)
    # Of several columns an empty line is no row, of one it is: null.
    for row in _records(text, _LINE_BY_LINE if width == 1 else _PAST_EMPTY_LINES, at=at):
        if len(row) == width:
            rows.append(row)
        elif len(row) > 1 or row[0] or isinstance(row[0], Quoted):
            raise NotConvertible(
                f"The document is not a CSV table: row {len(rows) + 2} has {len(row)} cells, the header has {width}."
            )
    return names, rows


def _header(text: str) -> tuple[list[str], int]:
    """The names of the columns, and where the rows begin. The first fault ends it: a header may be very long."""
    names: dict[str, None] = {}
    for match in _LINE_BY_LINE.finditer(text):
        quoted, plain, mark, fault = match.groups()
        if fault is not None:
            raise _broken(1)
        name = (plain or "") if quoted is None else quoted.replace('""', '"')
        if not name and not names and mark != ",":
            break
        if not name or name in names:
            wrong = f"column {name[:100]} is there twice" if name else f"column {len(names) + 1} has no name"
            raise NotConvertible(f"The document is not a CSV table: {wrong}.")
        names[name] = None
        if mark != ",":
            return list(names), match.end()
    raise NotConvertible("The document is not a CSV table: there is no header row.")


def _records(text: str, pattern: re.Pattern[str], *, at: int) -> Iterator[list[str]]:
    record: list[str] = []
    end, number = len(text), 2
    for match in pattern.finditer(text, at):
        if match.start() == end and not record:
            return
        quoted, plain, mark, fault = match.groups()
        if fault is not None:
            raise _broken(number)
        record.append((plain or "") if quoted is None else Quoted(quoted.replace('""', '"')))
        if mark != ",":
            yield record
            number += 1
            record = []
        if not mark:
            return


def _broken(number: int) -> NotConvertible:
    return NotConvertible(
        f"The document is not CSV: a quoted cell of row {number} is not closed, or goes on after its closing quote."
    )


def _is_value(cell: str) -> bool:
    return not cell or isinstance(cell, Quoted) or _LITERAL.fullmatch(cell) is not None


def _value(cell: str, *, typed: bool) -> Any:
    if isinstance(cell, Quoted):
        return str(cell)
    if not cell:
        return None
    if not typed:
        return cell
    return _WORDS[cell] if cell in _WORDS else Number(cell)


def _table(value: Any) -> tuple[list[str], list[list[Any]]]:
    if isinstance(value, Members) or not isinstance(value, list):
        raise NotATable("Only an array of objects is a table.")
    if not value:
        raise NotATable("An empty array has no columns.")
    if not all(isinstance(row, Members) for row in value):
        raise NotATable("Only an array of nothing but objects is a table.")
    names = [name for name, _ in value[0]]
    if not names or "" in names:
        raise NotATable("Every column of a table needs a name.")
    rows = []
    for number, row in enumerate(value, start=1):
        members = dict(row)
        if len(members) != len(row) or members.keys() != set(names):
            raise NotATable(f"Object {number} has not the same members as the first, each once.")
        rows.append([members[name] for name in names])
        for name in names:
            if isinstance(members[name], list):
                raise NotATable(f"Member {name} of object {number} is not a string, number, boolean or null.")
    return names, rows


def _cell(value: Any, *, typed: bool) -> str:
    if isinstance(value, str):
        return _quoted(value) if typed or _SPECIAL.search(value) or _LITERAL.fullmatch(value) else value
    if isinstance(value, Number):
        return value.text
    return "" if value is None else str(value).lower()


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
