"""Any XML as a JSON value that has all of it.

An element is an object with one member: its name, and the array of what is in it, in order: attributes as
`{"@name": "value"}`, text as strings, elements, comments as `{"!": "text"}`, processing instructions as
`{"?target": "data"}`. One child or many look the same, and no order is lost.
"""

from typing import Any

from broker.documents.formats.json_text import Members
from broker.documents.formats.xml_tree import Comment, Element, Instruction


def value_of(element: Element, *, preserve: bool = False) -> Any:
    """The JSON value of an element.

    White space between elements is left out where an element has no other text, unless `xml:space` preserves it.
    """
    space = dict(element.attributes).get("xml:space")
    preserve = space == "preserve" if space in ("preserve", "default") else preserve
    content: list[Any] = [Members([(f"@{name}", value)]) for name, value in element.attributes]
    blank = not preserve and _only_elements(element)
    for child in element.children:
        match child:
            case str():
                if not blank:
                    content.append(child)
            case Element():
                content.append(value_of(child, preserve=preserve))
            case Comment():
                content.append(Members([("!", child.text)]))
            case Instruction():
                content.append(Members([(f"?{child.target}", child.data)]))
    return Members([(element.name, content)])


def _only_elements(element: Element) -> bool:
    texts = [child for child in element.children if isinstance(child, str)]
    return any(isinstance(child, Element) for child in element.children) and not any(text.strip() for text in texts)
