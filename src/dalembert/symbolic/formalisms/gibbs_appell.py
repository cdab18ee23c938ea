"""The Gibbs-Appell equations: the energy of accelerations S (Lurie 2002, ch. 8).

    S = Σ ½ m a·a + ½ ω̇·I ω̇ + ω̇·(ω × I ω) ,      ∂S/∂u̇ = Q

A term of S without u̇ does not matter and is left out. The speeds are independent; rows give the others. Forces of the
rows follow by relaxation: the equations of the speeds that the rows keep at zero.

Rows c(q, v, t) = 0 that are not affine in the speeds, and rows of accelerations, do not give the other speeds, but the
accelerations: with u = Y v + y₀ and A = ∂c/∂v (Neimark and Fufaev 1972)

    [Y ; A]⁻¹ = [W | C] ,     v̇ = W u̇ + w ,     ∂S/∂u̇ = Wᵀ f ,     λ = Cᵀ (∂S/∂v̇ - f)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arrays import AnyArray as Array
from dalembert.core.errors import ModelError
from dalembert.equations import ACCELERATION
from dalembert.symbolic.block_solve import solve_square
from dalembert.symbolic.derivation import Derivation, Step, Values
from dalembert.symbolic.formalisms.elimination import elimination_step, with_reactions
from dalembert.symbolic.formalisms.lagrange import constraint_step
from dalembert.symbolic.formalisms.virtual_work import require_bodies
from dalembert.symbolic.motion import (
    SystemMotion,
    choose_independent,
    declared_speeds,
    eliminate,
    in_rates,
    in_speeds,
    is_affine,
    name_derivative,
    require_independent,
)
from dalembert.symbolic.system import System

SX = ca.SX


def gibbs_appell(system: System, *, independent: Sequence[str] | None = None) -> Derivation:
    """The Gibbs-Appell equations in the declared speeds, or in the rates where none are declared; rows of any kind.

    independent : names of the independent speeds, where rows tie the speeds; chosen at a random point if left out.
    """
    require_bodies(system, "the Gibbs-Appell method")
    rates = in_rates(system)
    if any(row.level == ACCELERATION or not is_affine(rates, row) for row in rates.constraints):
        return _solve_accelerations(system, independent)
    motion = eliminate(in_speeds(system), independent)
    S = acceleration_energy(motion)
    M, inertia = ca.hessian(S, motion.vdot)
    static = ca.substitute(inertia, motion.vdot, SX.zeros(motion.nv))
    steps = [
        *elimination_step(motion),
        Step("Energy of accelerations", "The Gibbs-Appell function; terms without accelerations are left out.",
             "S = \\sum \\tfrac{1}{2} m\\, a \\cdot a + \\tfrac{1}{2} \\dot{\\omega} \\cdot I \\dot{\\omega} + "
             "\\dot{\\omega} \\cdot (\\omega \\times I \\omega)", (("S", S),)),
        Step("Generalized forces", "Applied forces along the speeds.", terms=(("Q", motion.force),)),
        Step("Gibbs-Appell equations", "One equation per independent speed.",
             "\\frac{\\partial S}{\\partial \\dot{u}} = Q"),
    ]  # fmt: skip
    derived = Derivation("the Gibbs-Appell equations", motion, M, ca.densify(motion.force - static), tuple(steps))
    return with_reactions(derived)


def _solve_accelerations(system: System, independent: Sequence[str] | None) -> Derivation:
    """Rows that are affine in the accelerations only: all speeds and rows remain, u̇ is solved for."""
    motion = in_rates(system)
    names, u = declared_speeds(system)
    if len(names) == motion.nv - len(motion.rows):
        if independent is not None and set(independent) != set(names):
            raise ModelError(
                "conflicting-arguments", f"the speeds {', '.join(names)} of system {system.name!r} are as many as its "
                "freedoms: they are the independent ones.", where={"speeds": list(independent)},
            )  # fmt: skip
        require_independent(system, motion, ca.vertcat(ca.jacobian(u, motion.v), motion.A), names, motion.ordered)
    else:
        motion = in_speeds(system)
        names = choose_independent(motion, motion.A, independent)
        u = motion.v[[motion.names.index(name) for name in names]]
    rows, count = ca.vertcat(ca.jacobian(u, motion.v), motion.A), len(names)
    inverse = solve_square(rows, SX.eye(motion.nv))
    W, C = inverse[:, :count], inverse[:, count:]
    w = inverse @ ca.vertcat(-motion.rate(u), motion.b)
    udot = ca.vertcat(SX(0, 1), *(system.symbols[name_derivative(name)] for name in names))
    energy = acceleration_energy(motion)
    S = ca.substitute(energy, motion.vdot, W @ udot + w)
    M, inertia = ca.hessian(energy, motion.vdot)
    static = ca.substitute(inertia, motion.vdot, SX.zeros(motion.nv))
    mass, slope = ca.hessian(S, udot)
    Q = W.T @ motion.force
    right = Q - ca.substitute(slope, udot, SX.zeros(count))
    steps = (
        constraint_step(motion),
        Step("Independent speeds", f"Independent speeds are {', '.join(names)}; the rows give the other accelerations.",
             "\\dot{v} = W \\dot{u} + w", (("W", W), ("w", w))),
        Step("Energy of accelerations", "The Gibbs-Appell function, on accelerations that the rows allow.",
             terms=(("S", S),)),
        Step("Gibbs-Appell equations", "One equation per independent speed.",
             "\\frac{\\partial S}{\\partial \\dot{u}} = W^{T} Q", (("W^{T} Q", Q),)),
    )  # fmt: skip
    extra = {"mass": mass, "force": right, "W": W, "w": w, "C": C}
    return Derivation(
        "the Gibbs-Appell equations", motion, M, ca.densify(motion.force - static), steps, extra, solve_relaxed
    )


def solve_relaxed(values: Values) -> tuple[Array, Array]:
    """v̇ from the independent accelerations, and λ by relaxation of the rows."""
    vdot = values["W"] @ np.linalg.solve(values["mass"], values["force"]) + values["w"]
    return vdot, values["C"].T @ (values["M"] @ vdot - values["f"])


def acceleration_energy(motion: SystemMotion) -> Any:
    """S(q, v, v̇, t) of the bodies."""
    total = SX(0)
    for body in motion.bodies:
        a = body.J @ motion.vdot + body.gamma
        total = total + 0.5 * body.mass * ca.dot(a, a)
        if motion.system.bodies[body.name].rotation is not None:
            turning = body.J_omega @ motion.vdot + body.gamma_omega
            total = total + 0.5 * ca.dot(turning, body.inertia @ turning)
            total = total + ca.dot(turning, ca.cross(body.omega, body.inertia @ body.omega))
    return total
