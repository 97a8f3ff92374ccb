"""`Accept` by RFC 9110, section 12.5.1: the most specific range decides about a type, and 0 refuses it.

Parameters of ranges other than `q` do not matter here. A range that is no range, or whose weight is none, is as if it
were not there; without any range everything is acceptable.
"""

import re
from collections.abc import Iterator

from broker.documents.media import Format

_RANGE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)/([!#$%&'*+.^_`|~0-9A-Za-z-]+)", re.ASCII)
_WEIGHT = re.compile(r"0?\.[0-9]{1,3}|[01]|1\.0{0,3}|0\.", re.ASCII)
_PIECE = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^",;])*')
_SHOWN: dict[Format, tuple[str, ...]] = {
    "json": ("application/json",),
    "xml": ("application/xml", "text/xml"),
    "csv": ("text/csv",),
}


def choices(accept: str | None, *, original: Format) -> Iterator[tuple[Format, str]]:
    """The formats that a caller accepts with the media type to answer them in, the best first.

    What weighs the same is ordered: the original, JSON, XML, CSV.
    """
    ranges = dict(_ranges(accept or "")) or {("*", "*"): 1.0}
    order: list[Format] = [original, *(other for other in _SHOWN if other != original)]
    weighed = [(_weight(name, ranges), form, name) for form in order for name in _SHOWN[form]]
    seen: set[Format] = set()
    for weight, form, name in sorted(weighed, key=lambda entry: -entry[0]):
        if weight > 0 and form not in seen:
            seen.add(form)
            yield form, name


def _weight(name: str, ranges: dict[tuple[str, str], float]) -> float:
    kind, _, sub = name.partition("/")
    return next((ranges[key] for key in ((kind, sub), (kind, "*"), ("*", "*")) if key in ranges), 0.0)


def _ranges(accept: str) -> Iterator[tuple[tuple[str, str], float]]:
    found: dict[tuple[str, str], float] = {}
    for pieces in _elements(accept):
        name = "*/*" if pieces[0] == "*" else pieces[0].lower()
        match = _RANGE.fullmatch(name)
        weight = _q(pieces[1:])
        if match is None or weight is None or (match[1] == "*" and match[2] != "*"):
            continue
        key = (match[1], match[2])
        found[key] = max(weight, found.get(key, 0.0))
    yield from found.items()


def _elements(accept: str) -> Iterator[list[str]]:
    """Each range as its pieces between semicolons; commas and semicolons in quotes separate nothing."""
    at, pieces = 0, list[str]()
    while at <= len(accept):
        match = _PIECE.match(accept, at)
        end = at if match is None else match.end()
        pieces.append(accept[at:end].strip())
        if end == len(accept) or accept[end] != ";":
            yield pieces
            pieces = []
        at = end + 1


def _q(pieces: list[str]) -> float | None:
    for piece in pieces:
        name, _, value = piece.partition("=")
        if name.strip().lower() == "q":
            return float(value.strip()) if _WEIGHT.fullmatch(value.strip()) else None
    return 1.0
