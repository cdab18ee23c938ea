"""The Kalman-Bucy filter over an interval, exactly.

    x̂̇ = A x̂ + B u + P Cᵀ R⁻¹ (y - C x̂ - D u) ,     Ṗ = A P + P Aᵀ - P Cᵀ R⁻¹ C P + Q

are the sweep x = x̂ + P λ of the linear equations

    ẋ = A x + Q λ + B u ,    λ̇ = Cᵀ R⁻¹ C x - Aᵀ λ + Cᵀ R⁻¹ (D u - y) ,

whose exponential gives, for u constant and y linear over an interval, an element (Ψ, N, J, b, η) with

    W = P (I + J P)⁻¹ ,   x̂₁ = Ψ (x̂₀ + W (η - J x̂₀)) + b ,   P₁ = Ψ W Ψᵀ + N .

The exponential itself overflows over a long interval of a stiff equation (rates of 1e7 per second occur), so
it is taken of a short one and the element is doubled; J and N are positive semidefinite throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dalembert.expressions import Array

SHORT = 0.25  # norm of the Hamiltonian matrix times the shortest interval


@dataclass(frozen=True, eq=False)
class Element:
    """Effect of an interval on x̂ and P; b and η are matrices on (u, y at its start, slope of y)."""

    Psi: Array
    N: Array
    J: Array
    b: Array
    eta: Array

    def after(self, P: Array) -> Array:
        """P at the end of the interval."""
        W = np.linalg.solve(np.eye(len(P)) + P @ self.J, P)
        P1 = self.Psi @ W @ self.Psi.T + self.N
        return np.asarray((P1 + P1.T) / 2, dtype=float)

    def then(self, other: Element, start: Array) -> Element:
        """This interval and the next; `start` maps the signals at the beginning of this one to its end."""
        I = np.eye(len(self.N))  # noqa: E741
        inner = np.linalg.solve(
            I + self.N @ other.J, np.hstack([self.Psi, self.N, self.b + self.N @ other.eta @ start])
        )
        n = len(I)
        turned = np.linalg.solve(
            I + other.J @ self.N, np.hstack([other.J @ self.Psi, other.eta @ start - other.J @ self.b])
        )
        N = other.Psi @ inner[:, n : 2 * n] @ other.Psi.T + other.N
        J = self.Psi.T @ turned[:, :n] + self.J
        return Element(
            other.Psi @ inner[:, :n], (N + N.T) / 2, (J + J.T) / 2,
            other.Psi @ inner[:, 2 * n :] + other.b @ start, self.Psi.T @ turned[:, n:] + self.eta,
        )  # fmt: skip


def interval(A: Array, B: Array, C: Array, Q: Array, R: Array, dt: float) -> Element:
    """Element of an interval of `dt` seconds. A : (n, n), B : (n, nu), C : (ny, n); Q, R intensities."""
    n, nu, ny = len(A), B.shape[1], len(C)
    CR = np.linalg.solve(R, C).T
    hamiltonian = np.block([[A, Q], [CR @ C, -A.T]])
    ns = nu + 2 * ny
    whole = np.zeros((2 * n + ns, 2 * n + ns))
    whole[: 2 * n, : 2 * n] = hamiltonian
    whole[:n, 2 * n : 2 * n + nu] = B
    whole[n : 2 * n, 2 * n + nu : 2 * n + nu + ny] = -CR
    whole[2 * n + nu : 2 * n + nu + ny, 2 * n + nu + ny :] = np.eye(ny)
    # x and λ may be of any size against each other: balance before measuring
    balanced = scipy.linalg.matrix_balance(hamiltonian, permute=False)[0]
    doublings = max(0, int(np.ceil(np.log2(max(float(np.linalg.norm(balanced, 1)) * dt / SHORT, 1e-300)))))
    h = dt / 2**doublings
    flow = scipy.linalg.expm(whole * h)
    F11, F12, F21, F22 = flow[:n, :n], flow[:n, n : 2 * n], flow[n : 2 * n, :n], flow[n : 2 * n, n : 2 * n]
    g1, g2 = flow[:n, 2 * n :], flow[n : 2 * n, 2 * n :]
    J, g = np.split(np.linalg.solve(F22, np.hstack([F21, g2])), [n], axis=1)
    N = np.linalg.solve(F22.T, F12.T).T
    element = Element(F11 - N @ F21, (N + N.T) / 2, (J + J.T) / 2, g1 - N @ g2, -g)
    for _ in range(doublings):
        start = np.eye(ns)
        start[nu : nu + ny, nu + ny :] = h * np.eye(ny)
        element = element.then(element, start)
        h *= 2
    return element
