"""The eyes of the load test on what is stored: items, documents, and points."""

from typing import Any

import pytest

from tests.journals import Line, line, noted, told
from tools.loading.verdicts import documents, items, series

PUT, ANSWERED = line("sent", "k", value=1), line("stored", "k", value=1, version="V")
LATER = line("sent", "k", value=2)


@pytest.mark.parametrize(
    ("lines", "shown", "right"),
    [
        ([PUT, ANSWERED], (1, "V"), True),
        ([PUT, ANSWERED], (1, "W"), False),
        ([PUT, ANSWERED], None, False),
        ([PUT], None, True),
        ([PUT], (1, "W"), True),
        ([PUT, ANSWERED, LATER], (1, "V"), True),
        ([PUT, ANSWERED, LATER], (2, "W"), True),
        ([PUT, ANSWERED, LATER], (3, "W"), False),
        ([PUT, ANSWERED, line("deleting", "k")], None, True),
        ([PUT, ANSWERED, line("deleting", "k")], (1, "V"), True),
        ([PUT, ANSWERED, line("deleting", "k"), line("deleted", "k")], None, True),
        ([PUT, ANSWERED, line("deleting", "k"), line("deleted", "k")], (1, "V"), False),
        ([], (1, "V"), False),
    ],
)
def test_an_item_is_what_its_writer_was_told(lines: list[Line], shown: tuple[int, str] | None, *, right: bool) -> None:
    state = {} if shown is None else {"k": shown}
    assert (items.of_queue(noted(*lines), shown=state) == []) is right


def test_a_follower_holds_what_the_list_shows() -> None:
    pages = noted(
        ("page", {"items": [["k", 1, "V"], ["l", 1, "W"]], "deleted": []}),
        ("page", {"items": [["k", 2, "X"]], "deleted": ["l"]}),
    )
    held = items.followed(pages)
    shown = items.listed([{"key": ["k"], "payload": {"value": 2}, "version": "X"}])
    assert items.differences(held, shown) == []
    assert told(items.differences(held, {})) == ["k is (2, 'X') to a follower and None in the list"]
    assert told(items.differences({}, shown)) == ["k is None to a follower and (2, 'X') in the list"]


UPLOAD, UPLOADED = line("sent", "f", sha256="S"), line("stored", "f", document="D")
DELETING, DELETED = line("deleting", "f", document="D"), line("deleted", "f", document="D")
SHOWN = [{"name": "f", "document_id": "D"}]


def had(document: str = "D", sha256: str = "S", listed: str = "S", **members: Any) -> Line:
    return line("got", "f", document=document, sha256=sha256, listed=listed, **members)


@pytest.mark.parametrize(
    ("lines", "shown", "faults"),
    [
        ([UPLOAD, UPLOADED, had()], SHOWN, []),
        ([UPLOAD], SHOWN, []),
        ([UPLOAD], [], []),
        ([UPLOAD, UPLOADED], [], ["f is lost"]),
        ([UPLOAD, UPLOADED, DELETING], [], []),
        ([UPLOAD, UPLOADED, DELETING], SHOWN, []),
        ([UPLOAD, UPLOADED, DELETING, DELETED], [], []),
        ([UPLOAD, UPLOADED, DELETING, DELETED], SHOWN, ["f is there after it was deleted"]),
        (
            [UPLOAD, UPLOADED],
            [*SHOWN, {"name": "f", "document_id": "E"}],
            ["f is stored as ['D', 'E'], and was answered as D"],
        ),
        ([UPLOAD, UPLOADED], [{"name": "f", "document_id": "E"}], ["f is stored as ['E'], and was answered as D"]),
        ([UPLOAD, UPLOADED, had(sha256="T")], SHOWN, ["f is T, listed as S"]),
        ([UPLOAD, UPLOADED, had(sha256="T", listed="T")], SHOWN, ["f is T, listed as T"]),
        ([UPLOAD, UPLOADED, line("absent", "f"), had()], SHOWN, ["f was listed and could not be had"]),
        ([UPLOAD, UPLOADED, DELETING, line("absent", "f"), DELETED], [], []),
    ],
)
def test_a_document_is_kept_to_the_byte(lines: list[Line], shown: list[dict[str, str]], faults: list[str]) -> None:
    assert told(documents.of_queue(noted(*lines), shown=shown)) == faults


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        ([had("C")], []),
        ([had("C"), had("C"), line("deleted", "f", document="C")], []),
        ([], ["f was not copied"]),
        ([had("C"), had("E")], ["f was copied twice, as C and E"]),
        ([had("C"), line("deleted", "f", document="C"), had("C")], ["f was had after it was deleted"]),
        ([had("C"), line("deleted", "f", document="C"), had("C", began=0.5)], []),
        ([had("C", sha256="T")], ["f is T, listed as S"]),
    ],
)
def test_a_document_is_copied_once(lines: list[Line], faults: list[str]) -> None:
    assert told(documents.of_copies(noted(UPLOAD, UPLOADED), copied=noted(*lines))) == faults


@pytest.mark.parametrize(
    ("count", "total", "faults"),
    [
        (1, 1, []),
        (2, 2, []),
        (0, 0, ["0 points are counted, 1 were answered and 2 were sent"]),
        (3, 3, ["3 points are counted, 1 were answered and 2 were sent"]),
        (2, 3, ["2 points of 1 add up to 3"]),
    ],
)
def test_a_point_is_counted_once(count: int, total: int, faults: list[str]) -> None:
    lines = noted(line("sent"), line("stored"), line("sent", "1-1"))
    buckets = [{"fields": {"n": {"count": count, "sum": total}}}]
    assert told(series.of_series(lines, buckets=buckets)) == faults
