"""What an HTTP API makes of a request's path and query before a function sees them.

The path is decoded **twice**, and cut at a question mark that the first decoding brings to light. So `%2F` becomes a
slash (and usually another route), `a%252Fb` arrives as `a/b`, and `50%25`, whose second decoding fails, is refused with
400. This is not in the manual; it was captured from live HTTP APIs by the authors of voker (github.com/hotsock/voker,
vokerhttp/testdata/ingress-paths.json, July 2026). `rawPath`, `requestContext.http.path` and `pathParameters` are all
made of the decoded path. The query is passed on as it came (`rawQueryString`) and decoded once, as a form is, for
`queryStringParameters`.
"""

import re
from urllib.parse import parse_qsl, unquote, unquote_to_bytes

_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


class BadPathError(Exception):
    """The path is not percent-encoded text, or no longer once it was decoded: 400."""


def split_target(target: str) -> tuple[str, str]:
    """The path and the raw query of a request line's target (`/a?b=c`, or `http://host/a?b=c` as proxies send it)."""
    if not target.startswith("/"):
        target = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?]*", "", target)
    path, _, query = target.partition("?")
    return path or "/", query


def gateway_path(raw: str) -> str:
    """The path as functions get it, from the path as sent (bytes beyond ASCII as latin-1 characters).

    Raises:
        BadPathError: An escape is broken, in what was sent or in what the first decoding gave.
    """
    _check(raw)
    once = unquote_to_bytes(raw.encode("latin-1")).decode("utf-8", "replace").partition("?")[0]
    _check(once)
    return unquote(once, errors="replace")


def query_parameters(raw: str) -> dict[str, str]:
    """The decoded parameters of a raw query; those that repeat are joined with commas."""
    joined: dict[str, str] = {}
    for name, value in parse_qsl(raw, keep_blank_values=True):
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _check(path: str) -> None:
    if _BROKEN_ESCAPE.search(path):
        raise BadPathError(path)
