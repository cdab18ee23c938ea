"""Plain data with arrays in it, as one text for a page: JSON for the words, little-endian numbers for the arrays.

    4 bytes: length of the JSON | JSON, filled up with blanks | arrays, each from a multiple of 8 bytes

as base64, compressed with gzip where that saves something. An array stands in the JSON as its place, shape and type:
``{"array": 128, "shape": [3, 61], "type": "f4"}``.
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

COMPRESSED_FROM = 16_384  # bytes; below it there is nothing to save
_FINE = 2.0**10  # values above it lose what is seen in single precision: turns of a shaft, machines far from the origin
_TYPES: dict[str, np.dtype[Any]] = {"f4": np.dtype("<f4"), "f8": np.dtype("<f8"), "i4": np.dtype("<i4")}


def packed(data: Mapping[str, Any]) -> bytes:
    """The bytes of a page's data, not compressed."""
    parts: list[bytes] = []
    size = 0

    def place(value: Any) -> Any:
        nonlocal size
        if isinstance(value, np.ndarray):
            kind = _type_of(value)
            raw = np.ascontiguousarray(value, dtype=_TYPES[kind]).tobytes()
            raw += bytes(-len(raw) % 8)
            entry = {"array": size, "shape": list(value.shape), "type": kind}
            parts.append(raw)
            size += len(raw)
            return entry
        if isinstance(value, Mapping):
            return {str(key): place(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [place(one) for one in value]
        return value.item() if isinstance(value, np.generic) else value

    words = json.dumps(place(data), separators=(",", ":"), allow_nan=False).encode()
    words += b" " * (-(len(words) + 4) % 8)
    return struct.pack("<I", len(words)) + words + b"".join(parts)


def _type_of(values: np.ndarray[Any, Any]) -> str:
    if values.dtype.kind in "iub":
        return "i4"
    largest = np.nanmax(np.abs(values), initial=0.0) if values.size else 0.0
    return "f8" if values.dtype == np.float64 and largest > _FINE else "f4"


def as_text(data: Mapping[str, Any]) -> tuple[str, str]:
    """(packing, text): "plain" or "gzip", and base64, which holds no sign that HTML knows."""
    raw = packed(data)
    packing = "plain"
    if len(raw) > COMPRESSED_FROM:
        packing, raw = "gzip", gzip.compress(raw, compresslevel=6, mtime=0)
    return packing, base64.b64encode(raw).decode("ascii")


def unpacked(packing: str, text: str) -> Any:
    """What `as_text` was given, arrays as they are stored."""
    raw = base64.b64decode(text)
    raw = gzip.decompress(raw) if packing == "gzip" else raw
    (length,) = struct.unpack("<I", raw[:4])
    arrays = raw[4 + length :]

    def read(value: Any) -> Any:
        if isinstance(value, list):
            return [read(one) for one in value]
        if not isinstance(value, dict):
            return value
        if "array" not in value:
            return {key: read(one) for key, one in value.items()}
        count = int(np.prod(value["shape"], dtype=np.int64))
        found = np.frombuffer(arrays, _TYPES[value["type"]], count, value["array"])
        return found.reshape(value["shape"])

    return read(json.loads(raw[4 : 4 + length]))
