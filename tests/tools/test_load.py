"""The load test, short, and the eyes it looks with."""

import json
from pathlib import Path

import pytest

from tools.load import run
from tools.loading.verdict import answers, of_queue


def test_ten_seconds_of_load_with_faults_lose_and_double_nothing() -> None:
    outcome = run(seconds=10, kill_every=2)
    assert outcome.faults == []
    assert [outcome.figures[f"{queue}: stored"] == 0 for queue in ("log", "to_one", "to_many", "series")] == [False] * 4


def journal(folder: Path, *lines: dict[str, object]) -> list[Path]:
    file = folder / "one.journal"
    file.write_text("".join(json.dumps({"at": at, **line}) + "\n" for at, line in enumerate(lines)), encoding="utf-8")
    return [file]


STORED: dict[str, object] = {"what": "stored", "id": "a"}
GOT: dict[str, object] = {"what": "got", "id": "a", "delivery": 1}
ACKED: dict[str, object] = {"what": "acked", "id": "a"}


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        ([STORED, GOT, ACKED], []),
        ([GOT, STORED], []),
        ([STORED, GOT, {**GOT, "delivery": 2}, ACKED], []),
        ([STORED], ["a is lost"]),
        ([STORED, GOT, GOT, ACKED], ["a was given to two as delivery 1"]),
        ([STORED, GOT, ACKED, {**GOT, "delivery": 2}], ["a came again after it was acked"]),
        ([{"what": "interrupted", "id": "a"}, GOT, ACKED, STORED, GOT, ACKED], []),
        ([STORED, GOT, {"what": "defect", "path": "/p", "answer": "500"}], ["/p: 500"]),
    ],
)
def test_what_is_wrong_is_seen(tmp_path: Path, lines: list[dict[str, object]], faults: list[str]) -> None:
    assert of_queue(journal(tmp_path, *lines), once=True) == faults


def test_answers_are_counted(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [{"what": "answer", "status": status} for status in (200, 503, 200)]
    assert answers(journal(tmp_path, *lines)) == {200: 2, 503: 1}
