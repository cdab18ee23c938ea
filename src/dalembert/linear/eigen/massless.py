"""Systems whose mass matrix is singular, and the first-order form of any second-order system.

    M x″ + C x′ + K x = f        here C = C + G and K = K + H, not symmetric in general

Coordinates ξ, ``x = T ξ``, and combinations of the equations, ``Wᵀ(...)``, are chosen that fall into three kinds:

- a: M_aa invertible, no mass elsewhere;
- p: no mass, C_pp invertible: a first-order equation of its own, one state, no rate;
- q: neither mass nor damping among the massless: an algebraic equation.

With ``w = a′ + M_aa⁻¹ C_aq q`` (the plain rate where the q take no part in the damping of a) nothing needs the
derivative of a force:

    0 = C_qa a′ + K_q ξ - f_q ;   C_pp p′ = f_p - C_pa a′ - K_p ξ ;   M_aa w′ = f_a - C_aa a′ - C_ap p′ - K_a ξ

The states are ``z = (a and p in the order of the coordinates, w)``. The q are determined when
K_qq - C_qa M_aa⁻¹ C_aq is invertible; else the system is refused.

Massless directions that are no coordinates on their own (M = [[1, 1], [1, 1]]) are found from the null spaces of M
and C_bb; as many coordinates as there are such directions represent them, and ``x_a = ξ_a + N x_b`` for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.text import list_names
from dalembert.numerics import ties


def is_rounding(value: Any, size: Any, share: float = 1e-13) -> Any:
    """Whether a scaled pivot, or a reciprocal condition number, is zero: 2⁻⁵² with room for a hundred coordinates."""
    return value <= share * size


@dataclass(frozen=True)
class Separated:
    """``Wᵀ (M T ξ″ + C T ξ′ + K T ξ) = Wᵀ f`` with the indices of the kinds a, p, q; names of the ξ.

    ``T`` and ``W`` are None where they are the identity, unless null vectors of M or C_bb combine coordinates.
    """

    M: FloatArray
    C: FloatArray
    K: Any  # (n, n), complex for hysteretic damping
    a: list[int]
    p: list[int]
    q: list[int]
    T: FloatArray | None
    W: FloatArray | None
    names: tuple[str, ...]

    @property
    def coupled(self) -> bool:
        """Whether an algebraic coordinate takes part in the velocity terms of a massive one (or the reverse)."""
        return bool(self.C[np.ix_(self.a, self.q)].any() or self.C[np.ix_(self.q, self.a)].any())


@dataclass(frozen=True)
class Condensed:
    """The system without its algebraic coordinates: ``M ξ″ + C ξ′ + K ξ = 0``, ``x = T ξ``."""

    M: FloatArray
    C: FloatArray
    K: Any  # (n, n), complex for hysteretic damping
    T: FloatArray
    names: tuple[str, ...]


@dataclass(frozen=True)
class FirstOrder:
    """``z′ = A z + F f``, ``x = X z + X_f f``."""

    A: FloatArray
    F: FloatArray
    X: FloatArray
    X_f: FloatArray
    positions: tuple[str, ...]  # names of the a and p
    rated: tuple[str, ...]  # names of the a, whose w follow


def separate(M: FloatArray, C: FloatArray, K: Any, names: Sequence[str]) -> Separated:
    """Sort the coordinates into massive, damped and algebraic ones, transformed where necessary."""
    n = len(M)
    names = tuple(names)
    if is_positive(M):
        return Separated(M, C, K, list(range(n)), [], [], None, None, names)
    T, b = _null_coordinates(M)
    W, a = T, _others(range(n), b)
    M, C, K = _congruent(W, M, T), _congruent(W, C, T), _congruent(W, K, T)
    if T is not None:
        M[b], M[:, b] = 0.0, 0.0
    # Damping of the massless part: right null vectors give the algebraic coordinates, left ones their equations.
    C_bb = C[np.ix_(b, b)]
    T_null, q_ = _null_coordinates(C_bb)
    symmetric = np.array_equal(C_bb, C_bb.T)
    W_null, rows = (T_null, q_) if symmetric else _null_coordinates(C_bb.T)
    q, p = [b[i] for i in q_], [b[i] for i in _others(range(len(b)), q_)]
    if T_null is not None or W_null is not None or rows != q_:
        T_b, W_b = np.eye(n), np.eye(n)
        T_b[np.ix_(b, b)] = np.eye(len(b)) if T_null is None else T_null
        # The algebraic equations take the places of the algebraic coordinates.
        order = _places(len(b), q_, rows)
        W_b[np.ix_(b, b)] = (np.eye(len(b)) if W_null is None else W_null)[:, order]
        M, C, K = _congruent(W_b, M, T_b), _congruent(W_b, C, T_b), _congruent(W_b, K, T_b)
        T = T_b if T is None else T @ T_b
        W = W_b if W is None else W @ W_b
        C[np.ix_(q, b)], C[np.ix_(b, q)] = 0.0, 0.0
    if q and (not a) and (not p):
        shown = list_names(names, {}, most=6)
        raise DataError("no-mass", f"no coordinate has mass or damping ({shown}): the system has no motion.")
    scale = np.abs(C).max(initial=0.0)
    for block in (np.ix_(a, q), np.ix_(q, a)):  # zero for every damping matrix ≥ 0, up to rounding
        C[block] = np.where(is_rounding(np.abs(C[block]), scale), 0.0, C[block])
    _refuse_undetermined_motion(M, C, K, a, q, names)
    return Separated(M, C, K, a, p, q, T, W, _rename(T, names))


def condense(parts: Separated) -> Condensed:
    """Second-order form without the algebraic coordinates; only where they are not ``coupled``."""
    n, q = len(parts.M), parts.q
    T = np.eye(n) if parts.T is None else parts.T
    if not q:
        return Condensed(parts.M, parts.C, parts.K, T, parts.names)
    dynamic = _others(range(n), q)
    K_kq = parts.K[np.ix_(dynamic, q)]
    follow = -np.linalg.solve(parts.K[np.ix_(q, q)], parts.K[np.ix_(q, dynamic)])
    block = np.ix_(dynamic, dynamic)
    return Condensed(
        parts.M[block], parts.C[block], parts.K[block] + K_kq @ follow,
        T[:, dynamic] + T[:, q] @ follow, tuple(parts.names[i] for i in dynamic),
    )  # fmt: skip


def first_order(parts: Separated) -> FirstOrder:
    """First-order form on the massive and damped coordinates and the rates (``w``) of the massive ones."""
    n, a, p, q = len(parts.M), parts.a, parts.p, parts.q
    M, C, K = parts.M, parts.C, parts.K
    dynamic = sorted([*a, *p])
    nz = len(dynamic) + len(a)
    # Every quantity is a row block over (z, Wᵀf).
    kind = K.dtype  # complex for a complex stiffness
    xi, rate = np.zeros((n, nz + n), dtype=kind), np.zeros((n, nz + n), dtype=kind)
    force = np.hstack([np.zeros((n, nz)), np.eye(n)])
    xi[dynamic, range(len(dynamic))] = 1.0
    w = np.eye(len(a), nz + n, len(dynamic))
    mass = scipy.linalg.lu_factor(M[np.ix_(a, a)]) if a else None
    rate[a] = w
    if q:
        drift = scipy.linalg.lu_solve(mass, C[np.ix_(a, q)]) if mass else np.zeros((0, len(q)))
        inner = K[np.ix_(q, q)] - C[np.ix_(q, a)] @ drift
        xi[q] = np.linalg.solve(inner, force[q] - C[np.ix_(q, a)] @ w - K[np.ix_(q, dynamic)] @ xi[dynamic])
        rate[a] -= drift @ xi[q]
    if p:
        rate[p] = np.linalg.solve(C[np.ix_(p, p)], force[p] - C[np.ix_(p, a)] @ rate[a] - K[p] @ xi)
    rows = [rate[dynamic]]
    if mass:
        massive = [*a, *p]
        rows.append(scipy.linalg.lu_solve(mass, force[a] - C[np.ix_(a, massive)] @ rate[massive] - K[a] @ xi))
    motion = np.vstack(rows)
    X = xi if parts.T is None else parts.T @ xi
    if parts.W is not None:
        motion[:, nz:], X[:, nz:] = motion[:, nz:] @ parts.W.T, X[:, nz:] @ parts.W.T
    names = parts.names
    return FirstOrder(
        motion[:, :nz], motion[:, nz:], X[:, :nz], X[:, nz:],
        tuple(names[i] for i in dynamic), tuple(names[i] for i in a),
    )  # fmt: skip


def is_singular(matrix: FloatArray) -> bool:
    """Whether a square matrix is singular to working precision, its rows and columns first scaled to one."""
    if not len(matrix):
        return False
    scaled = _scale(matrix)
    if scaled is None:
        return True
    values = np.linalg.svd(scaled[0], compute_uv=False)
    return bool(is_rounding(values[-1], values[0]))


def is_positive(M: FloatArray) -> bool:
    """Whether a symmetric matrix is safely positive definite, by Cholesky and its condition after scaling."""
    diagonal = np.diag(M)
    if diagonal.min(initial=1.0) <= 0.0:
        return False
    scale = 1.0 / np.sqrt(diagonal)
    scaled = scale[:, None] * M * scale
    try:
        factor = np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        return False
    reciprocal, _ = scipy.linalg.lapack.dpocon(factor.T, np.abs(scaled).sum(axis=0).max())
    return not is_rounding(reciprocal, len(M))


def _scale(matrix: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Matrix with rows, then columns, of largest entry 1, and the column scales; None where a row or column is 0."""
    rows = np.abs(matrix).max(axis=1)
    if not rows.all():
        return None
    scaled = matrix / rows[:, None]
    columns = np.abs(scaled).max(axis=0)
    return (scaled / columns, columns) if columns.all() else None


