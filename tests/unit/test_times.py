import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker import times

NOON = 1_796_040_000_000


def test_answers_are_utc_with_milliseconds() -> None:
    assert times.text(NOON) == "2026-11-30T12:00:00.000Z"
    assert times.text(0) == "1970-01-01T00:00:00.000Z"
    assert times.text(-1) == "1969-12-31T23:59:59.999Z"
    assert times.text(times.FIRST) == "0001-01-01T00:00:00.000Z"
    assert times.text(times.LAST) == "9999-12-31T23:59:59.999Z"


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T12:00:00Z",
        "2026-11-30T12:00:00.000Z",
        "2026-11-30t12:00:00z",
        "2026-11-30T12:00:00+00:00",
        "2026-11-30T12:00:00-00:00",
        "2026-11-30T13:00:00+01:00",
        "2026-11-30T06:30:00-05:30",
        "2026-12-01T11:59:00+23:59",
        "2026-11-30T12:00:00.0009Z",
        "2026-11-30T12:00:00.000999999999999Z",
        NOON,
    ],
)
def test_one_moment_in_many_writings(text: object) -> None:
    assert times.parse(text) == NOON


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T12:00:00",
        "2026-11-30",
        "2026-11-30 12:00:00Z",
        "2026-11-30T12:00Z",
        "2026-11-30T12:00:00+0100",
        "2026-11-30T12:00:00+01",
        "2026-11-30T12:00:00+24:00",
        "2026-11-30T12:00:00+01:60",
        "2026-11-31T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "2026-13-01T12:00:00Z",
        "2026-00-01T12:00:00Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T12:60:00Z",
        "2026-11-30T12:00:60Z",
        "2026-11-30T12:00:00.Z",
        "2026-11-30T12:00:00,5Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "+2026-11-30T12:00:00Z",
        "12026-11-30T12:00:00Z",
        " 2026-11-30T12:00:00Z",
        "2026-11-30T12:00:00Z\n",
        "\u0662026-11-30T12:00:00Z",
        "1796040000000",
        "",
        "now",
        None,
        True,
        1.5,
        [],
        times.LAST + 1,
        times.FIRST - 1,
        10**30,
    ],
    ids=repr,
)
def test_what_is_no_moment_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"moment|offset"):
        times.parse(text)


def test_leap_days_exist() -> None:
    assert times.text(times.parse("2024-02-29T00:00:00Z")) == "2024-02-29T00:00:00.000Z"


@given(st.integers(times.FIRST, times.LAST))
def test_what_is_written_is_read_back(at: int) -> None:
    assert times.parse(times.text(at)) == at == times.parse(at)


@given(
    st.datetimes(min_value=datetime.datetime(1, 1, 3), max_value=datetime.datetime(9999, 12, 29)),
    st.integers(-1439, 1439),
)
def test_offsets_agree_with_the_standard_library(local: datetime.datetime, minutes: int) -> None:
    zone = datetime.timezone(datetime.timedelta(minutes=minutes))
    moment = local.replace(tzinfo=zone)
    expected = (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(milliseconds=1)
    assert times.parse(moment.isoformat(timespec="microseconds")) == expected
