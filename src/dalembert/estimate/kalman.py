"""The Kalman filter of a linear model.

x⁻ = A x + B u_{k-1} ,   P⁻ = A P Aᵀ + Q ;     S = C P⁻ Cᵀ + R ,   K = P⁻ Cᵀ S⁻¹ ,   x = x⁻ + K (y - C x⁻ - D u_k) ,
P = (I - K C) P⁻ (I - K C)ᵀ + K R Kᵀ      (Joseph)                                             (spec 004, C4; 000-71)
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.estimate.engine import only_fresh
from dalembert.estimate.filtering import Filter
from dalembert.estimate.matrices import pack, packed, solve_positive, triangle, unpack
from dalembert.expressions import Array

FORMS = ("covariance", "information", "square-root", "steady")


class Kalman(Filter):
    """Kalman filter of a `StateSpace` or `SecondOrder` (continuous ones are discretised exactly with dt)."""

    def __init__(self, model: Any, *, form: str = "covariance", **keywords: Any) -> None:
        super().__init__(model, **keywords)
        if self.process.matrices is None:
            raise ModelError(
                f"{self.process.name!r} is not linear: use da.estimate.ExtendedKalman or SigmaPointKalman, or linearise it."
            )
        self.form = form
        self.memory = self.process.nx + triangle(self.process.nx)

    def begin(self, x0: Array, P0: Array) -> Array:
        return np.concatenate([x0, packed(P0)])

    def predict(self, m: Any, u: Any, p: Any, t: Any, dt: Any) -> Any:
        x = m[: self.process.nx]
        A = self.process.matrices[0]  # type: ignore[index]
        P = ca.sparsify(A) @ self.covariance(m) @ ca.sparsify(A).T + self.model.Q(x, u, p, t, dt)
        return ca.vertcat(self.model.step(x, u, p, t, dt), pack(P))

    def correct(self, m: Any, u: Any, y: Any, fresh: Any, p: Any, t: Any) -> tuple[Any, Any, Any]:
        x, P = m[: self.process.nx], self.covariance(m)
        C = ca.sparsify(self.process.matrices[2])  # type: ignore[index]
        R = self.model.R(x, u, p, t)
        e = self.model.innovation(y, self.model.outputs(x, u, p, t), fresh)
        HP = C @ P
        S = HP @ C.T + R
        K = solve_positive(only_fresh(S, fresh), ca.diag(fresh) @ HP).T
        left = ca.DM.eye(self.process.nx) - K @ C
        return ca.vertcat(x + K @ e, pack(left @ P @ left.T + K @ R @ K.T)), e, S

    def covariance(self, m: Any) -> Any:
        return unpack(m[self.process.nx :], self.process.nx)

    def cross(self, m: Any, u: Any, p: Any, t: Any, dt: Any) -> Any:
        return self.covariance(m) @ ca.sparsify(self.process.matrices[0]).T  # type: ignore[index]
