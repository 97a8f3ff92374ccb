"""The pages of docs/: links lead somewhere, decision records have their parts."""

import re
from pathlib import Path

import pytest

from broker import keys
from broker.documents import keys as document_keys

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
RECORDS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        if not path.exists() or (anchor and anchor not in _anchors(path)):
            broken.append(target)
    assert broken == []


def test_decision_records_are_numbered_without_gaps() -> None:
    assert [int(record.name[:4]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_decision_record_has_its_four_parts(record: Path) -> None:
    title, *parts = _HEADING.findall(record.read_text(encoding="utf-8"))
    assert title.startswith(f"{int(record.name[:4])}. ")
    assert parts == ["Context", "Choice", "Price", "Way back"]


def test_the_data_model_has_every_hash_key() -> None:
    page = (ROOT / "docs" / "data-model.md").read_text(encoding="utf-8").split("## Invariants")[0]
    told = set(re.findall(r"^\| (?:Edges|State|bucket) \| `(\w+)", page, re.MULTILINE))
    made = {
        name
        for module in (keys, document_keys)
        for name in re.findall(r"^\| ?(\w+)(?:[#/]\S*)? +\|", str(module.__doc__), re.MULTILINE)
    }
    assert told == made - {"source", "pk"}, "the heads of the tables"


def _anchors(page: Path) -> set[str]:
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
