"""The mappings of docs/conversions.md, and the cases of files that others stumbled over."""

import json
from typing import Any
from xml.dom import minidom

import pytest

from broker.documents import conversion
from broker.documents.conversion import Unshowable
from broker.documents.media import Format, Media
from broker.errors import NotConvertible

NAMESPACE = "http://www.w3.org/2005/xpath-functions"


def convert(content: bytes | str, source: Format, to: Format) -> bytes:
    body = content.encode() if isinstance(content, str) else content
    media = conversion.check(body, Media(source))
    return conversion.convert(body, media, to=to)


def as_json(content: bytes | str, source: Format) -> Any:
    return json.loads(convert(content, source, "json"))


def test_i1_a_byte_order_mark_is_no_part_of_a_name() -> None:
    marked = b"\xef\xbb\xbfid,name\r\n1,Ann\r\n"
    assert as_json(marked, "csv") == [{"id": 1, "name": "Ann"}]
    assert b'key="id"' in convert(marked, "csv", "xml")


def test_i3_cells_hold_newlines_and_whatever_is_no_separator() -> None:
    long = "x" * 200_000
    content = f'h1,h2\r\n"a\r\nb",c\r\nx\u2028y,z\r\n"p\x0bq",r\r\n{long},"""q"""\r\n'
    assert as_json(content, "csv") == [
        {"h1": "a\r\nb", "h2": "c"},
        {"h1": "x\u2028y", "h2": "z"},
        {"h1": "p\x0bq", "h2": "r"},
        {"h1": long, "h2": '"q"'},
    ]
    assert json.loads(convert(convert(content, "csv", "xml"), "xml", "json")) == as_json(content, "csv")


def test_i4_nothing_is_guarded_and_nothing_changes() -> None:
    value = '[{"v":-1.5,"t":"=1+1","q":"\'=x","w":"@x"}]'
    assert convert(value, "json", "csv") == b"v,t,q,w\r\n-1.5,=1+1,'=x,@x\r\n"
    assert convert(convert(value, "json", "csv"), "csv", "json") == value.encode()


def test_cells_are_values_where_a_whole_column_is() -> None:
    content = 'n,zip,b,t,e,q\n1.50,00123,true,x,,"1"\n-2e3,12345,false,true,,"2"\n'
    assert convert(content, "csv", "json").decode() == (
        '[{"n":1.50,"zip":"00123","b":true,"t":"x","e":null,"q":"1"},'
        '{"n":-2e3,"zip":"12345","b":false,"t":"true","e":null,"q":"2"}]'
    )


def test_an_empty_cell_is_null_and_quotes_make_it_a_string() -> None:
    assert as_json('a,b\n,""\n', "csv") == [{"a": None, "b": ""}]
    assert as_json('a\n\n""\n1\n', "csv") == [{"a": None}, {"a": ""}, {"a": 1}]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r", ""])
def test_rows_end_in_any_way(ending: str) -> None:
    assert as_json(f"a,b{ending or chr(10)}1,2{ending}", "csv") == [{"a": 1, "b": 2}]


def test_empty_lines_are_no_rows_of_several_columns() -> None:
    assert as_json("a,b\n\n1,2\n\n\n", "csv") == [{"a": 1, "b": 2}]


@pytest.mark.parametrize(
    "value",
    [
        "[]",
        "{}",
        "1",
        "[1]",
        '[{"a":1},{"b":1}]',
        '[{"a":1},{"a":1,"b":2}]',
        '[{"a":[1]}]',
        '[{"a":{}}]',
        '[{"":1}]',
        "[{}]",
        '[{"a":1,"a":2}]',
        '[{"a":"\\ud800"}]',
    ],
)
def test_what_is_no_table_is_told(value: str) -> None:
    with pytest.raises(Unshowable):
        convert(value, "json", "csv")
    assert convert(convert(value, "json", "xml"), "xml", "json") == value.encode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<r><i>1</i></r>", '{"r":[{"i":["1"]}]}'),
        ("<r>\n  <i>1</i>\n  <i>2</i>\n</r>", '{"r":[{"i":["1"]},{"i":["2"]}]}'),
        ("<p>a <b>c</b> d</p>", '{"p":["a ",{"b":["c"]}," d"]}'),
        ("<p><b>a</b> <i>b</i>.</p>", '{"p":[{"b":["a"]}," ",{"i":["b"]},"."]}'),
        ("<a b='1'><b>2</b></a>", '{"a":[{"@b":"1"},{"b":["2"]}]}'),
        (
            '<a xmlns="u" xmlns:k="v"><k:b k:c="1"/></a>',
            '{"a":[{"@xmlns":"u"},{"@xmlns:k":"v"},{"k:b":[{"@k:c":"1"}]}]}',
        ),
        ("<a><![CDATA[<b>&]]> c</a>", '{"a":["<b>& c"]}'),
        ("<a>x<!-- y -->z<?p q?></a>", '{"a":["x",{"!":" y "},"z",{"?p":"q"}]}'),
        ("<a> </a>", '{"a":[" "]}'),
        ("<a xml:space='preserve'> <b/></a>", '{"a":[{"@xml:space":"preserve"}," ",{"b":[]}]}'),
        ("<!DOCTYPE a><a/>", '{"a":[]}'),
        ("<!DOCTYPE a [<!ELEMENT a EMPTY><!ATTLIST a b CDATA 'c'>]><a/>", '{"a":[]}'),
        ("<?xml version='1.0'?>\n<a>&lt;&#65;&amp;</a>\n\n\n", '{"a":["<A&"]}'),
    ],
)
def test_i7_any_xml_keeps_its_text_and_its_order(content: str, expected: str) -> None:
    assert convert(content, "xml", "json").decode() == expected


