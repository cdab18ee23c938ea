"""Gramians and their Cholesky factors (Hammarling 1982).

continuous   A P + P Aᵀ + B Bᵀ = 0        Aᵀ Q + Q A + Cᵀ C = 0
discrete     A P Aᵀ - P + B Bᵀ = 0        Aᵀ Q A - Q + Cᵀ C = 0

The factor L, P = L Lᵀ, is computed without forming P: with A = U T Uᴴ upper triangular, L is found one column at a
time from the last. A Cholesky factor of the P of a plain Lyapunov solver has lost every singular value below √ε of
the largest (or fails), and lightly damped structures need those. States are balanced first, so that the accuracy does
not depend on units; the residual is checked after every solve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from scipy.linalg import get_lapack_funcs

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.findings import Advice, Call
from dalembert.core.text import complex_text
from dalembert.linear.eigen.roots import EPS, complex_schur, poles
from dalembert.numerics.balancing import balance_matrix, balance_system

if TYPE_CHECKING:
    from dalembert.linear.state_space import StateSpace


def is_inside(margin: Any, largest: Any = 1.0, rounding: float = 100.0 * EPS) -> Any:
    """Whether a pole is inside the stability boundary by more than rounding of the largest pole."""
    return margin > rounding * largest


def stability_margin(system: StateSpace) -> FloatArray:
    """Distance of each pole from the stability boundary, relative to the largest pole; positive inside."""
    values = poles(system).values
    largest = max(float(np.abs(values).max(initial=0.0)), np.finfo(np.float64).tiny)
    margin: FloatArray = -values.real / largest if system.dt is None else 1.0 - np.abs(values)
    return margin


def is_stable(system: StateSpace) -> bool:
    """Whether every pole is inside the stability boundary, by more than rounding."""
    return bool(np.all(is_inside(stability_margin(system))))


def require_stable(system: StateSpace, what: str) -> None:
    """Refuse a system that is not asymptotically stable."""
    if is_stable(system):
        return
    values = poles(system).values
    bad = values[~is_inside(stability_margin(system))]
    shown = ", ".join(complex_text(value) for value in bad[:4]) + (", ..." if len(bad) > 4 else "")
    raise DataError(
        "unstable",
        f"{what} needs an asymptotically stable system; {len(bad)} of {len(values)} poles are not: {shown}.",
        Advice("Remove them ({}), or add damping.", Call("StateSpace.stable_split"), Call("StateSpace.minimal")),
    )


def factor(A: FloatArray, B: FloatArray, dt: float | None) -> FloatArray:
    """L (n, n) with P = L Lᵀ the controllability gramian of the stable pair (A, B)."""
    if len(A) == 0:
        return np.zeros((0, 0))
    A, scale = balance_matrix(A)
    T, U = complex_schur(A)
    return scale[:, None] * _factor(A, B / scale[:, None], T, U, dt)


def both_factors(system: StateSpace, what: str) -> tuple[FloatArray, FloatArray]:
    """L_c, L_o (nx, nx) of the two gramians, P = L_c L_cᵀ and Q = L_o L_oᵀ, from one Schur form."""
    require_stable(system, what)
    if system.nx == 0:
        return np.zeros((0, 0)), np.zeros((0, 0))
    A, B, C, scale = balance_system(system.A, system.B, system.C)
    T, U = complex_schur(A)
    L_c = _factor(A, B, T, U, system.dt)
    # Aᵀ = Ū Tᵀ Uᵀ has a lower triangular middle; read backwards it is upper triangular.
    L_o = _factor(A.T, C.T, T.T[::-1, ::-1], U.conj()[:, ::-1], system.dt)
    return scale[:, None] * L_c, L_o / scale[:, None]


def _factor(A: FloatArray, B: FloatArray, T: ComplexArray, U: ComplexArray, dt: float | None) -> FloatArray:
    L = U @ (_continuous if dt is None else _discrete)(T, U.conj().T @ B)
    # P is real, so P = Re L Re Lᵀ + Im L Im Lᵀ.
    real: FloatArray = scipy.linalg.qr(np.hstack([L.real, L.imag]).T, mode="r")[0][: len(A)].T
    _check(A, B, real, dt)
    return real


def _continuous(T: ComplexArray, B: ComplexArray) -> ComplexArray:
    n = len(T)
    R = np.zeros((n, n), dtype=np.complex128, order="F")
    (trtrs,) = get_lapack_funcs(("trtrs",), (T,))
    shifted = np.array(T, order="F")
    eigenvalues = np.diag(T).copy()
    diagonal = np.einsum("ii->i", shifted)
    for k in range(n - 1, -1, -1):
        lam, b = eigenvalues[k], B[k]
        size = np.linalg.norm(b)
        if size == 0.0:
            B = B[:k]
            continue
        rate = np.sqrt(-2.0 * lam.real)
        R[k, k] = rho = size / rate
        beta = b.conj() * (rate / size)
        if k:
            # (T₁ + λ̄ I) r = -(t ρ + B₁ β);   B̂ = B₁ - r βᴴ
            diagonal[:k] = eigenvalues[:k] + lam.conjugate()
            r, _ = trtrs(shifted[:k, :k], -(T[:k, k] * rho + B[:k] @ beta))
            R[:k, k] = r
            B = B[:k] - np.outer(r, beta.conj())
    return R


def _discrete(T: ComplexArray, B: ComplexArray) -> ComplexArray:
    n = len(T)
    R = np.zeros((n, n), dtype=np.complex128, order="F")
    (trtrs,) = get_lapack_funcs(("trtrs",), (T,))
    for k in range(n - 1, -1, -1):
        lam, b = T[k, k], B[k]
        size = np.linalg.norm(b)
        if size == 0.0:
            B = B[:k]
            continue
        radius = abs(lam)
        rate = np.sqrt((1.0 - radius) * (1.0 + radius))
        R[k, k] = rho = size / rate
        beta = b.conj() * (rate / size)
        if k:
            # (I - λ̄ T₁) r = λ̄ t ρ + B₁ β;   B̂ = [B₁, w] Q, w = T₁ r + t ρ, Q orthonormal, normal to (β, λ̄)
            triangle = np.asfortranarray(np.eye(k) - lam.conjugate() * T[:k, :k])
            r, _ = trtrs(triangle, lam.conjugate() * T[:k, k] * rho + B[:k] @ beta)
            R[:k, k] = r
            w = T[:k, :k] @ r + T[:k, k] * rho
            phase = lam.conjugate() / radius if radius else 1.0
            B = B[:k] - np.outer(B[:k] @ beta / (1.0 + radius) + phase * w, beta.conj())
    return R


def _check(A: FloatArray, B: FloatArray, L: FloatArray, dt: float | None, tolerance: float = 1e-9) -> None:
    """Refuse a poor Lyapunov residual, relative to the norms of its terms; the factorisation reaches about n ε."""
    P = L @ L.T
    source = B @ B.T
    if dt is None:
        product = A @ P
        residual, scale = product + product.T + source, 2.0 * np.linalg.norm(product)
    else:
        product = A @ P @ A.T
        residual, scale = product - P + source, np.linalg.norm(product) + np.linalg.norm(P)
    relative = float(np.linalg.norm(residual)) / max(float(scale + np.linalg.norm(source)), np.finfo(np.float64).tiny)
    if not relative <= tolerance:
        raise ConvergenceError(
            "no-convergence",
            f"the Lyapunov equation is solved only to {relative:.1e} (relative residual); "
            "the system is too badly scaled or too close to instability.",
        )


def controllability_factor(system: StateSpace) -> FloatArray:
    """L_c (nx, nx), P = L_c L_cᵀ."""
    require_stable(system, "a gramian")
    return factor(system.A, system.B, system.dt)


def observability_factor(system: StateSpace) -> FloatArray:
    """L_o (nx, nx), Q = L_o L_oᵀ."""
    require_stable(system, "a gramian")
    return factor(system.A.T, system.C.T, system.dt)
