"""docs/errors.md lists every code that the program can answer, under its status."""

from collections.abc import Iterator

from broker.errors import BrokerError
from broker.http.problem import STATUS
from tests.docs.error_table import PAGE, rows


def test_the_table_is_what_the_program_answers() -> None:
    answered = {kind.code: STATUS[kind] for kind in _kinds(BrokerError) if kind.code}
    assert {row.code: row.status for row in rows()} == answered


def test_no_code_is_listed_twice() -> None:
    codes = [row.code for row in rows()]
    assert sorted(codes) == sorted(set(codes))


def test_the_table_is_ordered_by_status() -> None:
    statuses = [row.status for row in rows()]
    assert statuses == sorted(statuses)


def test_codes_of_entries_are_codes_of_answers() -> None:
    entries = PAGE.read_text("utf-8").split("## Codes of single entries")[1]
    listed = {line.split("`")[1] for line in entries.splitlines() if line.startswith("| `")}
    assert listed == {"throttled", "unavailable"}
    assert listed <= {row.code for row in rows()}


def _kinds(kind: type[BrokerError]) -> Iterator[type[BrokerError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _kinds(child)
