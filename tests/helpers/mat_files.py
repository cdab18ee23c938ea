"""MAT files of version 5, written byte by byte."""

from __future__ import annotations

import struct
import zlib
from typing import Any

CODES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 9, "i8": 12, "u8": 13}


def element(order: str, kind: int, content: bytes) -> bytes:
    """A data element as MATLAB writes it: in its tag where it has at most four bytes."""
    if 0 < len(content) <= 4:
        return struct.pack(f"{order}I", len(content) << 16 | kind) + content.ljust(4, b"\0")
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def version_5(order: str, arrays: dict[str, Any], *, packed: bool = False) -> bytes:
    """A file of version 5 in either byte order, which SciPy does not write."""
    text = b"MATLAB 5.0 MAT-file, written by a test".ljust(124)
    out = [text, struct.pack(f"{order}H", 0x0100), b"IM" if order == "<" else b"MI"]
    for name, array in arrays.items():
        inside = [
            element(order, 6, struct.pack(f"{order}II", 6, 0)),
            element(order, 5, struct.pack(f"{order}{array.ndim}i", *array.shape)),
            element(order, 1, name.encode()),
            element(
                order,
                CODES[array.dtype.str[1:]],
                array.astype(array.dtype.newbyteorder(order)).tobytes(order="F"),
            ),
        ]
        body = b"".join(inside)
        whole = struct.pack(f"{order}II", 14, len(body)) + body
        small = zlib.compress(whole)
        out.append(struct.pack(f"{order}II", 15, len(small)) + small if packed else whole)
    return b"".join(out)
