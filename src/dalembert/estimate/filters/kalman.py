"""The Kalman filter of a linear model.

    x⁻ = A x + B u_{k-1} ,   x = x⁻ + K (y - C x⁻ - D u_k)               (Kalman 1960)

Four forms of the same thing: `kalman_forms`.
"""

from __future__ import annotations

import warnings
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.estimate.engine.filter import Filter
from dalembert.estimate.engine.steady_gain import SteadyGain, hidden_modes, steady_gain
from dalembert.estimate.filters.converged_filter import ConvergedFilter, can_converge
from dalembert.estimate.filters.kalman_forms import FORMS, SteadyForm
from dalembert.expressions import Array, Expr


class Kalman(Filter):
    """Kalman filter of a `StateSpace` or `SecondOrder` (continuous ones are discretised exactly with dt).

    Parameters
    ----------
    model, outputs, inputs, Q, R, input_noise, dt, start, P0, compiled, options : see `Filter`.
    form : "covariance" (Joseph), "square-root" and "information" (both by reflections; the first for nearly exact or
        nearly dependent sensors, the second for a start of which next to nothing is known), or "steady" (one gain).

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

    def __init__(self, model: Any, *, form: str = "covariance", **keywords: Any) -> None:
        if form not in FORMS:
            raise DataError(unknown_name("form", str(form), FORMS, "Kalman"))
        super().__init__(model, **keywords)
        if self.process.matrices is None:
            raise ModelError(
                f"{self.process.name!r} is not linear: use da.estimate.ExtendedKalman or SigmaPointKalman, "
                "or linearise it."
            )
        self.form = form
        A, _, C, _ = self.process.matrices
        hidden = [] if form == "steady" else hidden_modes(A, C, self.process.carried.names)
        if hidden:
            warnings.warn(
                f"{'; '.join(hidden)}: its deviation will grow without bound. Add a sensor that shows it.", stacklevel=2
            )
        self.algebra = FORMS[form](self.model)
        self.state_size: int = self.algebra.state_size
        self.factored: bool = self.algebra.factored

    def begin(self, x0: Array, P0: Array) -> Array:
        return self.algebra.begin(x0, P0)  # type: ignore[no-any-return]

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        return self.algebra.predict(m, u, p, t, dt)

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        return self.algebra.correct(m, u, y, measured, p, t)  # type: ignore[no-any-return]

    def covariance(self, m: Expr) -> Expr:
        return self.algebra.covariance(m)

    def covariance_before(self, m: Expr) -> Expr:
        if isinstance(self.algebra, SteadyForm):  # its memory is x alone
            return ca.MX(ca.DM(self.algebra.steady.P_before))
        return self.covariance(m)

    def cross(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        return self.algebra.cross(m, u, p, t, dt)

    def converged(self) -> ConvergedFilter | None:
        return ConvergedFilter(self) if self.form != "steady" and can_converge(self) else None

    def steady_covariance(self, x: Array, u: Array, t: float, dt: float | None) -> Array:
        if isinstance(self.algebra, SteadyForm):
            return self.algebra.steady.P_before
        return super().steady_covariance(x, u, t, dt)

    @property
    def steady(self) -> SteadyGain:
        """Gains and covariances the filter settles to: K of the filter, L of the predictor, poles of the error."""
        if isinstance(self.algebra, SteadyForm):
            return self.algebra.steady
        F, H, Q, R = self.linearised(self.start, np.zeros(self.process.nu), 0.0, self.dt or 1.0)
        if self.noise.Q.function is not None or self.noise.R.function is not None:
            raise DataError("Q or R depends on the state: there is no converged gain.")
        return steady_gain(F, H, Q, R, self.process.carried.names)
