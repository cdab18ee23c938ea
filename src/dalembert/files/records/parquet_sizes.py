"""What a Parquet file would unpack to, counted from its bytes before its library reads them.

The footer and the heads of the pages are structures in Thrift's compact protocol (Apache Thrift,
*thrift-compact-protocol.md*; Apache Parquet, *parquet.thrift*). The library trusts their sizes: a page is unpacked
whole, whatever the number of its rows, and a few bytes of footer become kilobytes of objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dalembert.core.errors import FileFormatError

_STRUCTURE = 1024  # bytes that a structure of the footer takes as an object, at most (ColumnChunk)
_FOOTER_SHARE = 16  # its bytes are copied by every layer of the library
_FOOTER = 1 << 20  # bytes that are always allowed
_PAGE_HEAD = 1 << 16  # bytes; statistics may make it long
_DEEPEST = 32
_UNCOMPRESSED, _COMPRESSED = 2, 3  # fields of PageHeader


class Broken(Exception):
    """The bytes are no structure of Thrift."""


class _Walk:
    """Cursor over a structure that is passed over field by field."""

    def __init__(self, content: bytes, most: int = 10_000) -> None:
        self.content, self.place, self.structures, self.most = content, 0, 0, most

    def byte(self) -> int:
        if self.place >= len(self.content):
            raise Broken("a structure is cut off")
        self.place += 1
        return self.content[self.place - 1]

    def varint(self) -> int:
        value = shift = 0
        while (byte := self.byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise Broken("a number has too many digits")
        return value | byte << shift

    def structure(self, depth: int = 0) -> dict[int, int]:
        """Pass over a structure; its whole numbers by field."""
        self.structures += 1
        if depth > _DEEPEST or self.structures > self.most:
            raise Broken(f"structures nested {depth} deep, {self.structures} in all, are too many for max_bytes")
        found: dict[int, int] = {}
        field = 0
        while head := self.byte():
            if head >> 4:
                field += head >> 4
            else:
                raw = self.varint()
                field = raw >> 1 ^ -(raw & 1)
            value = self.value(head & 0x0F, depth)
            if value is not None:
                found[field] = value
        return found

    def value(self, kind: int, depth: int) -> int | None:
        if kind in (1, 2):  # a truth value is in the head
            return None
        if kind == 3:
            self.byte()
        elif kind in (4, 5, 6):
            raw = self.varint()
            return raw >> 1 ^ -(raw & 1)
        elif kind == 7:
            self.place += 8
        elif kind == 8:
            length = self.varint()
            self.place += length
        elif kind in (9, 10):
            self.sequence(depth)
        elif kind == 12:
            self.structure(depth + 1)
        else:
            raise Broken(f"type {kind} is not of this format")
        return None

    def sequence(self, depth: int) -> None:
        head = self.byte()
        count, kind = head >> 4, head & 0x0F
        if count == 15:
            count = self.varint()
        if count > len(self.content) - self.place:  # every member takes a byte at least
            raise Broken("a list is longer than the file")
        for _ in range(count):
            if kind in (1, 2):
                self.byte()
            else:
                self.value(kind, depth + 1)


def check_footer(file: BinaryIO, total: int, max_bytes: int, path: Path) -> None:
    """Refuse a footer whose structures would take more than ``max_bytes`` as objects."""
    try:
        if total < 12:
            raise Broken("it is too short")
        file.seek(total - 8)
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != b"PAR1" or length > total - 12:
            raise Broken("it does not end as one")
        if length > max(max_bytes // _FOOTER_SHARE, _FOOTER):
            raise Broken(f"a footer of {length} bytes is too long for max_bytes")
        file.seek(total - 8 - length)
        _Walk(file.read(length), max_bytes // _STRUCTURE).structure()
    except Broken as error:
        raise FileFormatError(
            "damaged", f"this is not a Parquet file that can be read ({error}).", path=str(path)
        ) from error


def largest_page(file: BinaryIO, start: int, length: int, path: Path) -> int:
    """Declared size of the largest page of a column chunk, unpacked [bytes]."""
    return max(_pages(file, start, length, path), default=0)


def _pages(file: BinaryIO, start: int, length: int, path: Path) -> Iterator[int]:
    end = start + length
    while start < end:
        file.seek(start)
        walk = _Walk(file.read(min(_PAGE_HEAD, end - start)))
        try:
            head = walk.structure()
            unpacked, packed = head.get(_UNCOMPRESSED, -1), head.get(_COMPRESSED, -1)
            if min(unpacked, packed) < 0 or packed > end - start - walk.place:
                raise Broken("a page is longer than its column")
        except Broken as error:
            raise FileFormatError(
                "damaged", f"this is not a Parquet file that can be read ({error}).", path=str(path)
            ) from error
        yield max(unpacked, packed)
        start += walk.place + packed
