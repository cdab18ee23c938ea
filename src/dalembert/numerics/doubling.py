"""Optimal costs over an interval as a triple, and the doubling of intervals.

Over a time h the states x and adjoints λ at its start (0) and end (1) are related by three matrices (A, G, H),

    x₁ = A x₀ - G λ₁ ,    λ₀ = H x₀ + Aᵀ λ₁ ,

and so are the costs-to-go X of λ = X x:

    X₀ = H + Aᵀ X₁ (I + G X₁)⁻¹ A                                                                     (1)

G and H are symmetric and, for weights that are, positive semidefinite: I + G X is never singular. Two intervals
(A₁, G₁, H₁) and (A₂, G₂, H₂) one after the other have, with W = (I + G₁ H₂)⁻¹, the triple

    A₂ W A₁ ,    G₂ + A₂ W G₁ A₂ᵀ ,    H₁ + A₁ᵀ H₂ W A₁                                                            (2)

sampled time       one step:          A, B R⁻¹ Bᵀ, Q
continuous time    a short h:         from the exponential of the Hamiltonian [[A, -B R⁻¹ Bᵀ], [-Q, -Aᵀ]] h
                   in the limit:      from its Cayley transform (A_γ = A - γ I)⁻¹, ...

Repeating (2) with equal intervals gives A → 0 and H → X∞, quadratically: the structure-preserving doubling algorithm
(Chu, Fan, Lin and Wang 2004), some 15 n³ operations a step, all of them matrix products and one LU factorization. (1)
with a step of any length is a stable way over a finite horizon: no growing mode of the Hamiltonian is ever formed.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ConvergenceError

Triple = tuple[FloatArray, FloatArray, FloatArray]


def join(first: Triple, second: Triple) -> Triple:
    """Two intervals one after the other as one, (2)."""
    (A1, G1, H1), (A2, G2, H2) = first, second
    n = len(A1)
    W = G1 @ H2
    W[np.diag_indices(n)] += 1.0
    both = scipy.linalg.lu_solve(scipy.linalg.lu_factor(W, overwrite_a=True, check_finite=False), np.hstack([A1, G1]),
                                 overwrite_b=True, check_finite=False)  # fmt: skip
    WA, WG = both[:, :n], both[:, n:]
    G_ = G2 + A2 @ WG @ A2.T
    H_ = H1 + A1.T @ (H2 @ WA)
    return A2 @ WA, 0.5 * (G_ + G_.T), 0.5 * (H_ + H_.T)


def double(A: FloatArray, G: FloatArray, H: FloatArray) -> Triple:
    """Two equal intervals as one."""
    return join((A, G, H), (A, G, H))


def back(triple: Triple, X: FloatArray) -> FloatArray:
    """X at the start of the interval from X at its end, (1)."""
    A, G, H = triple
    X_ = H + A.T @ X @ scipy.linalg.solve(np.eye(len(A)) + G @ X, A, check_finite=False)
    half: FloatArray = 0.5 * (X_ + X_.T)
    return half


def interval(A: FloatArray, G: FloatArray, Q: FloatArray, h: float, short: float = 0.5) -> Triple:
    """The triple of a continuous system over the time h [s]: exact, from a short interval doubled.

    short : ‖Hamiltonian‖ h of the interval that it starts from: its exponential is then well conditioned.
    """
    n = len(A)
    hamiltonian = np.block([[A, -G], [-Q, -A.T]])
    size = float(np.linalg.norm(hamiltonian, 1)) * h
    times = max(0, math.ceil(math.log2(size / short))) if size > 0.0 else 0
    # (x, λ) at the end = Φ (x, λ) at the start;   λ = X x
    F = scipy.linalg.expm(hamiltonian * (h / 2.0**times))
    F22 = F[n:, n:].T  # Φ symplectic: A_h = Φ₂₂⁻ᵀ, G_h = -Φ₁₂ Φ₂₂⁻¹, H_h = -Φ₂₂⁻¹ Φ₂₁
    A_h = np.linalg.inv(F22)
    G_h = -F[:n, n:] @ A_h.T
    H_h = -A_h.T @ F[n:, :n]
    triple = (A_h, 0.5 * (G_h + G_h.T), 0.5 * (H_h + H_h.T))
    for _ in range(times):
        triple = double(*triple)
    return triple


def limit(triple: Triple, change: float = 1e-15, most: int = 60, overflow: float = 1e100) -> FloatArray:
    """X∞ of an interval repeated without end.

    change : relative, of X from one doubling to the next where it ends: rounding.
    most : doublings: a motion that decays by more than rounding (2⁻⁵²) in an interval has decayed after 2⁶⁰.
    overflow : entries of X beyond which it diverges; their squares are still finite.
    """
    A, G, H = triple
    with np.errstate(over="ignore", invalid="ignore"):  # of a diverging one, which is refused
        for _ in range(most):
            before = H
            A, G, H = double(A, G, H)
            if not np.abs(H).max() < overflow:
                break
            if np.linalg.norm(H - before) <= change * np.linalg.norm(H):
                return H
    raise ConvergenceError(
        "no-convergence", "doubling does not converge: a mode on the border of stability, or beyond, is not reached."
    )


def cayley(A: FloatArray, G: FloatArray, Q: FloatArray, shift: float) -> Triple:
    """Triple of sampled time with the same X∞ as the continuous (A, G, Q); γ = ``shift`` > 0."""
    n = len(A)
    shifted = np.linalg.inv(A - shift * np.eye(n))
    core = A.T - shift * np.eye(n) + Q @ shifted @ G
    inverse = np.linalg.inv(core)  # (Aγᵀ + Q Aγ⁻¹ G)⁻¹
    A_ = np.eye(n) + 2.0 * shift * inverse.T
    G_ = 2.0 * shift * shifted @ G @ inverse
    H_ = 2.0 * shift * inverse @ Q @ shifted
    return A_, 0.5 * (G_ + G_.T), 0.5 * (H_ + H_.T)
