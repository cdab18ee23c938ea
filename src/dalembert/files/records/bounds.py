"""The bound on the memory that a file may ask for: what it unpacks to is counted before anything is allocated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.isolation import PIECE

CHANNEL = 512  # bytes that the name of a channel, its unit and its place in a table take in Python
_TEXT_SHARE = 128  # JSON takes up to 40 times its length as objects, here and in the helper process
_SHORT_TEXT = 1 << 16  # bytes that are always allowed


def check_size(samples: int, channels: int, max_bytes: int, path: Path) -> None:
    """Refuse a record of time and so many channels, as float64, that would pass ``max_bytes``."""
    if samples < 0:
        raise FileFormatError("damaged", f"{samples} samples are declared.", path=str(path))
    if samples * (channels + 1) * 8 + channels * CHANNEL > max_bytes:
        raise FileFormatError(
            "too-large", f"{samples} samples of {channels} channels exceed max_bytes = {max_bytes}.", path=str(path)
        )


def most_text(max_bytes: int) -> int:
    """Bytes that the texts of a file may have together."""
    return max(max_bytes // _TEXT_SHARE, _SHORT_TEXT)


def check_text(size: int, max_bytes: int, path: Path) -> None:
    """Refuse texts (units, provenance, scene) that would pass ``max_bytes`` as objects."""
    if size > most_text(max_bytes):
        raise FileFormatError(
            "too-large",
            f"texts of {size} bytes; max_bytes = {max_bytes} allows {most_text(max_bytes)} bytes of text.",
            path=str(path),
        )


def without_column(table: Any, column: int) -> Any:
    """The table without one column, as a view: those behind it are moved, some rows at a time."""
    if column == 0:
        return table[:, 1:]
    rows = max(1, PIECE // (8 * table.shape[1]))
    for start in range(0, len(table), rows):
        block = table[start : start + rows]
        block[:, column:-1] = np.array(block[:, column + 1 :])
    return table[:, :-1]
