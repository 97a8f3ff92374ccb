"""Request bodies off the wire, within the gateway's limits.

The limits are the manual's; what the gateway answers beyond them it does not say: 413 for a body and 431 for a head are
taken from HTTP (RFC 9110, RFC 6585).
"""

import re
from collections.abc import Iterable
from typing import BinaryIO

BODY_BYTES = 10 * 1024 * 1024  # "Quotas for configuring and running an HTTP API": payload size, 10 MB
HEAD_BYTES = 10_240  # the same: total combined size of request line and header values
_CHUNK_LINE_BYTES = 1024


class BadBodyError(Exception):
    """The length or the chunks of a body make no sense: 400, and the connection is of no further use."""


class BodyTooLargeError(Exception):
    """The body is larger than the gateway takes: 413, and the rest of it is still on its way."""


def head_bytes(request_line: str, headers: Iterable[tuple[str, str]]) -> int:
    """The size of a request's head as the quota counts it: the request line and the values of the headers."""
    return len(request_line) + sum(len(value) for _, value in headers)


def declared_length(headers: Iterable[tuple[str, str]]) -> int | None:
    """The length of the body in bytes; None for a chunked one.

    Raises:
        BadBodyError: No number, two different ones, a length beside chunks, or an unknown transfer coding.
        BodyTooLargeError: More than the gateway takes.
    """
    fields = list(headers)
    lengths = {value.strip() for name, value in fields if name.lower() == "content-length"}
    codings = [value.strip().lower() for name, value in fields if name.lower() == "transfer-encoding"]
    if codings:
        if codings != ["chunked"] or lengths:
            raise BadBodyError("transfer-encoding")
        return None
    if not lengths:
        return 0
    length = lengths.pop()
    if lengths or not re.fullmatch(r"[0-9]{1,18}", length):
        raise BadBodyError("content-length")
    if int(length) > BODY_BYTES:
        raise BodyTooLargeError
    return int(length)


def read_body(stream: BinaryIO, *, length: int | None) -> bytes:
    """Read a body of a known length, or a chunked one, from the connection.

    Raises:
        BadBodyError: It ends early, or its chunks are broken.
        BodyTooLargeError: Its chunks are more than the gateway takes.
    """
    if length is None:
        return b"".join(_chunks(stream))
    body = stream.read(length)
    if len(body) < length:
        raise BadBodyError("the body ends early")
    return body


def _chunks(stream: BinaryIO) -> Iterable[bytes]:
    total = 0
    while True:
        size_text = _line(stream).partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", size_text):
            raise BadBodyError("chunk size")
        size = int(size_text, 16)
        if size == 0:
            while _line(stream):
                pass  # trailers are dropped
            return
        total += size
        if total > BODY_BYTES:
            raise BodyTooLargeError
        chunk = stream.read(size)
        if len(chunk) < size or _line(stream):
            raise BadBodyError("chunk")
        yield chunk


def _line(stream: BinaryIO) -> bytes:
    line = stream.readline(_CHUNK_LINE_BYTES)
    if not line.endswith(b"\n"):
        raise BadBodyError("chunk line")
    return line.rstrip(b"\r\n")
