"""The limit of the memory that a flexible-body file may need, checked before anything is allocated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dalembert.core.errors import FileFormatError


@dataclass(frozen=True)
class BodyLimits:
    """Sizes above which a file is refused, for any ``max_bytes``."""

    arrays: int = 64  # of one file; a body has at most 27
    header: int = 10_000  # characters of the head of an array: 100 are usual
    text: int = 1 << 24  # characters of the description: names of 100 000 nodes
    line: int = 10_000  # characters of one line of text: a number has 25
    row: int = 10_000_000  # characters of one row of a matrix: 400 000 numbers
    descriptor: int = 1 << 20  # bytes of a file that names matrices, which may contain points
    name: int = 1000  # characters of a name
    largest: float = 1e100  # of numbers of a matrix: the third power of a larger one overflows
    points: int = 80  # bytes of memory per byte of a text of points: 53 to 64 were measured of lines "0 0 0"


LIMITS = BodyLimits()


def bounded_lines(
    path: Path, shown: str | None, most: int = LIMITS.line, encoding: str = "latin-1"
) -> Iterator[tuple[int, str]]:
    """Lines of a text with their numbers, each of a bounded length."""
    with path.open(encoding=encoding, errors="replace") as file:
        number = 0
        while text := file.readline(most + 1):
            number += 1
            problem = f"a line of more than {most} characters."
            FileFormatError.when(len(text) > most, "too-large", problem, path=shown, line=number)
            yield number, text.rstrip("\r\n")


def check_modes(modes: int, nodes: int, max_bytes: int) -> None:
    """Refuse a body whose arrays would pass ``max_bytes``: 9 m² of products, 3 m² of other squares, 6 m of a node."""
    size = 8 * (12 * modes * modes + 6 * modes * nodes)
    if size > max_bytes:
        raise FileFormatError(
            "too-large",
            f"{modes} modes and {nodes} nodes take {size} bytes, more than max_bytes = {max_bytes}.",
            evidence={"modes": modes, "nodes": nodes, "bytes": size, "allowed": max_bytes},
        )
