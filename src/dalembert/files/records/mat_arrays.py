"""Numeric arrays of MAT-files, versions 4 and 5 to 7.2, after MathWorks, *MAT-File Format* (R2024b).

The file is walked tag by tag. Of every variable its class, dimensions and name are read; the numbers only of those that
are asked for, in pieces, straight to their place. Structures, cells, objects, functions, text and sparse matrices are
passed over by their length, without looking inside. Every length is checked against what is left of the file, and of a
compressed variable no more is unpacked than its dimensions need.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.isolation import PIECE
from dalembert.files.records.bounds import CHANNEL

_MATRIX, _COMPRESSED = 14, 15
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_STORED_4 = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
_NUMERIC = range(6, 16)  # classes: double, single, int8 ... uint64; a logical array is a uint8 with a flag
_IS_COMPLEX = 0x0800
_LONGEST_NAME = 4096  # bytes; MATLAB allows 63, other programs more


class Broken(Exception):
    """The bytes are not what a MAT-file has in this place."""


@dataclass(frozen=True)
class Variable:
    """A numeric array of the file: where it lies, not yet its numbers.

    ``start`` : first byte of the element in the file (its body); ``packed`` : bytes of a compressed body, else 0;
    ``skip`` : bytes of the unpacked body before the numbers; ``stored`` : type of the numbers as they are stored.
    """

    name: str
    shape: tuple[int, ...]
    is_complex: bool
    stored: str
    start: int
    packed: int
    skip: int

    @property
    def size(self) -> int:
        return prod(self.shape)


def variables(path: Path, max_bytes: int) -> list[Variable]:
    """Numeric variables in the order of the file; `FileFormatError` where it is damaged."""
    most = max_bytes // CHANNEL
    try:
        with path.open("rb") as file:
            total = path.stat().st_size
            head = file.read(128)
            # the first word of a version 4 file is a small number, of a later one the beginning of a text
            walk = _version_4(file, total) if 0 in head[:4] else _version_5(file, head, total)
            found = list(islice(walk, most + 1))
    except (Broken, zlib.error, OSError) as error:
        raise FileFormatError(
            "damaged", f"this is not a MAT-file that can be read ({error}).", path=str(path)
        ) from error
    if len(found) > most:
        raise FileFormatError(
            "too-large", f"more than {most} variables exceed max_bytes = {max_bytes}.", path=str(path)
        )
    seen: set[str] = set()
    for variable in found:
        if variable.name in seen:
            raise FileFormatError("taken-name", f"two variables are named {variable.name!r}.", path=str(path))
        seen.add(variable.name)
    return found


def read_into(path: Path, variable: Variable, target: Any) -> None:
    """The real numbers of a variable, in the order of the file (first index fastest), into ``target.flat``."""
    stored = np.dtype(variable.stored)
    place, places = 0, target.flat
    try:
        with path.open("rb") as file:
            file.seek(variable.start)
            take = _unpacking(file, variable.packed) if variable.packed else file.read
            for left in range(variable.skip, 0, -PIECE):
                _exactly(take, min(left, PIECE))
            while place < variable.size:
                some = min(variable.size - place, PIECE // stored.itemsize)
                places[place : place + some] = np.frombuffer(_exactly(take, some * stored.itemsize), dtype=stored)
                place += some
    except (Broken, zlib.error, OSError) as error:
        raise FileFormatError("damaged", f"variable {variable.name!r} is damaged ({error}).", path=str(path)) from error


def _exactly(take: Callable[[int], bytes], wanted: int) -> bytes:
    found = take(wanted)
    if len(found) != wanted:
        raise Broken("it is cut off")
    return found


def _unpacking(file: BinaryIO, packed: int) -> Callable[[int], bytes]:
    """Reader of a compressed body; it holds a piece of the packed bytes and what was asked for, no more."""
    stream, left = zlib.decompressobj(), packed

    def take(wanted: int) -> bytes:
        nonlocal left
        parts: list[bytes] = []
        while wanted > 0 and not stream.eof:
            raw = stream.unconsumed_tail
            if not raw:
                raw = file.read(min(left, 1 << 16))
                left -= len(raw)
            part = stream.decompress(raw, wanted)
            if not raw and not part:
                break
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)

    return take


# -- version 5 to 7.2 --------------------------------------------------------------------------------------------------


def _version_5(file: BinaryIO, head: bytes, total: int) -> Iterator[Variable]:
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    if order is None or head[124:126] not in (b"\x00\x01", b"\x01\x00"):
        raise Broken("its head is not that of versions 4 to 7.2")
    start = 128
    while start < total:
        file.seek(start)
        kind, length = struct.unpack(f"{order}II", _exactly(file.read, 8))
        start += 8
        if length > total - start:
            raise Broken(f"an element of {length} bytes, but {total - start} are left")
        if kind == _COMPRESSED and length:
            take = _unpacking(file, length)
            inner, size = struct.unpack(f"{order}II", _exactly(take, 8))
            variable = _matrix(take, order, size) if inner == _MATRIX else None
            if variable is not None:
                yield replace(variable, start=start, packed=length, skip=8 + variable.skip)
        elif kind == _MATRIX and length:
            variable = _matrix(file.read, order, length)
            if variable is not None:
                yield replace(variable, start=start)
        start += length


def _matrix(take: Callable[[int], bytes], order: str, size: int) -> Variable | None:
    """Head of an array of ``size`` bytes; None for what is no array of numbers."""
    used = 0

    def element(most: int) -> tuple[int, bytes]:
        nonlocal used
        kind, length, content = tag()
        if content is None:
            if length > most:
                raise Broken(f"{length} bytes in the head of an array")
            padded = -(-length // 8) * 8
            content = _exactly(take, padded)[:length]
            used += padded
        return kind, content

    def tag() -> tuple[int, int, bytes | None]:
        """Type and length of an element, and its content where it is so small that it lies in the tag."""
        nonlocal used
        if size - used < 8:
            raise Broken("an array is cut off")
        raw = _exactly(take, 8)
        used += 8
        kind, length = struct.unpack(f"{order}II", raw)
        if kind >> 16:
            kind, length = kind & 0xFFFF, kind >> 16
            if length > 4:
                raise Broken(f"a small element of {length} bytes")
            return kind, length, raw[4 : 4 + length]
        return kind, length, None

    _, flags = element(8)
    if len(flags) != 8:
        raise Broken("an array without flags")
    word = struct.unpack(f"{order}I", flags[:4])[0]
    if word & 0xFF not in _NUMERIC:
        return None
    kind, dimensions = element(4 * 32)
    if kind != 5 or len(dimensions) < 8 or len(dimensions) % 4:
        raise Broken("an array without dimensions")
    shape = struct.unpack(f"{order}{len(dimensions) // 4}i", dimensions)
    _, raw_name = element(_LONGEST_NAME)
    name = raw_name.rstrip(b"\0").decode("utf-8", "replace")
    if min(shape) < 0:
        raise Broken(f"{name!r} has dimensions {shape}")
    if not name or min(shape) == 0:  # what has no name holds the data of objects
        return None
    kind, length, inside = tag()
    stored = np.dtype(order + _STORED[kind]) if kind in _STORED else None
    if stored is None or length != prod(shape) * stored.itemsize or length > (4 if inside is not None else size - used):
        raise Broken(f"the numbers of {name!r} take {length} bytes, which does not fit its dimensions {shape}")
    begin = used - 4 if inside is not None else used
    return Variable(name, shape, bool(word & _IS_COMPLEX), stored.str, 0, 0, begin)


# -- version 4 ---------------------------------------------------------------------------------------------------------


def _version_4(file: BinaryIO, total: int) -> Iterator[Variable]:
    start = 0
    while start < total:
        file.seek(start)
        raw = _exactly(file.read, 20)
        order = "<" if struct.unpack("<I", raw[:4])[0] < 5000 else ">"
        code, rows, columns, imaginary, letters = struct.unpack(f"{order}5i", raw)
        machine, rest = divmod(code, 1000)
        zero, rest = divmod(rest, 100)
        stored_as, kind = divmod(rest, 10)
        if machine not in (0, 1) or zero or stored_as not in _STORED_4 or kind not in (0, 1, 2):
            raise Broken(f"{code} is no type of a version 4 array")
        if rows < 0 or columns < 0 or imaginary not in (0, 1) or not 0 < letters <= _LONGEST_NAME:
            raise Broken("a head of a version 4 array that cannot be")
        stored = np.dtype(order + _STORED_4[stored_as])
        start += 20 + letters
        length = rows * columns * stored.itemsize
        if start + length * (1 + imaginary) > total:
            raise Broken(f"an array of {length} bytes, but {total - start} are left")
        name = _exactly(file.read, letters).rstrip(b"\0").decode("latin-1")
        if kind == 0 and name and length:
            yield Variable(name, (rows, columns), bool(imaginary), stored.str, start, 0, 0)
        start += length * (1 + imaginary)
