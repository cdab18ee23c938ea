"""Sources of a flexible body as a structure: a frame, a solid, matrices, a reduction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.structures.assembly.places import on_a_line
from dalembert.structures.assembly.structure import DIRECTIONS, Structure, assemble_structure
from dalembert.structures.frame.frame import Frame
from dalembert.structures.reduction.master_coordinates import by_point
from dalembert.structures.reduction.reduction import Reduction
from dalembert.structures.solid.solid import Solid

# Asymmetry of a matrix, relative to the roots of its diagonal: files carry some 7 digits.
SYMMETRIC = 1e-6


def read_source(source: Any, name: str | None, positions: Any, of: Any) -> tuple[Structure, FloatArray | None]:
    """The structure of a source, and the shapes (N, r) of a reduction, or None."""
    if isinstance(source, Reduction):
        return _of_reduction(source, name, positions, of)
    if of is not None:
        raise ModelError("ineffective-argument", "the structure that was reduced is for a reduction only.")
    if isinstance(source, tuple) and len(source) == 2:
        return _of_matrices(source[0], source[1], name or "body", positions), None
    if positions is not None:
        raise ModelError("ineffective-argument", "positions are for matrices and reductions only.")
    if isinstance(source, Solid):
        _refuse_thin_interfaces(source)
    if isinstance(source, Frame | Solid):
        return assemble_structure(source), None
    if isinstance(source, Structure):
        check_matrices(source.name, source.M, source.K)
        _refuse_swapped(source)
        return source, None
    raise ModelError(
        "wrong-type",
        "a flexible body is made from a Frame, Solid, Structure, Beam, Reduction or a pair of matrices (M, K), got "
        f"{type(source).__name__}.",
    )


def _refuse_thin_interfaces(solid: Solid) -> None:
    """Rigid interfaces of one point, or of points on a line, turn without a stiffness."""
    for interface in solid.interfaces.values():
        count = len(interface.points)
        if interface.rigid and (count < 2 if solid.plane else on_a_line(solid.mesh.points[interface.points])):
            there = "1 point" if count == 1 else f"{count} points on a line"
            problem = f"flexible body {solid.name!r}: interface {interface.name!r} has {there}: it turns freely."
            advice = Advice(
                "Give it three points that are not on a line, or make it a node with {}.", Argument("nodes")
            )
            raise ModelError("not-held", problem, advice, where={"body": solid.name, "node": interface.name},
                             evidence={"points": count})  # fmt: skip


def _refuse_swapped(structure: Structure) -> None:
    """A mass matrix without mass beside a stiffness that resists translations: M and K are exchanged."""
    moves = structure.rigid_motions()[:, [k for k, way in enumerate(structure.rigid_names) if way[0] != "r"]]
    shares = [
        abs(float((moves * (matrix @ moves)).sum())) / max(float(abs(matrix).sum()), 1e-300)
        for matrix in (structure.M, structure.K)
    ]
    if shares[0] < SYMMETRIC < shares[1]:
        problem = (
            f"flexible body {structure.name!r}: its mass matrix has no mass in translations, and its stiffness resists "
            "them as a mass does: M and K seem to be exchanged."
        )
        raise ModelError("no-mass", problem, where={"body": structure.name}, evidence={"M": shares[0], "K": shares[1]})


def check_matrices(name: str, M: Any, K: Any) -> None:
    """Finite, symmetric, and without negative masses or stiffnesses on the diagonal."""
    for symbol, word, matrix in (("M", "mass", M), ("K", "stiffness", K)):
        at = {"body": name, "matrix": symbol}
        if not np.isfinite(matrix.data).all():
            count = int((~np.isfinite(matrix.data)).sum())
            problem = f"flexible body {name!r}: {count} entries of the {word} matrix are not finite."
            raise ModelError("not-finite", problem, where=at, evidence={"entries": count})
        diagonal = matrix.diagonal()
        if (diagonal < 0.0).any():
            worst = int(np.argmin(diagonal))
            raise ModelError(
                "not-positive-definite",
                f"flexible body {name!r}: entry {worst} on the diagonal of the {word} matrix is {diagonal[worst]:.4g}.",
                where=at,
                evidence={"entry": worst, "value": float(diagonal[worst])},
            )
        off = sp.coo_array(matrix - matrix.T)
        size = np.sqrt(diagonal)
        scale = np.maximum(size[off.coords[0]] * size[off.coords[1]], 1e-300)
        part = np.abs(off.data) / scale
        if part.max(initial=0.0) > SYMMETRIC:
            worst = int(np.argmax(part))
            i, j = (int(index[worst]) for index in off.coords)
            raise ModelError(
                "not-symmetric",
                f"flexible body {name!r}: the {word} matrix is not symmetric, entries ({i}, {j}) and ({j}, {i}) differ "
                f"by {abs(off.data[worst]):.4g}, {part[worst]:.1e} of the diagonal.",
                where=at,
                evidence={"row": i, "column": j, "part": float(part[worst])},
            )


def _square(name: str, symbol: str, given: Any, size: int) -> sp.csc_array:
    matrix = sp.csc_array(given, dtype=np.float64) if sp.issparse(given) else sp.csc_array(np.array(given, dtype=float))
    if matrix.shape != (size, size):
        raise ModelError(
            "wrong-shape",
            f"flexible body {name!r}: {symbol} has shape {matrix.shape}, expected ({size}, {size}).",
            where={"body": name, "matrix": symbol},
        )
    return matrix


def _of_matrices(M: Any, K: Any, name: str, positions: Any) -> Structure:
    points, places = _positions(name, positions)
    size = int(M.shape[0]) if hasattr(M, "shape") else len(M)
    each = size // max(len(points), 1)
    if each * len(points) != size or each not in (3, 6):
        raise ModelError(
            "wrong-shape",
            f"flexible body {name!r}: matrices of {size} rows for {len(points)} points; a point has 3 rows (x, y, z) "
            "or 6 (x, y, z, rx, ry, rz).",
            where={"body": name},
            evidence={"rows": size, "points": len(points)},
        )
    mass, stiffness = _square(name, "M", M, size), _square(name, "K", K, size)
    check_matrices(name, mass, stiffness)
    structure = Structure(
        name, points, places, DIRECTIONS[:each], 0.5 * (mass + mass.T), 0.5 * (stiffness + stiffness.T),
        provenance={"source": "matrices"},
    )  # fmt: skip
    _refuse_swapped(structure)
    return structure


def _positions(name: str, positions: Any) -> tuple[list[str], FloatArray]:
    if positions is None:
        advice = Advice("Give the places of the points with {}.", Argument("positions"))
        raise ModelError("missing-argument", f"flexible body {name!r}: matrices need positions.", advice)
    named = isinstance(positions, Mapping)
    points = [str(key) for key in positions] if named else []
    places = np.array(list(positions.values()) if named else positions, dtype=np.float64)
    if places.ndim != 2 or places.shape[1:] != (3,) or not np.isfinite(places).all():
        raise ModelError(
            "wrong-shape",
            f"flexible body {name!r}: positions must be finite, (n, 3), got shape {places.shape}.",
            where={"body": name},
        )
    return points or [f"p{i}" for i in range(len(places))], places


def _of_reduction(reduction: Reduction, name: str | None, positions: Any, of: Any) -> tuple[Structure, FloatArray]:
    if of is not None:
        structure = of if isinstance(of, Structure) else assemble_structure(of)
        if tuple(structure.free) != tuple(reduction.full.coordinates):
            raise ModelError(
                "channel-mismatch",
                f"the reduction has {len(reduction.full.coordinates)} coordinates and structure {structure.name!r} "
                f"{len(structure.free)} free ones, or others: it was not made from this structure.",
                where={"body": structure.name},
            )
        return structure, structure.expand(reduction.T)
    if not isinstance(positions, Mapping):
        problem = "a reduction has no positions of its points."
        raise ModelError("missing-argument", problem, Advice("Give {}.", Argument("of"), Argument("positions")))
    full, title = reduction.full, name or "body"
    owned = by_point(full.coordinates)
    points, places = _positions(title, {key: positions[key] for key in positions if key in owned})
    missing = [key for key in owned if key not in points]
    if missing:
        raise ModelError(
            "missing-argument",
            f"flexible body {title!r}: {len(missing)} points have no position, first {missing[0]!r}.",
            where={"body": title, "point": missing[0]},
        )
    ways = tuple(way for way in DIRECTIONS if any(name.endswith(f".{way}") for name in full.coordinates))
    at = {f"{point}.{way}": k for k, (point, way) in enumerate((p, w) for p in points for w in ways)}
    index = np.array([at[coordinate] for coordinate in full.coordinates], dtype=np.intp)
    size = len(at)
    spread = sp.csc_array((np.ones(len(index)), (index, np.arange(len(index)))), shape=(size, len(index)))
    inactive = np.ones(size, bool)
    inactive[index] = False
    M, K = (sp.csc_array(spread @ sp.csc_array(matrix) @ spread.T) for matrix in (full.M, full.K))
    check_matrices(title, M, K)
    structure = Structure(title, points, places, ways, M, K, inactive=inactive, provenance={"source": "reduction"})
    return structure, np.asarray(spread @ reduction.T)
