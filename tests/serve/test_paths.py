"""What the gateway makes of paths and queries."""

import pytest

from tools.serving.paths import BadPathError, gateway_path, query_parameters, split_target


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        # As live HTTP APIs answered; see the module's docstring for the source.
        ("/capture/plain", "/capture/plain"),
        ("/capture/space%20value", "/capture/space value"),
        ("/capture/question%3Fvalue", "/capture/question"),
        ("/capture/hash%23value", "/capture/hash#value"),
        ("/capture/slash%2Fvalue", "/capture/slash/value"),
        ("/capture/unicode-%CE%BB-%E4%B8%96%E7%95%8C", "/capture/unicode-λ-世界"),
        ("/capture/literal%252Fvalue", "/capture/literal/value"),
        ("/capture/literal%253Fvalue", "/capture/literal?value"),
        ("/capture/literal%2525value", "/capture/literal%value"),
        # Beyond the captures.
        ("/a+b", "/a+b"),
        ("/\xce\xbb", "/λ"),  # bytes that should have been escaped, as the socket gives them
        ("/%FF", "/\ufffd"),
        ("//a//", "//a//"),
    ],
)
def test_a_path_is_decoded_twice_and_cut_at_a_question_mark(sent: str, seen: str) -> None:
    assert gateway_path(sent) == seen


@pytest.mark.parametrize("sent", ["/capture/percent%25done", "/50%25", "/a%", "/a%4", "/a%zz"])
def test_a_broken_escape_is_refused_whichever_decoding_meets_it(sent: str) -> None:
    with pytest.raises(BadPathError):
        gateway_path(sent)


@pytest.mark.parametrize(
    ("raw", "parameters"),
    [
        ("", {}),
        (
            "repeat=one&repeat=two&redirect=https%3A%2F%2Fexample.com%2Fa&literalPlus=a+b&encodedPlus=a%2Bb&empty=",
            {
                "repeat": "one,two",
                "redirect": "https://example.com/a",
                "literalPlus": "a b",
                "encodedPlus": "a+b",
                "empty": "",
            },
        ),
        ("a=1%2C2&a=3", {"a": "1,2,3"}),
        ("flag&a=%C3%BC&a%5B%5D=1", {"flag": "", "a": "ü", "a[]": "1"}),
        ("a=1&&b=2", {"a": "1", "b": "2"}),
    ],
)
def test_query_parameters_are_decoded_once_and_joined(raw: str, parameters: dict[str, str]) -> None:
    assert query_parameters(raw) == parameters


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/a/b?c=d?e", "/a/b", "c=d?e"),
        ("/a", "/a", ""),
        ("//a", "//a", ""),
        ("http://localhost:3000/a?b=1", "/a", "b=1"),
        ("http://localhost?b=1", "/", "b=1"),
        ("*", "*", ""),
    ],
)
def test_a_target_is_split_at_its_first_question_mark(target: str, path: str, query: str) -> None:
    assert split_target(target) == (path, query)
