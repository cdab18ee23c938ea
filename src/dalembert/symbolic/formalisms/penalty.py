"""The penalty method: rows replaced by stiff forces (Bayo, García de Jalón and Serna 1988).

    (M + Aᵀ α A) v̇ = f + Aᵀ α (b - 2 μ ω φ̇ - ω² φ) ,     λ = α (b - A v̇ - 2 μ ω φ̇ - ω² φ)

v̇ is the only unknown; the rows are fulfilled to about M/α.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arrays import AnyArray as Array
from dalembert.core.errors import ModelError
from dalembert.equations import ACCELERATION, HOLONOMIC
from dalembert.symbolic.derivation import Derivation, Step, Values
from dalembert.symbolic.formalisms.lagrange import constraint_step, lagrange_forces
from dalembert.symbolic.motion import in_rates
from dalembert.symbolic.system import System

SX = ca.SX


def penalty(system: System, *, factor: Any = 1e7, damping: Any = 1.0, frequency: Any = 10.0) -> Derivation:
    """Equations without rows: a violation of a row causes a restoring force.

    factor : α, a number or an expression.  damping, frequency : μ and ω [rad/s] of the return to the rows.
    """
    motion = in_rates(system)
    if not motion.constraints:
        raise ModelError("not-supported", f"system {system.name!r} has no rows to replace by a penalty.")
    M, f = lagrange_forces(motion, "the penalty method")
    alpha, mu, omega = (system.expression(row, name) for row, name in
                        ((factor, "factor"), (damping, "damping"), (frequency, "frequency")))  # fmt: skip
    residuals = []
    rates = list(ca.vertsplit(motion.rates_of_rows)) if motion.rates_of_rows.shape[0] else []
    for row in motion.ordered:
        if row.level == ACCELERATION:
            residuals.append(SX(0))
            continue
        rate = rates.pop(0)
        position = row.expression if row.level == HOLONOMIC else SX(0)
        residuals.append(2 * mu * omega * rate + omega**2 * position)
    target = motion.b - ca.vertcat(*residuals)
    A = motion.A
    stiff = M + alpha * (A.T @ A)
    forces = f + alpha * (A.T @ target)
    steps = [
        constraint_step(motion),
        Step("Penalty", "Forces proportional to the violations of the rows, of their rates and of their accelerations.",
             "(M + A^{T} \\alpha A)\\,\\dot{v} = f + A^{T} \\alpha \\left( b - 2 \\mu \\omega \\dot{\\varphi} - "
             "\\omega^{2} \\varphi \\right)"),
    ]  # fmt: skip
    free = replace(motion, constraints=())
    extra = {"C": ca.densify(A), "target": target, "alpha": alpha}
    return Derivation("the penalty method", free, stiff, ca.densify(forces), tuple(steps), extra, solve_penalty)


def solve_penalty(values: Values) -> tuple[Array, Array]:
    """v̇, and the forces of the rows."""
    a = np.linalg.solve(values["M"], values["f"])
    return a, values["alpha"].item() * (values["target"] - values["C"] @ a)
