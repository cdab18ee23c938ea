"""Gauss's principle of least constraint: the accelerations that are nearest to the free ones (Lanczos 1970, ch. 4).

Z = Σ 1/(2m) |F - m r̈|² + … = ½ (v̇ - a)ᵀ M (v̇ - a) + const ,   a = M⁻¹ f ,     Z → min  subject to  A v̇ = b
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.core.arrays import AnyArray as Array
from dalembert.symbolic.derivation import Derivation, Step, Values, count_independent, least_squares
from dalembert.symbolic.formalisms.gibbs_appell import acceleration_energy
from dalembert.symbolic.formalisms.lagrange import constraint_step
from dalembert.symbolic.formalisms.virtual_work import require_bodies
from dalembert.symbolic.motion import in_rates
from dalembert.symbolic.system import System

SX = ca.SX


def gauss(system: System) -> Derivation:
    """The equations of motion as the minimum of the constraint Z over the accelerations that the rows allow."""
    require_bodies(system, "Gauss's principle")
    motion = in_rates(system)
    Z = acceleration_energy(motion) - ca.dot(motion.vdot, motion.force)
    M, gradient = ca.hessian(Z, motion.vdot)
    f = -ca.densify(ca.substitute(gradient, motion.vdot, SX.zeros(motion.nv)))
    steps = [
        Step("Constraint", "Half the squared deviation from the free acceleration, weighted with the masses; terms "
             "without accelerations are left out.", "Z = \\sum \\frac{1}{2 m} |F - m\\,\\ddot{r}|^{2}", (("Z", Z),)),
        Step("Least constraint", "Of all accelerations that the rows allow, the motion has the smallest Z.",
             "\\frac{\\partial Z}{\\partial \\ddot{q}} = A^{T} \\lambda" if motion.constraints else
             "\\frac{\\partial Z}{\\partial \\ddot{q}} = 0"),
    ]  # fmt: skip
    if motion.constraints:
        steps.append(constraint_step(motion))
    return Derivation("Gauss's principle", motion, M, f, tuple(steps), method=minimise)


def minimise(values: Values) -> tuple[Array, Array]:
    """The minimum of Z on the rows, by a basis of the accelerations that they leave free."""
    M, f, A, b = (values[name] for name in ("M", "f", "A", "b"))
    if not len(b):
        return np.linalg.solve(M, f), np.zeros(0)
    U, sizes, V = np.linalg.svd(A)
    rank = count_independent(A)
    Z = V[rank:].T
    a = V[:rank].T @ ((U[:, :rank].T @ b) / sizes[:rank])
    a = a + Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ (f - M @ a))
    return a, least_squares(A.T, M @ a - f)
