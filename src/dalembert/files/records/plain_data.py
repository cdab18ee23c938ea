"""Data of a record that are not arrays, as JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.core.errors import DataError


def as_json(value: Mapping[str, Any] | None, what: str) -> str:
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError) as error:
        raise DataError("wrong-type", f"the {what} of the record is not plain data ({error}).") from error


def _plain(value: object) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} {value!r}")


def load_json(text: object, kind: type) -> Any:
    """Data from JSON text of the expected type; text of other programs is ignored."""
    if not isinstance(text, str):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, kind) else None
