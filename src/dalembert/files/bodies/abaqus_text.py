"""Points and matrices of Abaqus: ``*NODE`` of an input file, and the text of ``*MATRIX GENERATE``.

    *MATRIX GENERATE, STIFFNESS, MASS
    *MATRIX OUTPUT, STIFFNESS, MASS, FORMAT=MATRIX INPUT

writes files ``.mtx`` with a line ``node, direction, node, direction, value`` for each entry, of one triangle or both. A
held coordinate has 1e36 on the diagonal of the stiffness; nodes with negative numbers are internal ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.files.bodies.bounds import FileLines
from dalembert.files.bodies.matrix_files import real_number
from dalembert.files.bodies.node_matrices import Entries, NodeMatrix, Places, add_place, make_row, whole_number, words

SUFFIXES = (".inp",)
HELD = 1e36  # on the diagonal of a held coordinate


def is_matrix(path: Path) -> bool:
    """Whether a file ``.mtx`` is one of Abaqus: MatrixMarket begins with %%."""
    with path.open(encoding="latin-1") as file:
        return not file.read(2).startswith("%")


def _lines(lines: FileLines) -> Iterator[str]:
    """Lines that hold something, without comments."""
    return (text.strip() for text in lines if text.strip() and not text.lstrip().startswith("**"))


def read_matrix_input(path: Path, shown: str, max_bytes: int) -> NodeMatrix:
    """The matrix of a file, symmetric."""
    entries = Entries(max_bytes)
    coordinates = Advice("Write the matrix with *MATRIX OUTPUT in the format MATRIX INPUT.")
    free = Advice("Write the matrices of the free body, without boundary conditions.")
    with FileLines(path, shown) as lines:
        for text in _lines(lines):
            cells = text.replace(",", " ").split()
            if len(cells) != 5:
                problem = f"expected node, direction, node, direction, value, got {len(cells)} cells."
                raise FileFormatError("bad-syntax", problem, coordinates)
            numbers = [whole_number(cell) for cell in cells[:4]]
            inner = min(numbers[0], numbers[2])
            if inner < 0:
                problem = f"node {inner} is internal (hybrid elements or couplings): not supported."
                raise FileFormatError("not-supported", problem)
            row, column, value = make_row(*numbers[:2]), make_row(*numbers[2:]), real_number(cells[4])
            if value >= HELD:
                raise FileFormatError("not-supported", f"{words(row)} is held.", free)
            entries.add(row, column, value)
        return entries.matrix(symmetric=True)


def read_nodes(path: Path, shown: str, max_bytes: int) -> Places:
    """Places of the nodes of an input file, by their numbers."""
    places: dict[int, tuple[float, float, float]] = {}
    inside = False
    flat = Advice("Write a flat input file: all nodes in one list, in the basic system.")
    with FileLines(path, shown) as lines:
        for text in _lines(lines):
            if text.startswith("*"):
                keyword = text.partition(",")[0].strip().lstrip("* ").upper()
                inside = keyword == "NODE"
                foreign = keyword in ("INCLUDE", "INSTANCE", "SYSTEM")
                FileFormatError.when(foreign, "not-supported", f"*{keyword} is not followed.", flat)
            elif inside:
                number, *cells = [cell.strip() for cell in text.split(",")]
                place = [real_number(cell or "0") for cell in (*cells, "", "", "")[:3]]
                add_place(places, whole_number(number), place, max_bytes)
    return places
