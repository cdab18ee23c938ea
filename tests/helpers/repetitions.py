"""Values of a parameter that repeat what the first ones show: they run with the slow tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def few(values: Iterable[Any], quick: int = 1) -> list[Any]:
    """The first values as they are, the others marked as slow. A tuple is a row of values."""
    rows = list(values)
    for k, row in enumerate(rows[quick:], quick):
        marks, name = getattr(row, "marks", ()), getattr(row, "id", None)
        row = getattr(row, "values", row) if hasattr(row, "marks") else row
        rows[k] = pytest.param(*(row if isinstance(row, tuple) else (row,)), id=name, marks=[*marks, pytest.mark.slow])
    return rows
