"""Lagrange's equations: minimal coordinates, and redundant ones with multipliers (Lanczos 1970, ch. 5).

    d/dt ∂T/∂q̇ - ∂T/∂q + ∂V/∂q + ∂D/∂q̇ = Q + Aᵀ λ ,      A q̈ = b
    M = ∂²T/∂q̇² ,   f = Q - ∂V/∂q - ∂D/∂q̇ + ∂T/∂q - d/dt(∂T/∂q̇) at q̈ = 0

With T = T₂ + T₁ + T₀ in the rates, T₁ gives gyroscopic and T₀ centrifugal forces. For rows at velocity level that are
not affine in the rates, A = ∂c/∂q̇ is Chetaev's rule.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.core.declare import instance
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import ACCELERATION, HOLONOMIC, VELOCITY
from dalembert.symbolic.derivation import Derivation, Step, quadratic_mass
from dalembert.symbolic.motion import SystemMotion, in_rates
from dalembert.symbolic.system import System

SX = ca.SX
_LEVELS = {HOLONOMIC: "\\varphi", VELOCITY: "c", ACCELERATION: "h"}


def lagrange(system: System) -> Derivation:
    """Lagrange's equations in minimal coordinates: as many coordinates as freedoms, no constraint rows.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.symbolic.System("pendulum")
    >>> theta, m, l = s.coordinate("theta"), s.parameter("m", 1.0), s.parameter("l", 1.0)
    >>> s.add_kinetic(m * l**2 * s.rate(theta) ** 2 / 2)
    >>> s.add_potential(-9.81 * m * l * da.cos(theta))
    >>> da.symbolic.to_sympy(da.symbolic.lagrange(s).f)
    -9.81*l*m*sin(theta)
    """
    instance(System)("system", system)
    if system.constraints:
        row = system.constraints[0].name
        raise ModelError(
            "not-supported", f"the coordinates of system {system.name!r} are redundant: row {row!r} ties them. "
            "Lagrange's equations in minimal coordinates have no rows.",
            Advice("Use {}.", Call("da.symbolic.lagrange_multipliers"), Call("da.symbolic.maggi")), where={"row": row},
        )  # fmt: skip
    return _lagrange(system, "Lagrange's equations")


def lagrange_multipliers(system: System) -> Derivation:
    """Lagrange's equations in redundant coordinates, one multiplier per constraint row."""
    return _lagrange(system, "Lagrange's equations with multipliers")


def lagrange_forces(motion: SystemMotion, formalism: str) -> tuple[Any, Any]:
    """M and f of Lagrange's equations in the rates."""
    M = quadratic_mass(motion, formalism)
    momenta = ca.gradient(motion.kinetic, motion.v)
    f = motion.force + ca.gradient(motion.kinetic, motion.system.q) - motion.rate(momenta)
    return M, ca.densify(f)


def euler_lagrange(system: System, lagrangian: Any) -> Any:
    """d/dt ∂L/∂q̇ - ∂L/∂q of an expression of (q, q̇, t), a column of (q, q̇, q̈, t): zero where the action is stationary.

    Examples
    --------
    >>> s = System("oscillator")
    >>> x = s.coordinate("x")
    >>> euler_lagrange(s, s.rate(x) ** 2 / 2 - 3 * x**2 / 2)
    SX((x.acceleration-(-3*x)))
    """
    L = system.expression(lagrangian, "the Lagrangian")
    return system.rate(ca.gradient(L, system.rates)) - ca.gradient(L, system.q)


def _lagrange(system: System, formalism: str) -> Derivation:
    motion = in_rates(system)
    M, f = lagrange_forces(motion, formalism)
    rows = bool(motion.constraints)
    steps = [
        Step("Energies", "Kinetic and potential energy in the coordinates and their rates.",
             terms=(("T", motion.kinetic), ("V", motion.potential))),
        Step("Generalized forces", "Forces without a potential, along the coordinates.",
             terms=(("Q", motion.applied),)),
        Step("Momenta", "The derivatives of the kinetic energy by the rates.",
             "p = \\frac{\\partial T}{\\partial \\dot{q}}", (("p", ca.gradient(motion.kinetic, motion.v)),)),
    ]  # fmt: skip
    if rows:
        steps.append(constraint_step(motion))
    right = "Q + A^{T} \\lambda" if rows else "Q"
    steps.append(
        Step("Lagrange's equations", "One equation per coordinate.",
             "\\frac{d}{dt}\\frac{\\partial T}{\\partial \\dot{q}} - \\frac{\\partial T}{\\partial q} + "
             "\\frac{\\partial V}{\\partial q} = " + right)
    )  # fmt: skip
    return Derivation(formalism, motion, M, f, tuple(steps))


def constraint_step(motion: SystemMotion) -> Step:
    """The rows of a system and their derivatives."""
    names = ", ".join(dict.fromkeys(row.owner for row in motion.rows))
    rows = [(f"{_LEVELS[one.level]}_{{{k + 1}}}", motion.shown_row(one)) for k, one in enumerate(motion.ordered)]
    sentence = f"Rows of {names} are zero; they are differentiated until accelerations appear."
    return Step("Constraints", sentence, "A \\dot{v} = b", (*rows, ("A", motion.A), ("b", motion.b)))
