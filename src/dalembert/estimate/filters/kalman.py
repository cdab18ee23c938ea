"""The Kalman filter of a linear model, in four forms (Kalman 1960).

    x⁻ = A x + B u_{k-1} ,   P⁻ = A P Aᵀ + Q                                          prediction
    S = C P⁻ Cᵀ + R ,   K = P⁻ Cᵀ S⁻¹ ,   e = y - C x⁻ - D u_k
    x = x⁻ + K e ,   P = (I - K C) P⁻ (I - K C)ᵀ + K R Kᵀ                              correction (Joseph's form)

square root     P = L Lᵀ by reflections, without squares (array form):
                [A L | Q^½] → L⁻ ;    [R^½ | C L⁻ ; 0 | L⁻] → [S^½ | 0 ; K S^½ | L]
information     P⁻¹ = Λ Λᵀ, also by reflections (Dyer and McReynolds), A invertible, w with covariance I, B Bᵀ = Q:
                [I | -Bᵀ A⁻ᵀ Λ ; 0 | A⁻ᵀ Λ] → [· | 0 ; · | Λ⁻] ;    [Λ⁻ | Cᵀ R^-½ ; 0 | eᵀ R^-½] → [Λ | 0 ; dᵀ | ·] ,
                x = x⁻ + Λ⁻ᵀ d
steady          the limit: K from the discrete Riccati equation, the filter state is x alone

A row that was not measured has its row of C and its innovation set to zero, and its row of R to that of the identity.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.core.arguments import one_of
from dalembert.core.errors import DalembertWarning, DataError, ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.estimate.algebra.covariance_factors import factor, half_product, solve_left, solve_positive, triangular
from dalembert.estimate.algebra.matrices import pack, pack_numbers, triangle, unpack, unpack_factor
from dalembert.estimate.algebra.noise import root
from dalembert.estimate.algebra.steady_gain import SteadyGain, has_share, hidden_modes, steady_gain
from dalembert.estimate.engine.filter import Filter
from dalembert.estimate.engine.filter_kinds import FILTERS, FilterKind
from dalembert.estimate.engine.recursion import Expressions, keep_measured
from dalembert.estimate.filters.converged_filter import ConvergedFilter, can_converge
from dalembert.expressions import Array, Expr


class Kalman(Filter):
    """Kalman filter of a `StateSpace` or `SecondOrder` (continuous ones are discretised exactly with dt).

    Parameters
    ----------
    model, outputs, inputs, Q, R, input_noise, dt, start, P0, options : see `Filter`.
    form : "covariance" (Joseph), "square-root" and "information" (both by reflections; the first for nearly exact or
        nearly dependent sensors, the second for an initial state that is almost unknown), or "steady" (one gain).

    Examples
    --------
    >>> import numpy as np
    >>> from dalembert.linear import StateSpace
    >>> from dalembert.record import Record
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], [1, 0], states=["position", "speed"], inputs="push", outputs="seen")
    >>> t = 0.1 * np.arange(50)
    >>> seen = Record.from_channels(t, {"push": 1.0, "seen": t**2 / 2})
    >>> kalman = Kalman(cart, dt=0.1, Q={"speed": 1e-4}, R=1e-4, P0=1.0)
    >>> estimate = kalman.run(seen)
    >>> bool(abs(estimate["speed"][-1] - t[-1]) < 3 * estimate.deviation("speed")[-1])
    True
    """

    form = "covariance"
    factored = False

    def __new__(cls, *given: Any, form: str = "covariance", **keywords: Any) -> Self:
        return super().__new__(FORMS.get(form, cls) if cls is Kalman else cls)  # type: ignore[return-value]

    def __init__(self, model: object, *, form: str = "covariance", **keywords: Any) -> None:
        one_of("form", form, tuple(FORMS))
        if self.form != form and form != "covariance":
            problem = f"{type(self).__name__} has the form {self.form!r}."
            raise DataError("not-supported", problem, Advice("Leave {} out.", Argument("form", form)))
        super().__init__(model, **keywords)
        if self.process.matrices is None:
            others = (Call("da.estimate.ExtendedKalman"), Call("da.estimate.SigmaPointKalman"))
            raise ModelError(
                "not-linear",
                f"{self.process.name!r} is not linear.",
                Advice("Use {}, or linearise the model.", *others),
                where={"model": self.process.name},
            )
        self.n, self.ny = self.process.nx, self.process.ny
        self.A, self.C = ca.sparsify(self.process.matrices[0]), ca.sparsify(self.process.matrices[2])
        self.state_size = self.n + triangle(self.n)
        self._prepare(*self.process.matrices)

    def _prepare(self, A: Array, B: Array, C: Array, D: Array) -> None:
        """Checks of the form, and matrices that it needs."""
        hidden = hidden_modes(A, C, self.process.carried.names)
        if hidden:
            warnings.warn(
                DalembertWarning(
                    "hidden-mode",
                    f"{'; '.join(hidden)}: its deviation will grow without bound.",
                    Advice("Add a sensor that measures it."),
                ),
                stacklevel=3,
            )

    def begin(self, x0: Array, P0: Array) -> Array:
        return np.concatenate([x0, pack_numbers(P0)])

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        x, A = m[: self.n], self.A
        P = half_product(A @ self.covariance(m), A) + ca.tril(self.model.Q(x, u, p, t, dt))  # lower half of A P Aᵀ + Q
        return ca.vertcat(self.model.step(x, u, p, t, dt), pack(P))

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        x, P, C = m[: self.n], self.covariance(m), self.C
        R = self.model.R(x, u, p, t)
        e = self.model.innovation(y, self.model.outputs(x, u, p, t), measured)
        CP = C @ P
        S = CP @ C.T + R
        K = solve_positive(factor(keep_measured(S, measured)), ca.diag(measured) @ CP).T
        reduced = P - K @ CP  # (I - K C) P; times (I - K C)ᵀ it is this - (this Cᵀ) Kᵀ
        return ca.vertcat(x + K @ e, pack(reduced - (reduced @ C.T) @ K.T + K @ R @ K.T)), e, S

    def covariance(self, m: Expr) -> Expr:
        return unpack(m[self.n :], self.n)

    def _factor(self, m: Expr) -> Expr:
        """Lower factor of the state of a factored form."""
        return unpack_factor(m[self.n :], self.n)

    def cross(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        return self.covariance(m) @ self.A.T

    def converged_filter(self) -> ConvergedFilter | None:
        return ConvergedFilter(self) if can_converge(self) else None

    @property
    def steady(self) -> SteadyGain:
        """Limits of gains and covariances: K of the filter, L of the predictor, poles of the error."""
        F, H, Q, R = self.linearize(self.start, np.zeros(self.process.nu), 0.0, self.dt or 1.0)
        if self.noise.Q.function is not None or self.noise.R.function is not None:
            raise DataError("not-supported", "Q or R depends on the state: the gain has no limit.")
        return steady_gain(F, H, Q, R, self.process.carried.names)


class SquareRootKalman(Kalman):
    """Kalman filter whose state contains the lower factor L of P."""

    form = "square-root"
    factored = True

    def begin(self, x0: Array, P0: Array) -> Array:
        return np.concatenate([x0, pack_numbers(root(P0))])

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        x = m[: self.n]
        L = triangular(ca.horzcat(self.A @ self._factor(m), self.model.Q_factor(x, u, p, t, dt)))
        return ca.vertcat(self.model.step(x, u, p, t, dt), pack(L))

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        x, L = m[: self.n], self._factor(m)
        e = self.model.innovation(y, self.model.outputs(x, u, p, t), measured)
        top = ca.horzcat(factor_masked(self.model, x, u, p, t, measured), ca.diag(measured) @ self.C @ L)
        array = ca.densify(triangular(ca.vertcat(top, ca.horzcat(ca.MX(self.n, self.ny), L))))
        S, K = array[: self.ny, : self.ny], array[self.ny :, : self.ny]
        return ca.vertcat(x + K @ solve_left(S, e), pack(array[self.ny :, self.ny :])), e, S

    def covariance(self, m: Expr) -> Expr:
        L = self._factor(m)
        return L @ L.T


class InformationKalman(Kalman):
    """Kalman filter whose state contains the lower factor Λ of P⁻¹."""

    form = "information"
    factored = True

    def _prepare(self, A: Array, B: Array, C: Array, D: Array) -> None:
        super()._prepare(A, B, C, D)
        if is_singular(1 / np.linalg.cond(A)):
            raise DataError(
                "singular-matrix",
                "the information form needs an invertible A; this one is singular, as with a pure delay.",
                Advice("Use {}.", Argument("form", "square-root")),
            )
        R = self.noise.R.constant()
        if R is not None:
            _refuse_singular(R, self.process.outputs.names)
        self.A_inverse = ca.sparsify(np.linalg.inv(A))

    def begin(self, x0: Array, P0: Array) -> Array:
        L = root(P0)
        if (L.diagonal() <= 0).any():
            raise DataError(
                "not-positive-definite",
                "the information form needs a positive definite P0; this one is singular.",
                Advice("Use {}.", Argument("form", "covariance")),
            )
        inverse = scipy.linalg.solve_triangular(L, np.eye(self.n), lower=True)
        upper = np.asarray(np.linalg.qr(inverse, mode="r"))  # P⁻¹ = L⁻ᵀ L⁻¹ = Λ Λᵀ
        return np.concatenate([x0, pack_numbers(upper.T * np.where(upper.diagonal() < 0, -1.0, 1.0))])

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
        R = factor_masked(self.model, x, u, p, t, measured)
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


def is_singular(reciprocal: float, n: int = 1, rounding: float = 1e-13) -> bool:
    """Whether a matrix is singular, from its reciprocal condition number: 450 times the unit roundoff."""
    return bool(reciprocal <= rounding * n)


def _refuse_singular(R: Array, names: tuple[str, ...]) -> None:
    """R⁻¹ must exist."""
    cure = Advice("Use {}, or give every output noise of its own.", Argument("form", "covariance"))
    if (R.diagonal() <= 0).any():
        name = names[int(R.diagonal().argmin())]
        problem = f"the information form needs noise on every output; R of {name!r} is 0."
        raise DataError("singular-matrix", problem, cure, where={"output": name})
    scale = np.sqrt(R.diagonal())
    values, vectors = np.linalg.eigh(R / np.outer(scale, scale))
    if len(R) and is_singular(values[0], len(R)):
        most = [
            repr(n) for n, v in zip(names, np.abs(vectors[:, 0]), strict=True) if has_share(v, np.abs(vectors).max())
        ]
        problem = f"the information form needs an invertible R; the noise of {' and '.join(most)} is the same noise."
        raise DataError("singular-matrix", problem, cure)


class SteadyKalman(Kalman):
    """Kalman filter with one gain, the limit of the others. A row that was not measured is left out of the gain."""

    form = "steady"
    _steady: SteadyGain

    def _prepare(self, A: Array, B: Array, C: Array, D: Array) -> None:
        process, noise = self.process, self.noise
        self.state_size = self.n
        Q, R = noise.Q.constant(), noise.R.constant()
        Ru = np.zeros((process.nu, process.nu)) if noise.inputs is None else noise.inputs.constant()
        if Q is None or R is None or Ru is None:
            raise DataError(
                "not-supported",
                "a steady filter needs constant Q and R; these depend on the state.",
                Advice("Use {}.", Argument("form", "covariance")),
            )
        self._steady = steady_gain(A, C, Q + B @ Ru @ B.T, R, process.carried.names)

    @property
    def steady(self) -> SteadyGain:
        return self._steady

    def begin(self, x0: Array, P0: Array) -> Array:
        return np.array(x0, dtype=float)

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        return self.model.step(m, u, p, t, dt)

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        e = self.model.innovation(y, self.model.outputs(m, u, p, t), measured)
        return m + ca.DM(self.steady.M) @ e, e, ca.MX(ca.DM(self.steady.S))

    def covariance(self, m: Expr) -> Expr:
        return ca.MX(ca.DM(self.steady.P))

    def covariance_before(self, m: Expr) -> Expr:
        return ca.MX(ca.DM(self.steady.P_before))

    def steady_covariance(self, x: Array, u: Array, t: float, dt: float | None) -> Array:
        return self.steady.P_before

    def converged_filter(self) -> ConvergedFilter | None:
        return None


def factor_masked(model: Expressions, x: Expr, u: Expr, p: Expr, t: Expr, measured: Expr) -> Expr:
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


FORMS: dict[str, type[Kalman]] = {
    kind.form: kind for kind in (Kalman, InformationKalman, SquareRootKalman, SteadyKalman)
}
FILTERS.register("kalman", FilterKind(Kalman, "Kalman filter of a linear model"))
