"""The Kalman filter four ways: the same estimate, carried differently.

covariance      P⁻ = A P Aᵀ + Q ;   S = C P⁻ Cᵀ + R ,  K = P⁻ Cᵀ S⁻¹ ,  P = (I - K C) P⁻ (I - K C)ᵀ + K R Kᵀ  (Joseph)
square root     P = L Lᵀ, reflections only, nothing squared (array form):
                [A L | Q^½] → L⁻ ;    [R^½ | C L⁻ ; 0 | L⁻] → [S^½ | 0 ; K S^½ | L]
information     P⁻¹ = Λ Λᵀ, also by reflections (Dyer and McReynolds), A invertible, w with covariance I, B Bᵀ = Q:
                [I | -Bᵀ A⁻ᵀ Λ ; 0 | A⁻ᵀ Λ] → [· | 0 ; · | Λ⁻] ;    [Λ⁻ | Cᵀ R^-½ ; 0 | eᵀ R^-½] → [Λ | 0 ; dᵀ | ·] ,
                x = x⁻ + Λ⁻ᵀ d
steady          the limit: K from the discrete Riccati equation, nothing but x is carried

A row that was not measured has its row of C and its innovation set to zero, and its row of R to that of the identity.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.core.errors import DataError
from dalembert.estimate.algebra.covariance_factors import factor, half_product, solve_left, solve_positive, triangular
from dalembert.estimate.algebra.matrices import pack, packed, triangle, unpack, unpack_factor
from dalembert.estimate.algebra.noise import root
from dalembert.estimate.engine.recursion import Expressions, keep_measured
from dalembert.estimate.engine.steady_gain import SteadyGain, steady_gain
from dalembert.expressions import Array, Expr

SINGULAR = 1e-13  # reciprocal condition of A


class CovarianceForm:
    """Carries P."""

    factored = False

    def __init__(self, model: Expressions) -> None:
        process = model.process
        assert process.matrices is not None
        self.model, self.n, self.ny = model, process.nx, process.ny
        self.A, self.C = ca.sparsify(process.matrices[0]), ca.sparsify(process.matrices[2])
        self.state_size = self.n + triangle(self.n)

    def begin(self, x0: Array, P0: Array) -> Array:
        return np.concatenate([x0, packed(P0)])

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        x = m[: self.n]
        P = half_product(self.A @ self.covariance(m), self.A) + ca.tril(self.model.Q(x, u, p, t, dt))
        return ca.vertcat(self.model.step(x, u, p, t, dt), pack(P))

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        x, P = m[: self.n], self.covariance(m)
        R = self.model.R(x, u, p, t)
        e = self.model.innovation(y, self.model.outputs(x, u, p, t), measured)
        CP = self.C @ P
        S = CP @ self.C.T + R
        K = solve_positive(factor(keep_measured(S, measured)), ca.diag(measured) @ CP).T
        left = P - K @ CP  # Joseph's form from its cheap side: (I - K C) P (I - K C)ᵀ = left - (left Cᵀ) Kᵀ
        return ca.vertcat(x + K @ e, pack(left - (left @ self.C.T) @ K.T + K @ R @ K.T)), e, S

    def covariance(self, m: Expr) -> Expr:
        return unpack(m[self.n :], self.n)

    def cross(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        return self.covariance(m) @ self.A.T


class SquareRootForm(CovarianceForm):
    """Carries the lower factor L of P."""

    factored = True

    def begin(self, x0: Array, P0: Array) -> Array:
        return np.concatenate([x0, packed(root(P0))])

    def _factor(self, m: Expr) -> Expr:
        return unpack_factor(m[self.n :], self.n)

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        x = m[: self.n]
        L = triangular(ca.horzcat(self.A @ self._factor(m), self.model.Q_factor(x, u, p, t, dt)))
        return ca.vertcat(self.model.step(x, u, p, t, dt), pack(L))

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        x, L = m[: self.n], self._factor(m)
        e = self.model.innovation(y, self.model.outputs(x, u, p, t), measured)
        top = ca.horzcat(masked_factor(self.model, x, u, p, t, measured), ca.diag(measured) @ self.C @ L)
        array = ca.densify(triangular(ca.vertcat(top, ca.horzcat(ca.MX(self.n, self.ny), L))))
        S, K = array[: self.ny, : self.ny], array[self.ny :, : self.ny]
        return ca.vertcat(x + K @ solve_left(S, e), pack(array[self.ny :, self.ny :])), e, S

    def covariance(self, m: Expr) -> Expr:
        L = self._factor(m)
        return L @ L.T


class InformationForm(CovarianceForm):
    """Carries the lower factor Λ of P⁻¹."""

    factored = True

    def __init__(self, model: Expressions) -> None:
        super().__init__(model)
        assert model.process.matrices is not None
        A = model.process.matrices[0]
        if 1 / np.linalg.cond(A) < SINGULAR:
            raise DataError(
                "the information form needs an invertible A; this one is singular (a pure delay?). "
                "Use form='square-root'."
            )
        R = model.noise.R.constant()
        if R is not None:
            _refuse_singular(R, model.process.outputs.names)
        self.A_inverse = ca.sparsify(np.linalg.inv(A))

    def begin(self, x0: Array, P0: Array) -> Array:
        L = root(P0)
        if (L.diagonal() <= 0).any():
            raise DataError(
                "the information form needs a positive definite P0; this one is singular. Use another form."
            )
        inverse = scipy.linalg.solve_triangular(L, np.eye(self.n), lower=True)
        upper = np.asarray(np.linalg.qr(inverse, mode="r"))  # P⁻¹ = L⁻ᵀ L⁻¹ = Λ Λᵀ
        return np.concatenate([x0, packed(upper.T * np.where(upper.diagonal() < 0, -1.0, 1.0))])

    def _factor(self, m: Expr) -> Expr:
        return unpack_factor(m[self.n :], self.n)

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        x = m[: self.n]
        moved = self.A_inverse.T @ self._factor(m)
        B = ca.densify(self.model.Q_factor(x, u, p, t, dt))
        k = B.shape[1]
        array = triangular(
            ca.vertcat(ca.horzcat(ca.DM.eye(k), -B.T @ moved), ca.horzcat(ca.DM.zeros(self.n, k), moved))
        )
        return ca.vertcat(self.model.step(x, u, p, t, dt), pack(ca.densify(array)[k:, k:]))

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        x, root_ = m[: self.n], self._factor(m)
        e = self.model.innovation(y, self.model.outputs(x, u, p, t), measured)
        R = masked_factor(self.model, x, u, p, t, measured)
        C = ca.diag(measured) @ self.C
        white = solve_left(R, ca.horzcat(C, e))
        array = ca.densify(
            triangular(
                ca.vertcat(
                    ca.horzcat(root_, white[:, : self.n].T), ca.horzcat(ca.DM.zeros(1, self.n), white[:, self.n].T)
                )
            )
        )
        after = array[: self.n, : self.n]
        S = triangular(ca.horzcat(R, solve_left(root_, C.T).T))
        return ca.vertcat(x + solve_transposed(after, array[self.n, : self.n].T), pack(after)), e, ca.densify(S)

    def covariance(self, m: Expr) -> Expr:
        inverse = solve_left(self._factor(m), ca.MX.eye(self.n) if isinstance(m, ca.MX) else ca.SX.eye(self.n))
        return inverse.T @ inverse


def _refuse_singular(R: Array, names: tuple[str, ...]) -> None:
    """R⁻¹ must exist."""
    if (R.diagonal() <= 0).any():
        name = names[int(R.diagonal().argmin())]
        raise DataError(f"the information form needs noise on every output; R of {name!r} is 0. Use form='covariance'.")
    scale = np.sqrt(R.diagonal())
    values, vectors = np.linalg.eigh(R / np.outer(scale, scale))
    if len(R) and values[0] <= SINGULAR * len(R):
        most = [repr(n) for n, v in zip(names, np.abs(vectors[:, 0]), strict=True) if v > 0.1 * np.abs(vectors).max()]
        raise DataError(
            f"the information form needs an R that can be inverted; the noise of {' and '.join(most)} is one and the "
            "same. Use form='covariance', or give each a share of its own."
        )


class SteadyForm(CovarianceForm):
    """Carries x alone; the gain is the limit of the others. A row that was not measured is left out of the gain."""

    steady: SteadyGain

    def __init__(self, model: Expressions) -> None:
        super().__init__(model)
        process = model.process
        self.state_size = self.n
        Q, R = model.noise.Q.constant(), model.noise.R.constant()
        Ru = np.zeros((process.nu, process.nu)) if model.noise.inputs is None else model.noise.inputs.constant()
        if Q is None or R is None or Ru is None:
            raise DataError("form='steady' needs constant Q and R; yours depend on the state. Use form='covariance'.")
        assert process.matrices is not None
        A, B, C, _ = process.matrices
        Q = Q + B @ Ru @ B.T
        self.steady = steady_gain(A, C, Q, R, process.carried.names)

    def begin(self, x0: Array, P0: Array) -> Array:
        return np.array(x0, dtype=float)

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        return self.model.step(m, u, p, t, dt)

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        e = self.model.innovation(y, self.model.outputs(m, u, p, t), measured)
        return m + ca.DM(self.steady.K) @ e, e, ca.MX(ca.DM(self.steady.S))

    def covariance(self, m: Expr) -> Expr:
        return ca.MX(ca.DM(self.steady.P))


def masked_factor(model: Expressions, x: Expr, u: Expr, p: Expr, t: Expr, measured: Expr) -> Expr:
    """Factor of R, with rows that were not measured replaced by those of the identity."""
    R = model.noise.R
    if R.diagonal:
        return ca.diag(measured * ca.diag(model.R_factor(x, u, p, t)) + (1 - measured))
    return ca.densify(factor(keep_measured(model.R(x, u, p, t), measured)))


def solve_transposed(L: Expr, b: Expr) -> Expr:
    """L⁻ᵀ b."""
    n = int(L.shape[0])
    flip = ca.DM.eye(n)[::-1, :]
    return flip @ solve_left(flip @ L.T @ flip, flip @ b)


FORMS: dict[str, Any] = {
    "covariance": CovarianceForm,
    "information": InformationForm,
    "square-root": SquareRootForm,
    "steady": SteadyForm,
}
