"""The table of docs/errors.md, as data."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
_ROW = re.compile(r"^\| `(\w+)` \| (\d{3}) \| (.+) \| (.+) \|$", re.MULTILINE)


class Row(NamedTuple):
    """One code: its status, when it is answered, what the caller should do."""

    code: str
    status: int
    when: str
    remedy: str


def rows() -> list[Row]:
    """All rows, in the order of the page."""
    return [
        Row(code, int(status), when, remedy) for code, status, when, remedy in _ROW.findall(PAGE.read_text("utf-8"))
    ]
