"""The Gibbs-Appell equations: the energy of accelerations S (Lurie 2002, ch. 8).

    S = Σ ½ m a·a + ½ ω̇·I ω̇ + ω̇·(ω × I ω) ,      ∂S/∂u̇ = Q

A term of S without u̇ does not matter and is left out. The speeds are independent; rows give the others. Forces of the
rows follow by relaxation: the equations of the speeds that the rows keep at zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from dalembert.symbolic.derivation import Derivation, Step
from dalembert.symbolic.formalisms.elimination import elimination_step, with_reactions
from dalembert.symbolic.formalisms.virtual_work import require_bodies
from dalembert.symbolic.motion import SystemMotion, eliminate, in_speeds
from dalembert.symbolic.system import System

SX = ca.SX


def gibbs_appell(system: System, *, independent: Sequence[str] | None = None) -> Derivation:
    """The Gibbs-Appell equations in the declared speeds, or in the rates where none are declared.

    independent : names of the independent speeds, where rows tie the speeds; chosen at a random point if left out.
    """
    require_bodies(system, "the Gibbs-Appell method")
    motion = eliminate(in_speeds(system), independent)
    S = acceleration_energy(motion)
    M, inertia = ca.hessian(S, motion.vdot)
    rest = ca.substitute(inertia, motion.vdot, SX.zeros(motion.nv))
    steps = [
        *elimination_step(motion),
        Step("Energy of accelerations", "The Gibbs-Appell function; terms without accelerations are left out.",
             "S = \\sum \\tfrac{1}{2} m\\, a \\cdot a + \\tfrac{1}{2} \\dot{\\omega} \\cdot I \\dot{\\omega} + "
             "\\dot{\\omega} \\cdot (\\omega \\times I \\omega)", (("S", S),)),
        Step("Generalized forces", "Applied forces along the speeds.", terms=(("Q", motion.force),)),
        Step("Gibbs-Appell equations", "One equation per independent speed.",
             "\\frac{\\partial S}{\\partial \\dot{u}} = Q"),
    ]  # fmt: skip
    derived = Derivation("the Gibbs-Appell equations", motion, M, ca.densify(motion.force - rest), tuple(steps))
    return with_reactions(derived)


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
