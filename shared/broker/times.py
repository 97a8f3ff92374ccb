"""Moments on the wire: RFC 3339 in UTC with milliseconds out; any offset, or epoch milliseconds, in."""

import datetime
import re

_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)
FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999
"""Years 1 to 9999, the range of moments that can be written."""


def text(at: int) -> str:
    """A moment in milliseconds since the epoch, as `2026-11-30T10:00:00.000Z`."""
    moment = _EPOCH + datetime.timedelta(milliseconds=at)
    return f"{moment:%Y}".rjust(4, "0") + f"{moment:-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def parse(value: object) -> int:
    """Milliseconds since the epoch of a moment as a caller writes it; digits below a millisecond are dropped.

    Raises:
        ValueError: It is no RFC 3339 time with an offset, or integer; or there is no such moment.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if not FIRST <= value <= LAST:
            raise ValueError("there is no such moment")
        return value
    match = _RFC3339.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be an RFC 3339 time with an offset, or integer milliseconds since the epoch")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if int(match[9] or 0) > 23 or int(match[10] or 0) > 59:
        raise ValueError("there is no such offset")
    offset = datetime.timedelta(hours=int(match[9] or 0), minutes=int(match[10] or 0))
    try:
        local = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC)
    except ValueError:
        raise ValueError("there is no such moment") from None
    whole = (local - _EPOCH - (-offset if match[8] == "-" else offset)) // _MILLISECOND
    at = whole + int(((match[7] or "") + "000")[:3])
    if not FIRST <= at <= LAST:
        raise ValueError("there is no such moment")
    return at
