"""Tables: what CSV holds, and which JSON values are one."""

import re
from collections.abc import Sequence
from typing import Any

from broker.documents.formats.json_text import Members
from broker.errors import NotConvertible
from broker.jsontext import Number

_CELL = re.compile(r'(?:"([^"]*+(?:""[^"]*+)*+)"|([^",\r\n][^,\r\n]*+)?)(,|\r\n|\n|\r|\Z)')
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
    records = _records(text.removeprefix(_BOM))
    names = [str(cell) for cell in records[0]] if records else []
    if not names or names == [""]:
        raise NotConvertible("The document is not a CSV table: there is no header row.")
    _check_names(names)
    rows: list[list[str]] = []
    width = len(names)
    for number, record in enumerate(records[1:], start=2):
        if len(record) == width:
            rows.append(record)
        elif len(record) > 1 or record[0] or isinstance(record[0], Quoted):
            raise NotConvertible(
                f"The document is not a CSV table: row {number} has {len(record)} cells, the header has {width}."
            )
    return names, rows


def _records(text: str) -> list[list[str]]:
    records: list[list[str]] = []
    record: list[str] = []
    at, end = 0, len(text)
    for match in _CELL.finditer(text):
        if match.start() != at:
            break
        if at == end and not record:
            return records
        quoted, plain, mark = match.groups()
        record.append((plain or "") if quoted is None else Quoted(quoted.replace('""', '"')))
        at = match.end()
        if mark != ",":
            records.append(record)
            record = []
        if not mark:
            return records
    raise NotConvertible(
        f"The document is not CSV: a quoted cell of row {len(records) + 1} is not closed, or goes on after its closing "
        "quote."
    )


def _check_names(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        if not name or name in seen:
            fault = f"column {name} is there twice" if name else f"column {number} has no name"
            raise NotConvertible(f"The document is not a CSV table: {fault}.")
        seen.add(name)


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
