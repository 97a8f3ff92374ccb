"""Hostile documents: refused with a clear error, or taken, in under a second."""

import time

import pytest

from broker.documents import conversion
from broker.documents.media import Format, Media
from broker.errors import NotConvertible

MEBIBYTE = 1024 * 1024
ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 11))
SECONDS = 1.0


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("xml", f'<!DOCTYPE a [<!ENTITY e0 "ha">{ENTITIES}]><a>&e10;</a>', "entity e0"),
        ("xml", f'<!DOCTYPE a [<!ENTITY x "{"y" * 20_000}">]><a>{"&x;" * 350}</a>', "entity x"),
        ("xml", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "entity x"),
        ("xml", '<!DOCTYPE a [<!ENTITY x SYSTEM "http://127.0.0.1/">]><a>&x;</a>', "entity x"),
        ("xml", '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1/"> %p;]><a/>', "entity p"),
        ("xml", '<!DOCTYPE a [%p; <!ENTITY x "y">]><a>&x;</a>', "outside|entity"),
        ("xml", '<!DOCTYPE a SYSTEM "http://127.0.0.1/a.dtd"><a/>', "outside"),
        ("xml", '<!DOCTYPE a PUBLIC "x" "http://127.0.0.1/a.dtd"><a/>', "outside"),
        ("xml", '<!DOCTYPE a [<!NOTATION n SYSTEM "x">]><a/>', "outside"),
        ("xml", "<a>&nbsp;</a>", "undefined entity"),
        ("xml", "<a>" * 50_000 + "</a>" * 50_000, "64 levels"),
        ("xml", "<a " + "b" * 900_000, "well-formed"),
        ("xml", "", "no element"),
        ("xml", "<a/><b/>", "junk"),
        ("xml", "<a>\x00</a>", "well-formed"),
        ("json", "[" * 50_000 + "]" * 50_000, "64 levels"),
        ("json", '{"a":' * 50_000 + "1" + "}" * 50_000, "64 levels"),
        ("json", "[" * 65 + "]" * 65, "64 levels"),
        ("json", "[" * MEBIBYTE, "64 levels"),
        ("json", '"' + "\\" * 1_000_001, "not JSON"),
        ("csv", 'a\n"' + '""' * 500_000, "not closed"),
        ("csv", 'a\n"' + '""' * 500_000 + '"x', "not closed"),
        ("csv", "a," * 500_000, "twice"),
        ("csv", "," * 1_000_000, "no name"),
        ("csv", "a,b\n" + "1,2,3\n", "3 cells"),
        ("csv", '"a"b\n', "closing quote"),
        ("csv", "\n" * MEBIBYTE, "header"),
    ],
)
def test_it_is_refused_at_once(kind: Format, content: str, reason: str) -> None:
    started = time.process_time()
    with pytest.raises(NotConvertible, match=reason):
        conversion.check(content.encode(), Media(kind))
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("csv", 'a\n"' + "x" * 1_000_000 + '"\n'),
        ("csv", "a\n" + "x" * 1_000_000),
        ("csv", "a,b\n" + "\n" * 500_000),
        ("json", '"' + "x" * 1_000_000 + '"'),
        ("json", "9" * 1_000_000),
        ("json", "1e" + "9" * 1_000_000),
        ("json", "[" * 64 + "1" + "]" * 64),
        ("xml", f"<!DOCTYPE r [<!ATTLIST a b CDATA '{'y' * 400_000}'>]><r>{'<a/>' * 100_000}</r>"),
        ("xml", "<r>" + "<a/>" * 250_000 + "</r>"),
        ("xml", f"<a {' '.join(f'a{n}=%s1%s' % (chr(34), chr(34)) for n in range(80_000))}/>"),
        ("xml", "<a>" * 65 + "</a>" * 65),
    ],
)
def test_it_is_taken_at_once(kind: Format, content: str) -> None:
    started = time.process_time()
    conversion.check(content.encode(), Media(kind))
    assert time.process_time() - started < SECONDS


def test_defaults_of_a_dtd_are_not_multiplied() -> None:
    content = f"<!DOCTYPE r [<!ATTLIST a b CDATA '{'y' * 100_000}'>]><r>{'<a/>' * 1000}</r>".encode()
    assert len(conversion.convert(content, Media("xml"), to="json")) < 100_000
