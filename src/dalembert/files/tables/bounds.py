"""The limit of the memory that a file may need: its unpacked size is computed before anything is allocated."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.isolation import PIECE

# Sizes [bytes] above which a file is refused. A share is the part of ``max_bytes`` that one thing may take. The
# shares are set so that reading stays below twice ``max_bytes``, which tests of hostile files measure.
CHANNEL = 512  # name of a channel, its unit and its place in a table, as Python objects
TEXT_SHARE = 128  # JSON takes up to 40 times its length as objects, here and in the helper process
SHORT_TEXT = 1 << 16  # always allowed
LINE = 4_000_000  # characters; a longer line of text is not a table
LINE_SHARE = 64  # a line is cut into cells, which are objects
SHORT_LINE = 4096  # always allowed
CHUNK_SHARE = 16  # of HDF5: a chunk, its packed bytes, their copy and a column are in memory together
PAGE_SHARE = 4  # of Parquet: a page is unpacked whole
STRUCTURE = 1024  # of a Parquet footer as an object, at most (ColumnChunk)
FOOTER_SHARE = 16  # every layer of the library copies the footer
FOOTER = 1 << 20  # always allowed
PAGE_HEAD = 1 << 16  # statistics may make it long
NESTING = 32  # structures inside each other; from FileMetaData to Statistics there are 5
VARIABLE_NAME = 4096  # MATLAB allows 63, other programs more


def check_size(samples: int, channels: int, max_bytes: int) -> None:
    """Refuse a record whose time and channels, as float64, would exceed ``max_bytes``."""
    FileFormatError.when(samples < 0, "damaged", f"{samples} samples are declared.")
    problem = f"{samples} samples of {channels} channels exceed max_bytes = {max_bytes}."
    FileFormatError.when(samples * (channels + 1) * 8 + channels * CHANNEL > max_bytes, "too-large", problem)


def most_text(max_bytes: int) -> int:
    """Largest size of all texts of a file together [bytes]."""
    return max(max_bytes // TEXT_SHARE, SHORT_TEXT)


def check_text(size: int, max_bytes: int) -> None:
    """Refuse texts (units, provenance, scene) that would exceed ``max_bytes`` as objects."""
    problem = f"texts of {size} bytes; max_bytes = {max_bytes} allows {most_text(max_bytes)} bytes of text."
    FileFormatError.when(size > most_text(max_bytes), "too-large", problem)


def without_column(table: Any, column: int) -> Any:
    """The table without one column, as a view: those behind it are moved, some rows at a time."""
    if column == 0:
        return table[:, 1:]
    rows = max(1, PIECE // (8 * table.shape[1]))
    for start in range(0, len(table), rows):
        block = table[start : start + rows]
        block[:, column:-1] = np.array(block[:, column + 1 :])
    return table[:, :-1]
