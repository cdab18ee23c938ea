"""Motions of a structure that cost nothing: rigid ones its supports leave free, and mechanisms; and their names.

K x = 0,   x = R c (rigid, R of `Structure.rigid_motions`) or inner (bars without bracing, too many releases)
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.core.text import list_names
from dalembert.numerics import ties
from dalembert.structures.assembly.stiffness_factor import StiffnessFactor
from dalembert.structures.assembly.structure import Structure


def free_motions(
    structure: Structure, K: sp.csc_array, factor: StiffnessFactor, independent: float = 1e-6
) -> FloatArray:
    """(n, k) motions of the free coordinates that cost nothing: rigid ones first, then mechanisms.

    independent : length of a unit motion less its rigid part; far above rounding, far below a mechanism (near 1).
    """
    rigid = structure.rigid_motions() @ rigid_freedom(structure, K)
    rigid = rigid[structure.free_index]
    mechanisms = factor.free_motions()
    if not mechanisms.shape[1]:
        return rigid
    if rigid.shape[1]:  # the rest of the null space beside the rigid motions
        basis = np.linalg.qr(rigid)[0]
        mechanisms = mechanisms / np.linalg.norm(mechanisms, axis=0)
        mechanisms = mechanisms - basis @ (basis.T @ mechanisms)
        U, size, _ = np.linalg.svd(mechanisms, full_matrices=False)
        mechanisms = U[:, size > independent]
    return np.column_stack([rigid, mechanisms])


def rigid_freedom(
    structure: Structure,
    K: sp.csc_array,
    held: float = 1e-9,  # part of a rigid motion that supports hold: far above rounding of positions (1e-16)
    force: float = 1e-13,  # of a motion, relative to its absolute terms: about 500 rounding errors of 2e-16
) -> FloatArray:
    """(m, k) combinations of the rigid motions that supports and springs to the ground leave free.

    Rotations come first, one axis each; then translations.
    """
    R = structure.rigid_motions()
    names = structure.rigid_names
    size = float(np.abs(structure.positions).max()) or 1.0
    scale = np.array([1.0 / size if name[0] == "r" else 1.0 for name in names])
    scaled = R * scale
    x = scaled[structure.free_index]
    # energy of the rigid motions, and the part of them that the supports prevent
    resisted = K @ x
    weight = np.abs(K) @ np.abs(x)
    stretch = resisted / max(float(weight.max()), 1e-300)
    prevented = np.vstack([scaled[structure.held], stretch * (held / force)])
    # the triangular factor has the same singular values and is only as large as the number of motions
    _, values, vectors = np.linalg.svd(np.linalg.qr(prevented, mode="r"))
    rank = int((values > held * np.sqrt(len(names))).sum())
    null = _drop_still(vectors[rank:].T, scaled[~structure.inactive], held)
    order = sorted(range(len(names)), key=lambda k: names[k][0] != "r")
    freedom: FloatArray = _echelon(null[order].T).T[np.argsort(order)] * scale[:, None]
    return freedom


def _drop_still(null: FloatArray, motions: FloatArray, held: float) -> FloatArray:
    """Combinations (m, k) without those that move nothing: a straight truss turns about its axis unseen."""
    if not null.shape[1]:
        return null
    _, size, turn = np.linalg.svd(np.linalg.qr(motions @ null, mode="r"))
    return np.asarray(null @ turn[: int((size > held).sum())].T)


def _echelon(
    rows: FloatArray,
    pivot: float = 1e-7,  # of unit motions: their null space is known to √ε = 1.5e-8
    zero: float = 1e-12,  # 5000 roundings
) -> FloatArray:
    """Row-reduced form with full pivoting inside each column order: simple combinations of the rows."""
    A = rows.copy()
    done = 0
    for column in range(A.shape[1]):
        if done == len(A):
            break
        best = done + int(np.abs(A[done:, column]).argmax())
        if abs(A[best, column]) < pivot:
            continue
        A[[done, best]] = A[[best, done]]
        A[done] /= A[done, column]
        for i in range(len(A)):
            if i != done:
                A[i] -= A[i, column] * A[done]
        done += 1
    A[np.abs(A) < zero] = 0.0
    return A


def report_free_motions(structure: Structure, K: sp.csc_array, motions: FloatArray) -> ModelError:
    """The error that names the free motions of a structure."""
    rigid = rigid_freedom(structure, K)
    words = [_rigid_words(structure, rigid[:, k]) for k in range(rigid.shape[1])]
    words += _mechanism_words(structure, motions[:, rigid.shape[1] :])
    parts, advice = _parts_words(structure), []
    if rigid.shape[1]:
        advice.append(Advice("Support it."))
        advice.append(Advice("Use {} for a part that flies freely.", Argument("inertia_relief", True)))
    if rigid.shape[1] < motions.shape[1]:
        advice.append(Advice("Brace it, or release less: beams hold angles, bars and released ends do not."))
    problem = f"structure {structure.name!r} is not held: nothing resists {'; '.join(words)}."
    return ModelError("not-held", " ".join([problem, *parts]), *advice, where={"structure": structure.name})


def _parts_words(structure: Structure, same_place: float = 1e-9) -> list[str]:
    """Parts of the structure that nothing joins, and points at one place that may have been meant as one.

    same_place : distance over the size of the structure; far above rounding of positions (1e-16).
    """
    d, count = len(structure.directions), len(structure.points)
    joined = abs(structure.K) + abs(structure.C)
    to_free = sp.hstack([structure.T, structure.T_held])
    joined = (joined + abs(to_free @ to_free.T)).tocoo()
    graph = sp.csr_array((np.ones(joined.nnz), tuple(place // d for place in joined.coords)), shape=(count, count))
    number, component = scipy.sparse.csgraph.connected_components(graph, directed=False)
    if number == 1:
        return []
    names = [[structure.points[i] for i in np.flatnonzero(component == k)] for k in range(min(number, 4))]
    shown = " | ".join(list_names(group, {}, most=6) for group in names) + (" | ..." if number > 4 else "")
    words = [f"It falls into {number} parts that nothing joins: {shown}."]
    order = np.lexsort(structure.positions.T)
    near = (
        np.abs(np.diff(structure.positions[order], axis=0)).max(axis=1)
        <= same_place * np.ptp(structure.positions, axis=0).max()
    )
    neighbours = ((order[k], order[k + 1]) for k in np.flatnonzero(near))
    pairs = [sorted(pair) for pair in neighbours if component[pair[0]] != component[pair[1]]]
    words += [
        f"{structure.points[a]} and {structure.points[b]} are at one place, but two points." for a, b in pairs[:3]
    ]
    return words


def _mechanism_words(structure: Structure, motions: FloatArray, most: int = 6, least: float = 1e-3) -> list[str]:
    """One phrase each: every mechanism with a coordinate of its own, in which the others do nothing.

    least : share of the largest part from which a coordinate is named, so that four digits show it.
    """
    count = motions.shape[1]
    if not count:
        return []
    pivots = ties.pivot_columns(motions.T)[1][:count]
    shapes = np.abs(motions @ np.linalg.inv(motions[pivots]))
    words = []
    for shape in shapes[:, np.argsort(pivots)].T[:most]:
        largest = [structure.free[i] for i in ties.largest_first(shape)[:4] if shape[i] > least * shape.max()]
        words.append(f"a mechanism that moves {list_names(largest, {})}")
    return words + ([f"{count - most} more mechanisms"] if count > most else [])


def _rigid_words(structure: Structure, motion: FloatArray) -> str:
    parts = dict(zip(structure.rigid_names, motion))
    turn = np.array([parts.get(f"r{way}", 0.0) for way in "xyz"])
    move = np.array([parts.get(way, 0.0) for way in "xyz"])
    if not turn.any():
        return f"translation along {_axis(move)}"
    through = np.cross(turn, move) / (turn @ turn)
    place = ", ".join(f"{value:.4g}" for value in through + 0.0)
    return f"rotation about {_axis(turn)} through ({place})"


def _axis(vector: FloatArray, parallel: float = 1e-9) -> str:
    """parallel : 1 - |cos|; an angle of 4e-5 rad, which four digits do not show."""
    unit = vector / np.linalg.norm(vector)
    for way, direction in zip("xyz", np.eye(3)):
        if abs(abs(unit @ direction) - 1) < parallel:
            return way
    return f"({', '.join(f'{value:.4g}' for value in unit)})"
