"""Rows that couple coordinates by constant numbers, as gears and joints that mimic others do.

A q = c    with constant A: all poses between two closed ones are closed, and some coordinates follow from the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array


def _may_be_pivot(entry: float, largest: float, share: float = 0.1) -> bool:
    """Whether an entry of a row may be its pivot: an elimination grows errors by ten at most."""
    return entry > share * largest


def rows_are_linear(eqs: EquationsOfMotion) -> bool:
    """Whether all rows are linear; rows of joints that close loops change with the pose: three poses are compared."""
    poses = [eqs.state().q, *np.random.default_rng(0).normal(size=(2, eqs.nq))]
    first, *others = (_rows(eqs, q) for q in poses)
    return len(eqs.holonomic_rows) == len(eqs.rows) and all(np.array_equal(A, first) for A in others)


def leading_speeds(eqs: EquationsOfMotion) -> tuple[str, ...]:
    """Speeds from which linear rows give the others; speeds with an input are chosen first."""
    A = _rows(eqs, eqs.state().q)
    driven = set(eqs.functions["forces"].jac_sparsity(0, 3).row())
    last = sorted(range(eqs.nv), key=lambda k: k in driven)  # first those without an input
    following: list[int] = []
    for k in range(len(A)):
        size = np.abs(A[k])
        pivot = next((j for j in last if _may_be_pivot(size[j], size.max(initial=0.0))), None)
        if pivot is None:  # a row that the others imply
            continue
        following.append(pivot)
        A -= np.outer(np.where(np.arange(len(A)) == k, 0.0, A[:, pivot] / A[k, pivot]), A[k])
    return tuple(name for k, name in enumerate(eqs.speeds.names) if k not in following)


def close_linear_rows(eqs: EquationsOfMotion, q: Array, chosen: Sequence[str], t: float) -> Array:
    """Poses (n, nq) with the chosen speeds' coordinates as they are and the others such that the rows close."""
    N = np.reshape(eqs.kernel("kinematics")(q[0], eqs.p, t)[0], (eqs.nq, eqs.nv))
    A = _rows(eqs, q[0])
    A[:, [eqs.speeds.index[name] for name in chosen]] = 0.0
    (gaps,) = eqs.kernel("position").many(q, eqs.p, t)
    return np.asarray(q - gaps @ np.linalg.pinv(A).T @ N.T)


def _rows(eqs: EquationsOfMotion, q: Array) -> Array:
    found = eqs.kernel("rows")(q, np.zeros(eqs.nv), np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, 0.0)[0]
    return np.array(found).reshape(len(eqs.rows), eqs.nv)
