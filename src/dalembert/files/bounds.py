"""The bound on the memory that a file may ask for: what it unpacks to is counted before anything is allocated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import FileFormatError
from dalembert.isolation import PIECE

CHANNEL = 512  # bytes that the name of a channel, its unit and its place in a table take in Python


def check_size(samples: int, channels: int, max_bytes: int, path: Path) -> None:
    """Refuse a record of time and so many channels, as float64, that would pass ``max_bytes``."""
    if samples < 0:
        raise FileFormatError(f"{samples} samples are declared.", str(path))
    if samples * (channels + 1) * 8 + channels * CHANNEL > max_bytes:
        raise FileFormatError(f"{samples} samples of {channels} channels exceed max_bytes = {max_bytes}.", str(path))


def without_column(table: Any, column: int) -> Any:
    """The table without one column, as a view: those behind it are moved, some rows at a time."""
    if column == 0:
        return table[:, 1:]
    rows = max(1, PIECE // (8 * table.shape[1]))
    for start in range(0, len(table), rows):
        block = table[start : start + rows]
        block[:, column:-1] = np.array(block[:, column + 1 :])
    return table[:, :-1]
