"""The extended Kalman filter, with exact Jacobians in the space of errors.

    x⁻ = f(x, u) ,   P⁻ = F P Fᵀ + Q ,           F = ∂/∂e [ f(x ⊞ e) ⊟ f(x) ]
    S = H P⁻ Hᵀ + R ,   K = P⁻ Hᵀ S⁻¹ ,          H = ∂/∂e g(x⁻ ⊞ e)
    x = x⁻ ⊞ K (y - g(x⁻)) ,   P = (I - K H) P⁻ (I - K H)ᵀ + K R Kᵀ   (Joseph's form)

The iterated correction linearises again at its last result, e_{i+1} = K_i (y - g(x⁻ ⊞ e_i) + H_i e_i): Gauss-Newton
steps to the most likely state. On a manifold P is transformed to the errors about the corrected state.

Between samples the covariance may follow the continuous equation, Q being an intensity (Simon 2006, ch. 13):

    Ṗ = A P + P Aᵀ + Q  ⇒  P(t+h) = F P Fᵀ + ∫ Φ(t+h, s) Q Φ(t+h, s)ᵀ ds ,

the integral by Simpson's rule: of order four, and never indefinite. For continuous sensors see `extended_kalman_bucy`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import casadi as ca
import numpy as np

from dalembert.core.arguments import one_of, whole_number
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.estimate.algebra.covariance_factors import factor, half_product, solve_positive
from dalembert.estimate.algebra.matrices import pack, pack_numbers, triangle, unpack
from dalembert.estimate.engine.filter import Filter
from dalembert.estimate.engine.filter_kinds import FILTERS, FilterKind
from dalembert.estimate.engine.recursion import keep_measured
from dalembert.estimate.engine.tangent import error_slopes, linearize_outputs_away, transform_covariance
from dalembert.expressions import Array, Expr


class ExtendedKalman(Filter):
    """Extended Kalman filter of any model; on a linear one it is the Kalman filter.

    Parameters
    ----------
    model, outputs, inputs, Q, R, input_noise, dt, start, P0 : see `Filter`.
    iterations : corrections per sample; more than 1 is the iterated filter.
    continuous : Q is an intensity [variance per second] and P follows Ṗ = A P + P Aᵀ + Q between the samples.
    substeps : parts of an interval in which that equation is integrated.
    jacobian : "exact", F of the step itself, or "frozen", exp(A Δt) to the fourth power of Δt with A = ∂ẋ/∂x at the
        start of the interval: a quarter of the work of a Runge-Kutta step with four stages, and an error of F of the
        order of Δt² dA/dt.

    Examples
    --------
    >>> import numpy as np, dalembert as da
    >>> model = da.estimate.UserModel(lambda x, u: [x[1], -9.81 * da.sin(x[0])], lambda x: [x[0]],
    ...                           states=["angle", "speed"], outputs=["encoder"])
    >>> ekf = ExtendedKalman(model, Q=1e-6, R=1e-4, P0=0.1, dt=0.01)
    >>> sample = ekf.stepper().step([0.5])
    >>> round(sample["angle"], 3)
    0.5
    """

    def __init__(
        self, model: object, *, iterations: int = 1, continuous: bool = False, substeps: int = 1,
        jacobian: Literal["exact", "frozen"] = "exact", **keywords: Any,
    ) -> None:  # fmt: skip
        super().__init__(model, **keywords)
        self.jacobian = one_of("jacobian", jacobian, ("exact", "frozen"))
        if jacobian == "frozen" and "rate" not in self.process.functions:
            problem = f"{self.process.name!r} has steps only, not the rate of its state: it has no A to freeze."
            raise DataError("not-supported", problem, Advice("Use {}.", Argument("jacobian", "exact")))
        for name, value in (("iterations", iterations), ("substeps", substeps)):
            whole_number(name, value, least=1)
        if continuous and self.process.dt is not None:
            problem = (
                f"a continuous Q needs a continuous model; {self.process.name!r} has steps of {self.process.dt:g} s."
            )
            others = (Call("da.estimate.KalmanBucy"), Call("da.estimate.ExtendedKalmanBucy"))
            raise DataError("not-supported", problem, Advice("Use {}, or the Q of one step.", *others))
        if continuous and self.noise.inputs is not None:
            raise DataError(
                "conflicting-arguments",
                "the variance of held inputs has no meaning beside a continuous Q.",
                Advice("Leave {} out and add its share to Q.", Argument("input_noise")),
            )
        self.iterations, self.continuous, self.substeps = iterations, continuous, substeps
        self.state_size = self.process.nx + triangle(self.process.ne)

    def __repr__(self) -> str:
        how = ", continuous Q" if self.continuous else ""
        return f"ExtendedKalman(iterations {self.iterations}{how}; {self.process!r})"

    def begin(self, x0: Array, P0: Array) -> Array:
        return np.concatenate([x0, pack_numbers(P0)])

    def covariance(self, m: Expr) -> Expr:
        return unpack(m[self.process.nx :], self.process.ne)

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        x, P = m[: self.process.nx], self.covariance(m)
        if self.continuous:
            h = dt / self.substeps
            for _ in range(self.substeps):
                x, P, _ = self._substep(x, P, u, p, t, h)
                t = t + h
            return ca.vertcat(x, pack(P))
        after, F, G = self.transition(x, u, p, t, dt)
        carried_on = half_product(ca.mtimes(F, P), F)
        return ca.vertcat(after, pack(carried_on + ca.tril(self.model.Q(x, u, p, t, dt, G))))

    def transition(self, x: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> tuple[Expr, Expr, Expr]:
        """x after the step, F with its structural zeros, G."""
        if self.jacobian == "frozen":
            return self._frozen_transition(x, u, p, t, dt)
        after, F, G = self.model.transition(x, u, p, t, dt)
        if self.process.flat:
            F = ca.project(F, self.process.functions["step"].jac_sparsity(0, 0))
        return after, F, G

    def _frozen_transition(self, x: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> tuple[Expr, Expr, Expr]:
        """x after the step, F = 1 + A Δt + ... + (A Δt)⁴/24, G = (1 + A Δt/2 + ... + (A Δt)³/24) B Δt."""
        A, B = error_slopes(self.model, x, u, p, t)
        A = A * dt
        one = ca.MX.eye(self.process.ne)
        inner = one + A / 4
        for k in (3, 2):
            inner = one + (A / k) @ inner
        return self.model.step(x, u, p, t, dt), one + A @ inner, inner @ (B * dt)

    def _substep(self, x: Expr, P: Expr, u: Expr, p: Expr, t: Expr, h: Expr) -> tuple[Expr, Expr, Expr]:
        """State, covariance and transition after h, through the middle."""
        middle, F1, _ = self.transition(x, u, p, t, h / 2)
        after, F2, _ = self.transition(middle, u, p, t + h / 2, h / 2)
        F = ca.mtimes(F2, F1)
        ends = [self.model.Q(state, u, p, time, h) for state, time in ((x, t), (middle, t + h / 2), (after, t + h))]
        inside = F @ (P + h / 6 * ends[0]) @ F.T + F2 @ (2 * h / 3 * ends[1]) @ F2.T
        return after, inside + h / 6 * ends[2], F

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        x, P = m[: self.process.nx], self.covariance(m)
        R = self.model.R(x, u, p, t)
        expected, H = self.model.linearize_outputs(x, u, p, t)
        first = e = self.model.innovation(y, expected, measured)
        K, HP, S = self._gain(P, H, R, measured)
        S_first = S
        shift = K @ e
        for _ in range(self.iterations - 1):
            expected, H = linearize_outputs_away(self.model, x, shift, u, p, t)
            e = self.model.innovation(y, expected, measured)
            K, HP, S = self._gain(P, H, R, measured)
            shift = K @ (e + ca.if_else(measured, H @ shift, 0))
        # Joseph's form, multiplied from the cheap side: (I - K H) P (I - K H)ᵀ = A - (A Hᵀ) Kᵀ with A = P - K (H P)
        reduced = P - K @ HP
        after = reduced - ca.mtimes(reduced, H.T) @ K.T + K @ R @ K.T
        x1 = self.model.retract(x, shift, p, t)
        after = transform_covariance(self.model, after, x, shift, x1, p, t)
        return ca.vertcat(x1, pack(after)), first, S_first

    def _gain(self, P: Expr, H: Expr, R: Expr, measured: Expr) -> tuple[Expr, Expr, Expr]:
        """K (columns of rows that were not measured are zero), H P, S."""
        HP = H @ P
        S = HP @ H.T + R
        return solve_positive(factor(keep_measured(S, measured)), ca.diag(measured) @ HP).T, HP, S

    def cross(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        x, P = m[: self.process.nx], self.covariance(m)
        if not self.continuous:
            return P @ self.transition(x, u, p, t, dt)[1].T
        h, total = dt / self.substeps, ca.DM.eye(self.process.ne)
        state, here = x, P
        for _ in range(self.substeps):
            state, here, F = self._substep(state, here, u, p, t, h)
            t, total = t + h, F @ total
        return P @ total.T


FILTERS.register("ekf", FilterKind(ExtendedKalman, "extended Kalman filter", machines=True))
FILTERS.register(
    "iekf", FilterKind(partial(ExtendedKalman, iterations=3), "iterated extended Kalman filter", machines=True)
)
