"""Maggi's equations: Lagrange's equations projected on the motions that the rows allow (Neimark and Fufaev 1972).

    q̇ = C e + d ,   A C = 0 ,     Cᵀ (d/dt ∂T/∂q̇ - ∂T/∂q - Q) = 0 ,   A q̈ = b
    [Y ; A]⁻¹ = [C | C_Y] ,     λ = C_Yᵀ (M q̈ - f)

Y are the rows of the independent speeds e = Y q̇ + y₀.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.core.arrays import AnyArray as Array
from dalembert.symbolic.derivation import Derivation, Step, Values
from dalembert.symbolic.formalisms.elimination import elimination_step
from dalembert.symbolic.formalisms.lagrange import constraint_step, lagrange_forces
from dalembert.symbolic.motion import eliminate, in_rates, in_speeds
from dalembert.symbolic.system import System


def maggi(system: System) -> Derivation:
    """Maggi's equations; without rows they are those of Lagrange."""
    motion = in_rates(system)
    M, f = lagrange_forces(motion, "Maggi's method")
    free = eliminate(in_speeds(system))
    lifting = ca.jacobian(free.of_rates, motion.v)
    steps = [
        Step("Energies", "Kinetic and potential energy.", terms=(("T", motion.kinetic), ("V", motion.potential))),
        *elimination_step(free),
        Step("Projection", "The columns of C are the motions that the rows allow.", "A\\,C = 0", (("C", free.N),)),
        Step("Maggi's equations", "Lagrange's equations projected on these motions, without multipliers.",
             "C^{T} \\left( \\frac{d}{dt}\\frac{\\partial T}{\\partial \\dot{q}} - \\frac{\\partial T}{\\partial q} "
             "- Q \\right) = 0"),
    ]  # fmt: skip
    if motion.constraints:
        steps.append(constraint_step(motion))
    extra = {"W": free.N, "C": lifting}
    return Derivation("Maggi's equations", motion, M, f, tuple(steps), extra, solve_projected)


def solve_projected(values: Values) -> tuple[Array, Array]:
    """q̈ of [Wᵀ M; A] q̈ = [Wᵀ f; b], and λ afterwards."""
    M, f, A, b, W, Y = (values[name] for name in ("M", "f", "A", "b", "W", "C"))
    a = np.linalg.solve(np.vstack([W.T @ M, A]), np.concatenate([W.T @ f, b]))
    if not len(b):
        return a, np.zeros(0)
    dual = np.linalg.solve(np.vstack([Y, A]), np.eye(len(f))[:, :])[:, len(f) - len(b) :]
    return a, dual.T @ (M @ a - f)