def test_text_is_one_string_however_long() -> None:
    text = "<a>" + "é&amp;" * 20_000 + "</a>"
    assert as_json(text, "xml") == {"a": ["é&" * 20_000]}


@pytest.mark.parametrize(
    "value",
    [
        '{"1st":1,"a b":2,"":3,"<x>":4,"a:b":5,"xmlns":6,"@id":7,"#text":8,"é":9,"\\"":10,"a\\tb\\nc\\rd":11}',
        '{"t":"a\\u0000b\\u0007"}',
        '{"\\u0000":"\\\\u0000","\\\\":"\\\\"}',
        '{"t":"]]>"}',
        "[[1,2],[]]",
        '{"e":[],"n":null,"s":"","o":{},"f":false}',
        '["\\ud800","\\udc00\\ud800","\\ufffe","\\uffff"," ","\\r\\n","  a  "]',
        "[1,1.0,1.50,-0,1e400,123456789012345678901234567890,0.1e-7]",
        '{"a":1,"a":2}',
        '"x"',
        "null",
    ],
)
def test_i8_json_survives_xml_whatever_its_names_and_characters(value: str) -> None:
    xml = convert(value, "json", "xml")
    root = minidom.parseString(xml).documentElement
    assert root is not None
    assert root.namespaceURI == NAMESPACE
    again = convert(xml, "xml", "json").decode()
    assert _exactly(again) == _exactly(value)


def test_names_of_members_can_be_read_by_any_parser() -> None:
    value = '{"1st":1,"a b":2,"":3,"<x>":4,"a:b":5,"xmlns":6,"@id":7,"é":9}'
    root = minidom.parseString(convert(value, "json", "xml")).documentElement
    assert root is not None
    keys = [child.getAttribute("key") for child in root.childNodes if isinstance(child, minidom.Element)]
    assert keys == list(json.loads(value))


@pytest.mark.parametrize(
    "content",
    [
        f'<j:map xmlns:j="{NAMESPACE}">\n  <j:number key="a"> 1 </j:number>\n  <j:null key="b"/>\n</j:map>',
        f'<map xmlns="{NAMESPACE}"><number key="a">1</number><null key="b"></null></map>',
    ],
)
def test_json_in_xml_of_others_is_read(content: str) -> None:
    assert convert(content, "xml", "json") == b'{"a":1,"b":null}'


@pytest.mark.parametrize(
    "inside",
    [
        "<string>x</string>",
        '<string key="a"><b/></string>',
        '<number key="a">one</number>',
        '<boolean key="a">yes</boolean>',
        '<null key="a">x</null>',
        '<string key="a" lang="en">x</string>',
        '<boolean key="a">2</boolean>',
        '<string key="a" escaped="yes">x</string>',
        '<string key="a" f:escaped="true">x</string>',
        '<number key="a">.</number>',
        '<number key="a">INF</number>',
        '<number key="a">1 2</number>',
        '<null key="a" unbound:x="1"/>',
        '<null key="a" escaped="true"/>',
        '<null key="a" xmlns=""/>',
        '<map key="a"><string xmlns="x" key="b"/></map>',
        '<map key="a"><null key="b"/><null/></map>',
        '<array key="a"><null key="b"/></array>',
        '<string key="a" escaped="true">\\x</string>',
        '<other key="a"/>',
        'text<null key="a"/>',
    ],
)
def test_xml_that_only_looks_like_json_is_any_xml(inside: str) -> None:
    value = as_json(f'<map xmlns="{NAMESPACE}" xmlns:f="{NAMESPACE}">{inside}</map>', "xml")
    assert list(value) == ["map"]
    assert value["map"][0] == {"@xmlns": NAMESPACE}


