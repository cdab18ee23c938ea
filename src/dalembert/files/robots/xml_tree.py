"""XML of a robot as plain nodes with line numbers, with limits of size and without active content.

A document type, own entities and references to other files are refused before they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from dalembert.core.atomic_files import read_bytes, require_file
from dalembert.core.errors import FileFormatError

# Limits far above the largest of 69 published robots (211 kB, depth 7, 3 851 elements); reading takes 2 s.
FILE_BYTES = 20 * 1024**2
DEPTH = 64
ELEMENTS = 20_000  # with those of included files
HEAD_BYTES = 65_536  # in which the root element begins


@dataclass
class XmlNode:
    """An element: its name, its attributes, its children, and its line in the file.

    path : of an included file; empty for the file itself.  text : inside it, where texts are read.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[XmlNode] = field(default_factory=list)
    path: str = ""
    text: str = ""

    def all(self, tag: str) -> Iterator[XmlNode]:
        """Children with this name."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> XmlNode | None:
        return next(self.all(tag), None)


def read_xml(path: Path, most: int | None = None) -> XmlNode:
    """The root element of a file with at most so many elements, by default `LIMITS`."""
    return parse_xml(read_bytes(path, FILE_BYTES), str(path), most)


def root_tag(path: Path) -> str:
    """Name of the root element, from the first bytes of a file; empty where there is none."""
    names: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, _: names.append(tag)
    parser.StartDoctypeDeclHandler = lambda *_: names.append("")
    try:
        require_file(path, FILE_BYTES)
        with path.open("rb") as file:
            parser.Parse(file.read(HEAD_BYTES), False)
    except (FileFormatError, expat.ExpatError, OSError, ValueError, LookupError):  # the reader of the format reports it
        pass
    return names[0] if names else ""


def parse_xml(content: bytes, shown: str, most: int | None = None, *, texts: bool = False) -> XmlNode:
    """The root element of these bytes; more than ``most`` elements are refused."""
    most = ELEMENTS if most is None else most
    parser = expat.ParserCreate()
    top = XmlNode("", {}, 0)
    stack = [top]
    pieces: list[str] = []
    count = 0

    def refuse(what: str) -> FileFormatError:
        return FileFormatError("not-supported", f"{what} are not read.", path=shown, line=parser.CurrentLineNumber)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(stack) > DEPTH or count > most:
            problem = f"more than {DEPTH} elements inside each other, or {ELEMENTS} in all files."
            raise FileFormatError("too-large", problem, path=shown, line=parser.CurrentLineNumber)
        node = XmlNode(tag, attributes, parser.CurrentLineNumber)
        stack[-1].children.append(node)
        pieces.clear()
        stack.append(node)

    def end(tag: str) -> None:
        stack.pop().text = "".join(pieces)
        pieces.clear()

    def document_type(*_: object) -> int:
        raise refuse("document types and entities")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    if texts:
        parser.buffer_text = True
        parser.CharacterDataHandler = pieces.append
    parser.StartDoctypeDeclHandler = document_type
    parser.EntityDeclHandler = document_type
    parser.ExternalEntityRefHandler = document_type
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        problem = f"the XML is broken: {expat.errors.messages[error.code]}."
        raise FileFormatError("bad-syntax", problem, path=shown, line=error.lineno) from None
    except (UnicodeError, LookupError, ValueError) as error:
        raise FileFormatError("bad-syntax", f"the text cannot be decoded ({error}).", path=shown) from None
    return top.children[0]
