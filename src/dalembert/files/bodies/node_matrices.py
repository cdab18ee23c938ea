"""Matrices whose rows are coordinates of numbered nodes, as finite-element programs write them.

A row is a node and a direction: 1 to 6 are x, y, z, rx, ry, rz; 0 is a coordinate without a place (a scalar point of
Nastran: a mode of a reduced model). Matrices of one body may have different rows; absent entries are zero. A symmetric
matrix may have one triangle or both.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice
from dalembert.files.bodies.bounds import check_modes
from dalembert.files.bodies.reduced_matrices import ReducedModel
from dalembert.structures.assembly.structure import DIRECTIONS, Structure

Places = Mapping[int, tuple[float, float, float]]  # of nodes, by their numbers
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
WAYS = 8  # a row is the number WAYS · node + direction
ENTRY = 200  # bytes of memory per entry: rows, columns and values, sorted and mirrored (162 were measured)
NODE = 400  # bytes of memory per node: its place under its number (222 were measured), then its row of an array


@dataclass(frozen=True)
class NodeMatrix:
    """rows (r,): ``WAYS · node + direction``, ascending; matrix (r, r), sparse."""

    rows: IntArray
    matrix: Any


class Entries:
    """Entries of a matrix, collected line by line within a bound of memory."""

    def __init__(self, max_bytes: int) -> None:
        self.most = max_bytes // ENTRY
        self.i, self.j, self.values = array("q"), array("q"), array("d")

    def add(self, row: int, column: int, value: float) -> None:
        if len(self.values) >= self.most:  # of millions: no message without an error
            problem = f"more than {self.most} entries, which max_bytes allows."
            raise FileFormatError("too-large", problem, evidence={"entries": self.most})
        self.i.append(row)
        self.j.append(column)
        self.values.append(value)

    def matrix(self, symmetric: bool) -> NodeMatrix:
        """The whole matrix; entries of which only one triangle is present are mirrored where it is symmetric."""
        i, j, values = np.array(self.i), np.array(self.j), np.array(self.values)
        FileFormatError.when(not len(values), "empty", "the matrix has no entries.")
        problem = "the matrix has numbers that are not finite."
        FileFormatError.when(not np.isfinite(values).all(), "not-finite", problem)
        rows, places = np.unique(np.concatenate([i, j]), return_inverse=True)
        i, j = places[: len(i)], places[len(i) :]
        here, mirrored = i * len(rows) + j, j * len(rows) + i
        order = np.sort(here)
        twice = np.flatnonzero(order[1:] == order[:-1])
        if len(twice):
            row, column = divmod(int(order[twice[0]]), len(rows))
            problem = f"the entry of {words(int(rows[row]))} and {words(int(rows[column]))} is given twice."
            raise FileFormatError("duplicate", problem)
        if symmetric:
            absent = ~np.isin(mirrored, here)
            i, j, values = (
                np.concatenate([upper, lower[absent]]) for upper, lower in ((i, j), (j, i), (values, values))
            )
        return NodeMatrix(rows, _sparse(values, i, j, len(rows)))


def make_row(node: int, direction: int, most: int = 1 << 40) -> int:
    """The number of a row; nodes are positive, and a number above ``most`` is damage: no row overflows."""
    if not (0 < node < most and 0 <= direction <= len(DIRECTIONS)):
        problem = f"node {node}, direction {direction}: numbers of nodes are positive, directions are 1 to 6."
        raise FileFormatError("out-of-range", problem)
    return WAYS * node + direction


def words(row: int) -> str:
    """A row in a message."""
    node, way = divmod(row, WAYS)
    return f"{node}.{DIRECTIONS[way - 1]}" if way else f"{node}"


def whole_number(text: str) -> int:
    """A whole number of a file, with a sign."""
    if _WHOLE.fullmatch(text.strip()) is None:
        raise FileFormatError("not-a-count", f"{text.strip()!r:.40} is not a whole number.")
    return int(text)


def add_place(places: dict[int, Any], number: int, place: Any, max_bytes: int) -> None:
    """Note the place of a node, within a bound of memory."""
    FileFormatError.when(NODE * (len(places) + 1) > max_bytes, "too-large", "more nodes than max_bytes allows.")
    places[number] = tuple(place)


# -- bodies of them ----------------------------------------------------------------------------------------------------
def full_structure(name: str, places: Places, matrices: Mapping[str, NodeMatrix], source: str) -> Structure:
    """The structure of M, K and perhaps D; coordinates without a row are inactive."""
    rows, aligned = _align(matrices)
    nodes, positions = _place(rows, places)
    each = 6 if (rows % WAYS > 3).any() else 3
    at = np.searchsorted(nodes, rows // WAYS) * each + rows % WAYS - 1
    size = each * len(nodes)
    inactive = np.ones(size, bool)
    inactive[at] = False
    all_of = {
        key: _sparse(matrix.data, at[matrix.coords[0]], at[matrix.coords[1]], size) for key, matrix in aligned.items()
    }
    return Structure(
        name, [str(node) for node in nodes], positions, DIRECTIONS[:each], all_of["M"], all_of["K"],
        C=all_of.get("D"), inactive=inactive, provenance={"source": source},
    )  # fmt: skip


def reduced_model(name: str, places: Places, matrices: Mapping[str, NodeMatrix], max_bytes: int) -> ReducedModel:
    """The reduced model of M, K and perhaps D, whose points have six coordinates each.

    The mass is shared among the points as its matrix shares it in translations: m_i = mean over x, y, z of the sums
    of the rows of point i.
    """
    rows, aligned = _align(matrices)
    nodes, positions = _place(rows[rows % WAYS > 0], places)
    check_modes(len(rows), len(nodes), max_bytes)
    wanted = (WAYS * nodes[:, None] + np.arange(1, 7)).ravel()
    column = np.searchsorted(rows, wanted)
    absent = [row for row, k in zip(wanted.tolist(), column.tolist()) if k >= len(rows) or rows[k] != row]
    if absent:
        advice = Advice("Keep all six components of every boundary point in the reduction.")
        problem = f"the reduced matrices have no row of {words(absent[0])} ({len(absent)} such rows)."
        raise FileFormatError("missing-argument", problem, advice, evidence={"rows": len(absent)})
    shapes = np.zeros((len(wanted), len(rows)))
    shapes[np.arange(len(wanted)), column] = 1.0
    dense = {key: matrix.toarray() for key, matrix in aligned.items()}
    M, K, D = dense["M"], dense["K"], dense.get("D")
    sums = np.array([(M @ shapes[d::6].sum(axis=0))[column[d::6]] for d in range(3)]).mean(axis=0)
    masses = np.maximum(sums, 0.0)
    masses *= sums.sum() / max(float(masses.sum()), 1e-300)
    return ReducedModel(
        name, [str(node) for node in nodes], positions, 0.5 * (M + M.T), 0.5 * (K + K.T), D, shapes, masses,
        source=f"reduced matrices: its moments and products are those of masses at {len(nodes)} points",
    )  # fmt: skip


def has_modes(matrices: Mapping[str, NodeMatrix]) -> bool:
    """Whether some coordinates have no place: the matrices are reduced."""
    return any(bool((matrix.rows % WAYS == 0).any()) for matrix in matrices.values())


def _align(matrices: Mapping[str, NodeMatrix]) -> tuple[IntArray, dict[str, Any]]:
    """All rows, and every matrix on them, in coordinates."""
    rows = np.unique(np.concatenate([matrix.rows for matrix in matrices.values()]))
    aligned = {}
    for key, matrix in matrices.items():
        entries, at = matrix.matrix.tocoo(), np.searchsorted(rows, matrix.rows)
        aligned[key] = _sparse(entries.data, at[entries.coords[0]], at[entries.coords[1]], len(rows)).tocoo()
    return rows, aligned


def _place(rows: IntArray, places: Places) -> tuple[IntArray, FloatArray]:
    """Nodes of rows, ascending, and their positions (n, 3)."""
    nodes = np.unique(rows // WAYS)
    absent = [node for node in nodes.tolist() if node not in places]
    if absent:
        problem = f"node {absent[0]} of the matrices has no place ({len(absent)} of {len(nodes)} nodes)."
        raise FileFormatError("missing-argument", problem, evidence={"nodes": len(absent)})
    return nodes, np.array([places[node] for node in nodes.tolist()]).reshape(-1, 3)


def _sparse(values: FloatArray, i: IntArray, j: IntArray, size: int) -> Any:
    from scipy.sparse import coo_array

    return coo_array((values, (i, j)), shape=(size, size)).tocsc()
