"""Round trips: JSON to XML and back is the identity; so is JSON to CSV and back, for tables."""

import json
from typing import Any
from xml.dom import minidom

from hypothesis import example, given
from hypothesis import strategies as st

from broker.documents import conversion
from broker.documents.formats import json_text
from broker.documents.media import Format, Media
from broker.errors import NotConvertible
from broker.jsontext import Number

FORMATS: tuple[Format, ...] = ("json", "csv", "xml")
JSON, CSV, XML = Media("json", "utf-8"), Media("csv", "utf-8"), Media("xml")

texts = st.text(st.characters(codec=None), max_size=8) | st.sampled_from(
    [
        "",
        " ",
        "1",
        "-0",
        "1e5",
        "true",
        "null",
        "007",
        '"',
        "a,b",
        "\r\n",
        "\r",
        "\ufeffx",
        "=1+1",
        "\x00",
        "]]>",
        "\\u0000",
    ]
)
numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
raw_numbers = numbers.map(Number)
scalars = st.none() | st.booleans() | raw_numbers | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(texts, inner), max_size=4).map(json_text.Members),
    max_leaves=12,
)


@st.composite
def tables(draw: st.DrawFn) -> list[json_text.Members]:
    valid = texts.map(lambda text: text.encode("utf-8", "replace").decode())
    names = draw(st.lists(valid.filter(bool), min_size=1, max_size=4, unique=True))
    cells = st.none() | st.booleans() | raw_numbers | valid
    rows = draw(st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), min_size=1, max_size=5))
    return [json_text.Members(zip(names, row, strict=True)) for row in rows]


def read(text: bytes) -> Any:
    """A value that keeps repeated names, and digits."""
    return json.loads(text, object_pairs_hook=lambda pairs: ("object", pairs), parse_float=str, parse_int=str)


@given(values)
@example(json_text.Members([("a", json_text.Members()), ("a", [])]))
def test_json_to_xml_to_json_is_the_identity(value: Any) -> None:
    content = json_text.write(value)
    xml = conversion.convert(content, JSON, to="xml")
    minidom.parseString(xml)
    conversion.check(xml, XML)
    assert read(conversion.convert(xml, XML, to="json")) == read(content)


@given(tables())
@example([json_text.Members([("a", None)]), json_text.Members([("a", None)])])
@example([json_text.Members([("\ufeffa", "x")])])
def test_json_to_csv_to_json_is_the_identity_for_tables(value: Any) -> None:
    content = json_text.write(value)
    csv = conversion.convert(content, JSON, to="csv")
    conversion.check(csv, CSV)
    assert read(conversion.convert(csv, CSV, to="json")) == read(content)


@given(tables())
def test_all_ways_between_two_formats_lead_to_the_same(value: Any) -> None:
    content = json_text.write(value)
    csv, xml = conversion.convert(content, JSON, to="csv"), conversion.convert(content, JSON, to="xml")
    assert conversion.convert(csv, CSV, to="xml") == xml
    assert conversion.convert(xml, XML, to="csv") == csv


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.text("<>/a='\"&; !-?[]", max_size=40))
def test_whatever_is_taken_is_shown(text: str) -> None:
    """A document that passes the check converts, or says why not; nothing else happens."""
    for media in (JSON, CSV, XML):
        try:
            found = conversion.check(text.encode(), media)
        except NotConvertible:
            continue
        for to in FORMATS:
            try:
                conversion.convert(text.encode(), found, to=to)
            except conversion.Unshowable:
                assert to == "csv" or media.format == "xml"
