"""Request bodies off the wire."""

import io

import pytest

from tools.serving.bodies import (
    BODY_BYTES,
    BadBodyError,
    BodyTooLargeError,
    declared_length,
    head_bytes,
    read_body,
)


@pytest.mark.parametrize(
    ("headers", "length"),
    [
        ([], 0),
        ([("Content-Length", "7")], 7),
        ([("Content-Length", "7"), ("content-length", "7")], 7),
        ([("Content-Length", str(BODY_BYTES))], BODY_BYTES),
        ([("Transfer-Encoding", "Chunked")], None),
    ],
)
def test_the_length_is_declared_or_the_body_is_chunked(headers: list[tuple[str, str]], length: int | None) -> None:
    assert declared_length(headers) == length


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Length", "-1")],
        [("Content-Length", "+1")],
        [("Content-Length", "1_0")],
        [("Content-Length", "")],
        [("Content-Length", "1"), ("Content-Length", "2")],
        [("Content-Length", "1"), ("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "gzip, chunked")],
        [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
    ],
)
def test_ambiguous_lengths_are_refused(headers: list[tuple[str, str]]) -> None:
    with pytest.raises(BadBodyError):
        declared_length(headers)


def test_a_declared_length_over_the_limit_is_refused_before_reading() -> None:
    with pytest.raises(BodyTooLargeError):
        declared_length([("Content-Length", str(BODY_BYTES + 1))])


def test_a_body_of_a_known_length_leaves_the_next_request_alone() -> None:
    stream = io.BytesIO(b"abcGET /")
    assert read_body(stream, length=3) == b"abc"
    assert stream.read() == b"GET /"


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (b"0\r\n\r\nnext", b""),
        (b"3\r\nabc\r\n0\r\n\r\nnext", b"abc"),
        (b"3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nnext", b"abc0123456789"),
    ],
)
def test_chunks_are_joined_and_trailers_dropped(wire: bytes, body: bytes) -> None:
    stream = io.BytesIO(wire)
    assert read_body(stream, length=None) == body
    assert stream.read() == b"next"


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"x\r\n",
        b"-3\r\nabc\r\n0\r\n\r\n",
        b"0x3\r\nabc\r\n0\r\n\r\n",
        b"3\r\nab",
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"3\r\nabc\r\n",
        b"3\r\nabc\r\n0\r\n",
        b"1" * 2000,
    ],
)
def test_broken_chunks_are_refused(wire: bytes) -> None:
    with pytest.raises(BadBodyError):
        read_body(io.BytesIO(wire), length=None)


def test_a_body_that_ends_early_is_refused() -> None:
    with pytest.raises(BadBodyError):
        read_body(io.BytesIO(b"ab"), length=3)


def test_chunks_over_the_limit_are_refused_before_the_last_is_read() -> None:
    wire = b"%x\r\n%b\r\n" % (BODY_BYTES, bytes(BODY_BYTES)) + b"1\r\n"
    with pytest.raises(BodyTooLargeError):
        read_body(io.BytesIO(wire), length=None)


def test_the_head_is_counted_as_the_quota_says() -> None:
    assert head_bytes("GET / HTTP/1.1", [("Host", "ab"), ("X", "c")]) == 14 + 3