def _null_coordinates(matrix: FloatArray) -> tuple[FloatArray | None, list[int]]:
    """T and indices b such that ``matrix T`` vanishes in the columns b and ``x_b = ξ_b``; T None for the identity.

    Rows and columns of zeros are null coordinates on their own, so coordinates are mixed only where they must be.
    """
    n = len(matrix)
    zero = ~(matrix.any(axis=0) | matrix.any(axis=1))
    b = np.flatnonzero(zero).tolist()
    others = _others(range(n), b)
    inner = matrix[np.ix_(others, others)]
    if not others or not is_singular(inner):
        return None, b
    rows = np.abs(inner).max(axis=1)
    scaled = inner / np.where(rows > 0.0, rows, 1.0)[:, None]
    columns = np.abs(scaled).max(axis=0)
    columns[columns == 0.0] = 1.0
    _, values, Vt = np.linalg.svd(scaled / columns)
    null = Vt[is_rounding(values, values[0])].T / columns[:, None]
    null /= np.linalg.norm(null, axis=0)
    chosen = ties.pivot_columns(null.T)[1][: null.shape[1]]
    basis = null @ np.linalg.inv(null[chosen])
    basis[is_rounding(np.abs(basis), np.abs(basis).max(axis=0))] = 0.0
    basis[chosen] = np.eye(len(chosen))
    T = np.eye(n)
    T[np.ix_(others, [others[i] for i in chosen])] = basis
    return T, sorted([*b, *(others[i] for i in chosen)])


