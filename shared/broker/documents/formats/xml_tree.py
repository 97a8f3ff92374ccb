"""XML text as a tree. Entities are never declared, nothing outside the document is ever read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from broker.errors import NotConvertible
from broker.jsontext import MAX_DEPTH


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment."""

    text: str


@dataclass(frozen=True, slots=True)
class Instruction:
    """A processing instruction."""

    target: str
    data: str


@dataclass(slots=True)
class Element:
    """An element: its name and attributes as written, prefixes included, and what is in it, in order."""

    name: str
    attributes: list[tuple[str, str]]
    children: "list[str | Element | Comment | Instruction]" = field(default_factory=list)


def read(content: bytes, *, encoding: str | None = None) -> Element:
    """The root element. CDATA is text; what stands outside the root, and defaults from a DTD, are not in the tree.

    Args:
        content: The document.
        encoding: Its encoding; None for what its byte order mark or its declaration says.

    Raises:
        NotConvertible: It is not well-formed, declares an entity, refers to something outside, or has elements more
            than 64 levels below the root.
    """
    builder = _Builder(encoding)
    _parse(builder.parser, content)
    return builder.root.children[0]  # type: ignore[return-value]  # a well-formed document has one root, and only that


def check(content: bytes, *, encoding: str | None = None) -> None:
    """Make sure that `read` reads this, at less cost.

    Raises:
        NotConvertible: It does not.
    """
    _parse(_Guard(encoding).parser, content)


def _parse(parser: Any, content: bytes) -> None:
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        fault = expat.ErrorString(error.code) or "malformed"
        where = f"line {error.lineno}, column {error.offset + 1}"
        raise NotConvertible(f"The document is not well-formed XML: {fault} at {where}.") from error
    except (LookupError, ValueError) as error:
        raise NotConvertible(f"The document is in an encoding that cannot be read: {error}.") from error


class _Guard:
    """Reads XML, and refuses what must not be in it."""

    def __init__(self, encoding: str | None) -> None:
        parser: Any = expat.ParserCreate(encoding)
        parser.ordered_attributes = True
        # A default from a DTD could be huge, and would be repeated with every element.
        parser.specified_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._doctype
        # expat's own guard against expansion lets thousandfold growth pass, so that no entity may be declared at all.
        parser.EntityDeclHandler = self._entity
        parser.NotationDeclHandler = self._outside
        parser.ExternalEntityRefHandler = self._outside
        parser.SkippedEntityHandler = self._outside
        self.parser = parser
        self.depth = 0

    def _start(self, _: str, __: Sequence[str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH + 1:
            raise NotConvertible(
                f"The document has elements more than {MAX_DEPTH} levels below its root, at line "
                f"{self.parser.CurrentLineNumber}."
            )

    def _end(self, _: str) -> None:
        self.depth -= 1

    def _doctype(self, _: str, system_id: str | None, public_id: str | None, __: bool) -> None:  # noqa: FBT001  # expat's
        if system_id is not None or public_id is not None:
            self._outside()

    def _entity(self, name: str, *_: object) -> NoReturn:
        raise NotConvertible(
            f"The document declares the entity {name[:100]}, which is refused, at line {self.parser.CurrentLineNumber}."
        )

    def _outside(self, *_: object) -> NoReturn:
        raise NotConvertible(
            f"The document refers to something outside itself at line {self.parser.CurrentLineNumber}; that is refused."
        )


class _Builder(_Guard):
    """Makes the tree as well."""

    def __init__(self, encoding: str | None) -> None:
        super().__init__(encoding)
        self.root = Element("", [])
        self._open = [self.root]
        self._text: list[str] = []
        self.parser.buffer_text = True
        self.parser.CharacterDataHandler = self._text.append
        self.parser.CommentHandler = self._comment
        self.parser.ProcessingInstructionHandler = self._instruction

    def _start(self, name: str, attributes: Sequence[str]) -> None:
        super()._start(name, attributes)
        self._flush()
        element = Element(name, list(zip(attributes[::2], attributes[1::2], strict=True)))
        self._open[-1].children.append(element)
        self._open.append(element)

    def _end(self, name: str) -> None:
        super()._end(name)
        self._flush()
        self._open.pop()

    def _flush(self) -> None:
        if self._text:
            self._open[-1].children.append("".join(self._text))
            self._text.clear()

    def _comment(self, text: str) -> None:
        if self.depth:
            self._flush()
            self._open[-1].children.append(Comment(text))

    def _instruction(self, target: str, data: str) -> None:
        if self.depth:
            self._flush()
            self._open[-1].children.append(Instruction(target, data))
