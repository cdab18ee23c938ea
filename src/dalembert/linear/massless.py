"""Systems with massless coordinates (spec 003, C-18), and the first-order form of the rest.

    M x″ + C x′ + K x = f        here C = C + G and K = K + H, not symmetric in general

A coordinate is massless when its row and column of M are zero. Two kinds are reduced:

- no damping either (row and column of C zero): it follows statically,
  x_s = K_ss⁻¹ (f_s - K_sk x_k), and leaves the system;
- an invertible damping block C_bb: its own first-order equation, one state, no rate.
  The source leaves that condition unsaid (trap 10).

Anything else (a singular M without zero rows, a singular C_bb) is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dalembert.errors import DataError
from dalembert.linear.checks import FloatArray

# A scaled pivot (or reciprocal condition number) below this is singular: 2⁻⁵² with room for a hundred coordinates.
SINGULAR = 1e-13


@dataclass(frozen=True)
class Condensed:
    """What is left after the static coordinates are gone.

    ``x = T x_kept + S f``;  the kept equations are ``M x″ + C x′ + K x = W f``.
    """

    M: FloatArray
    C: FloatArray
    K: FloatArray
    kept: tuple[int, ...]
    T: FloatArray
    S: FloatArray
    W: FloatArray


@dataclass(frozen=True)
class FirstOrder:
    """``z' = A z + F f`` with ``z = (x, rates of the coordinates with mass)``; ``x' = V z + V_f f``."""

    A: FloatArray
    F: FloatArray
    V: FloatArray
    V_f: FloatArray
    massive: tuple[int, ...]


def condense(M: FloatArray, C: FloatArray, K: FloatArray, names: Sequence[str]) -> Condensed:
    """Eliminate the coordinates that have neither mass nor damping."""
    n = len(M)
    static = [i for i in range(n) if not (M[i].any() or M[:, i].any() or C[i].any() or C[:, i].any())]
    kept = [i for i in range(n) if i not in set(static)]
    if not static:
        return Condensed(M, C, K, tuple(kept), np.eye(n), np.zeros((n, n)), np.eye(n))
    if not kept:
        raise DataError(f"no coordinate has mass or damping ({_some(names)}): there is nothing to move.")
    K_ss, K_sk, K_ks = K[np.ix_(static, static)], K[np.ix_(static, kept)], K[np.ix_(kept, static)]
    if is_singular(K_ss):
        raise DataError(
            f"the coordinates {_some([names[i] for i in static])} have no mass and no damping, and their stiffness "
            "block is singular: their motion is not determined. Give them mass, hold them by a spring or drop them."
        )
    T, S, W = np.zeros((n, len(kept))), np.zeros((n, n)), np.zeros((len(kept), n))
    T[kept, range(len(kept))] = 1.0
    T[static] = -np.linalg.solve(K_ss, K_sk)
    S[np.ix_(static, static)] = np.linalg.inv(K_ss)
    W[range(len(kept)), kept] = 1.0
    W[:, static] = -np.linalg.solve(K_ss.T, K_ks.T).T
    block = np.ix_(kept, kept)
    return Condensed(M[block], C[block], K[block] + K_ks @ T[static], tuple(kept), T, S, W)


def first_order(M: FloatArray, C: FloatArray, K: FloatArray, names: Sequence[str]) -> FirstOrder:
    """First-order form on the coordinates and on the rates of those that have mass."""
    n = len(M)
    a = [i for i in range(n) if M[i].any() or M[:, i].any()]
    b = [i for i in range(n) if i not in set(a)]
    M_aa = M[np.ix_(a, a)]
    refuse_singular_mass(M_aa, [names[i] for i in a])
    V, V_f = np.zeros((n, n + len(a))), np.zeros((n, n))
    V[a, range(n, n + len(a))] = 1.0
    if b:
        C_bb = C[np.ix_(b, b)]
        if is_singular(C_bb):
            raise DataError(
                f"the coordinates {_some([names[i] for i in b])} have no mass and their damping block is singular: "
                "they cannot be reduced. Give them mass, or choose coordinates that are either damped or purely static."
            )
        # x_b′ = C_bb⁻¹ (f_b - C_ba v_a - K_b x)
        V[b, :n] = -np.linalg.solve(C_bb, K[b])
        V[b, n:] = -np.linalg.solve(C_bb, C[np.ix_(b, a)])
        V_f[np.ix_(b, b)] = np.linalg.inv(C_bb)
    X = np.eye(n, n + len(a))
    A, F = [V], [V_f]
    if a:
        factors = scipy.linalg.lu_factor(M_aa)
        A.append(scipy.linalg.lu_solve(factors, -C[a] @ V - K[a] @ X))
        F.append(scipy.linalg.lu_solve(factors, np.eye(n)[a] - C[a] @ V_f))
    return FirstOrder(np.vstack(A), np.vstack(F), V, V_f, tuple(a))


def refuse_singular_mass(M: FloatArray, names: Sequence[str]) -> None:
    """Raise where a mass matrix is singular though it has no zero row."""
    if len(M) and is_singular(M):
        raise DataError(
            f"the mass matrix is singular (coordinates {_some(names)}): some combination of coordinates has no mass, "
            "though none is massless on its own. Choose coordinates in which the massless ones stand alone."
        )


def is_singular(matrix: FloatArray) -> bool:
    """Whether a square matrix is singular to working precision, its rows and columns first scaled to one."""
    rows = np.abs(matrix).max(axis=1)
    if not rows.all():
        return True
    scaled = matrix / rows[:, None]
    columns = np.abs(scaled).max(axis=0)
    if not columns.all():
        return True
    values = np.linalg.svd(scaled / columns, compute_uv=False)
    return bool(values[-1] <= SINGULAR * values[0])


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f", ... ({len(names)} in all)" if len(names) > 6 else "")
