"""`Accept` by RFC 9110: case I12, and what is pinned where the standard leaves it open."""

import pytest

from broker.documents.media import Format
from broker.documents.negotiation import choices


def best(accept: str | None, original: Format = "csv") -> str | None:
    return next((name for _, name in choices(accept, original=original)), None)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "text/csv"),
        ("", "text/csv"),
        ("*/*", "text/csv"),
        ("text/*", "text/csv"),
        ("text/csv;q=0, */*;q=0.1", "application/json"),
        ("application/json;q=0.5, application/xml", "application/xml"),
        ("application/*;q=0.9, text/csv;q=0.1", "application/json"),
        ("application/json;q=0, application/*, text/csv;q=0.5", "application/xml"),
        ("image/png", None),
        ("*/*;q=0", None),
        ("text/csv;q=0", None),
        ("APPLICATION/JSON ; Q=1", "application/json"),
        ("application/json;q=0.001", "application/json"),
        ("text/html, image/gif, *; q=.2, */*; q=.2", "text/csv"),
        ("image/png,application/xml", "application/xml"),
        ('application/json;a="x,y;q=0";q=0.5, application/xml;q=0.4', "application/json"),
        ("text/xml", "text/xml"),
        ("application/json;version=1", "application/json"),
        ("application/json;q=0.3, application/xml;q=0.3", "application/json"),
        ("application/json;q=0.3, text/csv;q=0.3", "text/csv"),
    ],
)
def test_i12_the_most_specific_range_decides(accept: str | None, expected: str | None) -> None:
    assert best(accept) == expected


def test_i12_a_refused_format_is_not_chosen_by_a_wildcard() -> None:
    assert [form for form, _ in choices("application/json;q=0, */*", original="csv")] == ["csv", "xml"]


@pytest.mark.parametrize(
    "accept", ["*", "application/json;q=abc", "x/y;q=1.5", ";;;", ",", "a", "*/json", '"', "q=1", "é/ü"]
)
def test_what_is_no_range_is_as_if_it_were_not_there(accept: str) -> None:
    assert best(accept) == "text/csv"
    assert best(f"{accept}, application/xml") == ("text/csv" if accept == "*" else "application/xml")


def test_no_original_is_preferred_to_a_better_weight() -> None:
    assert best("text/csv;q=0.4, application/json;q=0.5") == "application/json"
    assert best("application/json, text/csv", original="json") == "application/json"


def test_a_long_header_takes_no_time() -> None:
    assert best(",".join(["a/b;q=0." + "1" * 50] * 500)) == "text/csv"
