"""Plain data with arrays in it, as one text for a page: JSON for the words, little-endian numbers for the arrays.

    4 bytes: length of the JSON | JSON, filled up with blanks | arrays, each from a multiple of 8 bytes

as base64, compressed with gzip where that saves something. In the JSON an array is its place, shape and type:
``{"array": 128, "shape": [3, 61], "type": "f4"}``.

Long rows of numbers (poses, channels) are type ``"d2"``: with q = round((x - low) / step), step the range of the row
over 2²⁰, the second differences q_i - 2 q_{i-1} + q_{i-2} modulo 2³² stand as four planes of bytes, the lowest first.
Of smooth curves the upper planes are all but empty, which gzip makes use of; a row is good to 2⁻²¹ of its range.
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
_FINE = 2.0**10  # larger values lose visible detail in single precision: turns of a shaft, machines far from the origin
_LONG = 64  # numbers of a row from which differences save something
_LEVELS = 2**20
_TYPES: dict[str, np.dtype[Any]] = {"f4": np.dtype("<f4"), "f8": np.dtype("<f8"), "i4": np.dtype("<i4")}


def pack(data: Mapping[str, Any]) -> bytes:
    """The bytes of a page's data, not compressed."""
    parts: list[bytes] = []
    size = 0

    def place(value: object) -> Any:
        nonlocal size
        if isinstance(value, np.ndarray):
            kind = _type_of(value)
            entry = {"array": size, "shape": list(value.shape), "type": kind}
            if kind == "d2":
                raw, entry["low"], entry["rise"] = _differences(value)
            else:
                raw = np.ascontiguousarray(value, dtype=_TYPES[kind]).tobytes()
            raw += bytes(-len(raw) % 8)
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
    if values.ndim == 2 and values.shape[1] >= _LONG and np.isfinite(values).all():
        return "d2"
    largest = np.nanmax(np.abs(values), initial=0.0) if values.size else 0.0
    return "f8" if values.dtype == np.float64 and largest > _FINE else "f4"


def _differences(values: np.ndarray[Any, Any]) -> tuple[bytes, list[float], list[float]]:
    """Planes of bytes of the second differences of all rows, least value and step of every row."""
    rows = values.astype(np.float64)
    low = rows.min(axis=1)
    step = (rows.max(axis=1) - low) / _LEVELS
    q = np.rint((rows - low[:, None]) / np.where(step > 0.0, step, 1.0)[:, None]).astype(np.int64)
    second = np.diff(q, n=2, axis=1, prepend=np.zeros((len(q), 2), dtype=np.int64)).astype("<i4")
    return second.reshape(-1, 1).view(np.uint8).T.tobytes(), low.tolist(), step.tolist()


def as_text(data: Mapping[str, Any]) -> tuple[str, str]:
    """(packing, text): "plain" or "gzip", and base64, which contains no special character of HTML."""
    raw = pack(data)
    packing = "plain"
    if len(raw) > COMPRESSED_FROM:
        packing, raw = "gzip", gzip.compress(raw, compresslevel=6, mtime=0)
    return packing, base64.b64encode(raw).decode("ascii")