def _places(n: int, q: list[int], rows: list[int]) -> list[int]:
    """Permutation that puts the equations ``rows`` at the places ``q`` and the others, in order, elsewhere."""
    order = [0] * n
    for places, equations in ((q, rows), (_others(range(n), q), _others(range(n), rows))):
        for place, equation in zip(places, equations, strict=True):
            order[place] = equation
    return order


def _congruent(W: FloatArray | None, matrix: FloatArray, T: FloatArray | None) -> FloatArray:
    """Wᵀ X T, always a copy; terms that cancel up to rounding are set to 0 before decisions on rank."""
    if W is None or T is None:
        return matrix.copy()
    result = W.T @ matrix @ T
    result[is_rounding(np.abs(result), np.abs(W).T @ np.abs(matrix) @ np.abs(T))] = 0.0
    return result


def _others(every: Sequence[int], some_of: Sequence[int]) -> list[int]:
    out = set(some_of)
    return [i for i in every if i not in out]


def _rename(T: FloatArray | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the ξ; a combination ξ_i = x_i - N x_b is called ``name.part``."""
    if T is None:
        return names
    return tuple(name if np.count_nonzero(T[i]) == 1 else f"{name}.part" for i, name in enumerate(names))


def _refuse_undetermined_motion(
    M: FloatArray, C: FloatArray, K: Any, a: list[int], q: list[int], names: tuple[str, ...]
) -> None:
    if not q:
        return
    inner = K[np.ix_(q, q)]
    if a and C[np.ix_(a, q)].any():
        inner = inner - C[np.ix_(q, a)] @ np.linalg.solve(M[np.ix_(a, a)], C[np.ix_(a, q)])
    if is_singular(inner):
        raise DataError(
            "singular-matrix",
            f"the coordinates {list_names([names[i] for i in q], {}, most=6)} have no mass and no damping, and their "
            "stiffness block is singular: their motion is not determined. Give them mass, a spring, or remove them.",
        )
