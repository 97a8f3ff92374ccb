"""The load test, short, and the journals that it is judged by."""

from pathlib import Path

from tools.load import run
from tools.loading.journal import Entry, Journal, answers, entries, named, story
from tools.loading.plan import SOURCES, WORKERS


def test_a_few_seconds_of_load_with_faults_lose_and_double_nothing(tmp_path: Path) -> None:
    outcome = run(tmp_path, seconds=4, kill_every=1)
    told = [
        line
        for fault in outcome.faults
        for line in (str(fault), *story(entries(tmp_path.glob("*.journal")), fault.name))
    ]
    assert told == []
    stored = {queue: outcome.figures[f"{queue}: stored"] for role, queue in WORKERS if role in SOURCES}
    assert 0 not in stored.values(), stored
    assert outcome.figures["workers killed"] != 0
    assert outcome.figures["faults injected"] != 0


def test_what_was_noted_is_read_in_the_order_of_time(tmp_path: Path) -> None:
    first, second = Journal(tmp_path / "1.journal"), Journal(tmp_path / "2.journal")
    second.note("sent", id="a")
    first.note("answer", status=503)
    second.note("answer", status=201)
    noted = entries(sorted(tmp_path.glob("*.journal")))
    assert [entry["what"] for entry in noted] == ["sent", "answer", "answer"]
    assert answers(noted) == {503: 1, 201: 1}
    assert [entry["id"] for entry in named(noted, "sent")] == ["a"]


def test_a_line_that_a_kill_cut_short_is_none(tmp_path: Path) -> None:
    file = tmp_path / "1.journal"
    file.write_text('{"what": "sent", "at": 1, "id": "a"}\n{"what": "sto', encoding="utf-8")
    assert [entry["what"] for entry in entries([file])] == ["sent"]


def test_a_story_follows_a_message_to_its_id_and_to_the_calls_that_wrote_it() -> None:
    noted: list[Entry] = [
        {"what": "sent", "id": "7-1"},
        {"what": "sent", "id": "7-11"},
        {"what": "struck", "put": ["lane#Q#01AB"]},
        {"what": "stored", "id": "7-1", "message_id": "01AB"},
        {"what": "struck", "put": ["lane#Q#01AC"]},
    ]
    assert [line[:17] for line in story(noted, "7-1")] == [
        '{"what": "sent", ',
        '{"what": "struck"',
        '{"what": "stored"',
    ]
