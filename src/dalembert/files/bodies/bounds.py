"""Lines of a text within bounds, and the limit of the memory that a flexible-body file may need."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from dalembert.core.errors import DataError, FileFormatError


class FileLines:
    """Lines of a text, none longer than ``most`` characters (a number has 25); errors inside ``with`` get their place.

    place : number of the line that is read; None before and after.  total : of lines, once all are read.
    """

    def __init__(self, path: Path, shown: str | None, most: int = 10_000, encoding: str = "latin-1") -> None:
        self.path, self.shown, self.most, self.encoding = path, shown, most, encoding
        self.place: int | None = None
        self.total = 0

    def __iter__(self) -> Iterator[str]:
        with self.path.open(encoding=self.encoding, errors="replace") as file:
            for number in count(1):
                text, self.place, self.total = file.readline(self.most + 1), number, number - 1
                if not text:
                    break
                if len(text) > self.most:
                    raise FileFormatError("too-large", f"a line of more than {self.most} characters.")
                yield text.rstrip("\r\n")
        self.place = None

    def __enter__(self) -> FileLines:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, DataError | FileFormatError):
            placed = FileFormatError.placed(error, self.shown, self.place)
            if placed is not error:  # one of another file keeps its place and cause
                raise placed from None


def check_modes(modes: int, nodes: int, max_bytes: int) -> None:
    """Refuse a body whose arrays would pass ``max_bytes``: 9 m² of products, 3 m² of other squares, 6 m of a node."""
    size = 8 * (12 * modes * modes + 6 * modes * nodes)
    problem = f"{modes} modes and {nodes} nodes take {size} bytes, more than max_bytes = {max_bytes}."
    evidence = {"modes": modes, "nodes": nodes, "bytes": size, "allowed": max_bytes}
    FileFormatError.when(size > max_bytes, "too-large", problem, evidence=evidence)
