"""Lines and encoding of a text, found before it is read as a table."""

from __future__ import annotations

import codecs
from pathlib import Path

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.files.tables import bounds

_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
WINDOWS = "cp1252"  # the code page of Western European Windows, which loggers write without saying so


def count_lines(path: Path, max_bytes: int) -> tuple[int, str]:
    """Number of lines of the file, and its encoding; a line that is too long for a table is refused."""
    most = min(bounds.LINE, max(max_bytes // bounds.LINE_SHARE, bounds.SHORT_LINE))
    lines, begun, encoding = 1, 0, ""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        while block := file.read(1 << 18):
            if not encoding:
                encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if block.startswith(mark)), "utf-8")
            if encoding == "utf-8" and not _decodes(decoder, block):
                encoding = WINDOWS
            ends = block.count(b"\n") or block.count(b"\r")  # carriage returns alone end the lines of old Macintoshes
            if not ends:
                begun += len(block)
            elif begun + len(block) > most:
                places = np.flatnonzero(np.isin(np.frombuffer(block, dtype=np.uint8), (10, 13)))
                longest = max(int(np.diff(places).max(initial=0)), begun + int(places[0]))
                begun = max(longest, len(block) - int(places[-1]))
            problem = f"a line has more than {most} characters."
            FileFormatError.when(begun > most, "too-large", problem, line=lines + ends)
            begun = len(block) - 1 - max(block.rfind(b"\n"), block.rfind(b"\r")) if ends else begun
            lines += ends
    return lines, encoding


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes) -> bool:
    try:
        decoder.decode(block)
    except UnicodeDecodeError:
        return False
    return True