@pytest.mark.parametrize(
    "root",
    [f'<string xmlns="{NAMESPACE}" key="a">x</string>', "<map/>", '<map xmlns="other"/>', "<f:map/>"],
)
def test_a_root_that_is_no_json_value_is_any_xml(root: str) -> None:
    assert len(as_json(root, "xml")) == 1
    assert isinstance(next(iter(as_json(root, "xml").values())), list)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ('<boolean key="a"> 1 </boolean><boolean key="b">0</boolean>', '{"a":true,"b":false}'),
        ('<string key="\\n" escaped-key="1" escaped="1">\\t</string>', '{"\\n":"\\t"}'),
        ('<string key="\\n" escaped-key="0" escaped="0">\\t</string>', '{"\\\\n":"\\\\t"}'),
        ('<!-- x --><string key="a">x<!-- y -->z<?p q?></string><?p q?>', '{"a":"xz"}'),
        ('<array key="a"><!-- x --><null><!-- y --></null></array>', '{"a":[null]}'),
        ('<string key="a" xml:lang="en" o:key="b" xml:space="preserve"> x </string>', '{"a":" x "}'),
        (f'<f:map key="a"><g:null xmlns:g="{NAMESPACE}" xmlns="x" key="b"/></f:map>', '{"a":{"b":null}}'),
        ('<number key="a">+01.50</number><number key="b">.5</number>', '{"a":1.50,"b":0.5}'),
        ('<number key="a"> 00 </number><number key="b">-1.E+3</number>', '{"a":0,"b":-1E+3}'),
    ],
)
def test_what_the_schema_of_the_form_allows_is_read(inside: str, expected: str) -> None:
    spaces = f'xmlns="{NAMESPACE}" xmlns:f="{NAMESPACE}" xmlns:o="other" xmlns:xsi="instance"'
    content = f'<!-- x --><map {spaces} xsi:schemaLocation="a b" xml:lang="en">{inside}</map>'
    assert convert(content, "xml", "json").decode() == expected


def test_a_table_goes_through_xml_to_csv() -> None:
    table = '[{"a":1,"b":"x"},{"a":null,"b":"1"}]'
    assert convert(convert(table, "json", "xml"), "xml", "csv") == b'a,b\r\n1,x\r\n,"1"\r\n'
    with pytest.raises(Unshowable, match="array of objects"):
        convert("<rows><row><a>1</a></row></rows>", "xml", "csv")


@pytest.mark.parametrize(
    ("content", "media", "expected"),
    [
        ("a\né\n".encode("latin-1"), Media("csv"), "é"),
        ("a\né\n".encode("utf-16"), Media("csv"), "é"),
        ("a\n€\n".encode("cp1252"), Media("csv"), "€"),
        ("a\né\n".encode("iso-8859-15"), Media("csv", "iso-8859-15"), "é"),
        ('"é"'.encode("utf-32"), Media("json"), "é"),
        (b"\xef\xbb\xbf" + '"é"'.encode(), Media("json"), "é"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>".encode("latin-1"), Media("xml"), "é"),
        ("<?xml version='1.0' encoding='windows-1252'?><a>€</a>".encode("cp1252"), Media("xml"), "€"),
        ("<?xml version='1.0' encoding='utf-8'?><a>é</a>".encode("latin-1"), Media("xml", "iso-8859-1"), "é"),
        ("<a>é</a>".encode("utf-16"), Media("xml"), "é"),
    ],
)
def test_encodings(content: bytes, media: Media, expected: str) -> None:
    found = conversion.check(content, media)
    for to in ("json", "xml", "csv"):
        if to != media.format and not (media.format in ("json", "xml") and to in ("csv", "xml")):
            assert expected in conversion.convert(content, found, to=to).decode()


@pytest.mark.parametrize(
    ("content", "media"),
    [
        (b'"\xff"', Media("json")),
        (b"a\n\x81\n", Media("csv")),
        (b"a\n\xff\n", Media("csv", "utf-8")),
        (b"<?xml version='1.0' encoding='shift_jis'?><a>\x83</a>", Media("xml")),
        (b"<?xml version='1.0' encoding='nonsense'?><a/>", Media("xml")),
        (b"<a>\xff</a>", Media("xml")),
    ],
)
def test_bytes_that_are_not_in_their_encoding_are_refused(content: bytes, media: Media) -> None:
    with pytest.raises(NotConvertible):
        conversion.check(content, media)


def _exactly(text: str) -> Any:
    return json.loads(text, object_pairs_hook=list, parse_float=str, parse_int=str)
