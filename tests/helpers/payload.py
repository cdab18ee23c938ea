"""The data of a page read back, as its script reads them."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.view.animation.payload import _TYPES


def _sum_differences(raw: bytes, place: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """The rows that `_differences` was given, to its rounding."""
    rows, count = place["shape"]
    planes = np.frombuffer(raw, np.uint8, 4 * rows * count, place["array"]).reshape(4, -1)
    second = np.ascontiguousarray(planes.T).view("<i4").reshape(rows, count)
    q = np.cumsum(np.cumsum(second, axis=1, dtype=np.int32), axis=1, dtype=np.int32)
    return np.asarray(np.array(place["low"])[:, None] + np.array(place["rise"])[:, None] * q)


def unpack(packing: str, text: str) -> Any:
    """Inverse of `as_text`; arrays as they are stored."""
    raw = base64.b64decode(text)
    raw = gzip.decompress(raw) if packing == "gzip" else raw
    (length,) = struct.unpack("<I", raw[:4])
    arrays = raw[4 + length :]

    def read(value: object) -> Any:
        if isinstance(value, list):
            return [read(one) for one in value]
        if not isinstance(value, dict):
            return value
        if "array" not in value:
            return {key: read(one) for key, one in value.items()}
        if value["type"] == "d2":
            return _sum_differences(arrays, value)
        count = int(np.prod(value["shape"], dtype=np.int64))
        found = np.frombuffer(arrays, _TYPES[value["type"]], count, value["array"])
        return found.reshape(value["shape"])

    return read(json.loads(raw[4 : 4 + length]))
