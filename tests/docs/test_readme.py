"""The README's tour, pasted into a shell line by line while the local server runs."""

import json
import re
import shutil
from pathlib import Path

import pytest

from broker.queues.settings import SETTINGS
from tests.serve.newcomer import Session, blocks, paste, requests_in
from tests.serve.process import ROOT, running

README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = [block for kind, block in blocks(README.split("## Five minutes")[1].split("\n## ")[0]) if kind == "sh"]
_REQUEST = re.compile(r"^\d\d:\d\d:\d\d (GET|HEAD|POST|PUT|PATCH|DELETE) (\S+) (\d+) ", re.MULTILINE)


@pytest.mark.parametrize("stand_in", [False, True], ids=["curl", "stand-in"])
def test_the_tour_works_line_by_line(tmp_path: Path, *, stand_in: bool) -> None:
    for name in ("functions", "layers", "shared"):
        (tmp_path / name).symlink_to(ROOT / name)
    with running(Path(shutil.copy(ROOT / "template.yaml", tmp_path))) as server:
        session = paste("".join(TOUR), folder=tmp_path, stand_in=stand_in)
        _, log = server.stop()
    assert (session.errors, {command.status for command in session.commands}) == ("", {0})
    statuses = [int(status) for _, _, status in _REQUEST.findall(log)]
    assert len(statuses) == sum(map(requests_in, TOUR)), log
    assert {status // 100 for status in statuses} == {2}, log
    _check_what_is_shown(session)


def _check_what_is_shown(session: Session) -> None:
    shown = session.output
    for text in ('"status":"queued"', '"total":12.50', '"no such customer"', '"redriven":1', '"price":2.50'):
        assert text in shown
    for text in ('"pending_enrichment"', '"sum":0.3', '"city":"Köln"', "Grüße\n10 < 11", '"due now"'):
        assert text in shown
    assert "due in an hour" not in shown
    answers = [json.loads(line) for line in shown.splitlines() if line.startswith('{"messages":')]
    delivered = [message for answer in answers for message in answer["messages"]]
    joined = {frozenset(message["payload"]) for message in delivered if "lookup" in message}
    assert joined == {frozenset({"sku", "price", "sold"}), frozenset({"sku", "price", "traded"})}


def test_the_tour_makes_a_queue_of_every_type_and_a_log() -> None:
    made = re.findall(r'"type": "(\w+)"', "".join(TOUR))
    assert sorted(made) == sorted(SETTINGS)
    assert "LOG=/queue/v1/" in "".join(TOUR)


def test_every_type_has_a_page() -> None:
    for kind in (*SETTINGS, "log"):
        assert f"[{kind}](docs/queues/{kind}.md)" in README, "the table of types leads to its page"
