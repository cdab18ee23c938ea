"""Points and matrices of Abaqus: ``*NODE`` of an input file, and the text of ``*MATRIX GENERATE``.

    *MATRIX GENERATE, STIFFNESS, MASS
    *MATRIX OUTPUT, STIFFNESS, MASS, FORMAT=MATRIX INPUT

writes files ``.mtx`` with a line ``node, direction, node, direction, value`` for each entry, of one triangle or both. A
held coordinate has 1e36 on the diagonal of the stiffness; nodes with negative numbers are internal ones.
"""

from __future__ import annotations

from pathlib import Path

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.files.bodies.bounds import bounded_lines
from dalembert.files.bodies.matrix_files import read_numbers
from dalembert.files.bodies.node_matrices import Entries, NodeMatrix, Places, add_place, make_row, whole_number, words

SUFFIXES = (".inp",)
HELD = 1e36  # on the diagonal of a held coordinate


def is_matrix(path: Path) -> bool:
    """Whether a file ``.mtx`` is one of Abaqus: MatrixMarket begins with %%."""
    with path.open(encoding="latin-1") as file:
        return not file.read(2).startswith("%")


def read_matrix_input(path: Path, shown: str, max_bytes: int) -> NodeMatrix:
    """The matrix of a file, symmetric."""
    entries = Entries(shown, max_bytes)
    for line, text in bounded_lines(path, shown):
        if not text.strip() or text.lstrip().startswith("**"):
            continue
        cells = text.replace(",", " ").split()
        if len(cells) != 5:
            problem = f"expected node, direction, node, direction, value, got {len(cells)} cells."
            advice = Advice("Write the matrix with *MATRIX OUTPUT in the format MATRIX INPUT.")
            raise FileFormatError("bad-syntax", problem, advice, path=shown, line=line)
        numbers = [whole_number(cell, shown, line) for cell in cells[:4]]
        if min(numbers[0], numbers[2]) < 0:
            problem = f"node {min(numbers[0], numbers[2])} is internal (hybrid elements or couplings): not supported."
            raise FileFormatError("not-supported", problem, path=shown, line=line)
        row, column = (make_row(numbers[k], numbers[k + 1], shown, line) for k in (0, 2))
        (value,) = read_numbers(cells[4:], shown, line)
        if value >= HELD:
            advice = Advice("Write the matrices of the free body, without boundary conditions.")
            raise FileFormatError("not-supported", f"{words(row)} is held.", advice, path=shown, line=line)
        entries.add(row, column, value, line)
    return entries.matrix(symmetric=True)


def read_nodes(path: Path, shown: str, max_bytes: int) -> Places:
    """Places of the nodes of an input file, by their numbers."""
    places: dict[int, tuple[float, float, float]] = {}
    inside = False
    for line, text in bounded_lines(path, shown):
        if not text.strip() or text.lstrip().startswith("**"):
            continue
        if text.lstrip().startswith("*"):
            keyword = text.partition(",")[0].strip().lstrip("* ").upper()
            inside = keyword == "NODE"
            if keyword in ("INCLUDE", "INSTANCE", "SYSTEM"):
                advice = Advice("Write a flat input file: all nodes in one list, in the basic system.")
                raise FileFormatError("not-supported", f"*{keyword} is not followed.", advice, path=shown, line=line)
        elif inside:
            number, *cells = [cell.strip() for cell in text.split(",")]
            place = read_numbers([cell or "0" for cell in (*cells, "", "", "")[:3]], shown, line)
            add_place(places, whole_number(number, shown, line), place, max_bytes, shown, line)
    return places
