"""Kane's equations (Kane and Levinson 1985): projections on partial velocities.

    ∂v/∂u_j · (F - m a) + ∂ω/∂u_j · (τ - I ω̇ - ω × I ω) = 0 ,   j = 1 … number of freedoms

The speeds u are independent: constraint rows, holonomic or linear in the speeds, give the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.symbolic.derivation import Derivation, Step
from dalembert.symbolic.formalisms.elimination import elimination_step, with_reactions
from dalembert.symbolic.formalisms.virtual_work import inertia_and_forces, require_bodies
from dalembert.symbolic.motion import eliminate, in_speeds
from dalembert.symbolic.system import System


def kane(system: System, *, independent: Sequence[str] | None = None) -> Derivation:
    """Kane's equations in the declared speeds, or in the rates where none are declared.

    independent : names of the independent speeds, where rows tie the speeds; chosen at a random point if left out.
    """
    require_bodies(system, "Kane's method")
    motion = eliminate(in_speeds(system), independent)
    M, f = inertia_and_forces(motion)
    terms = []
    for body in motion.bodies:
        terms.append((f"V_{{\\mathrm{{{body.name}}}}}", body.J))
        if system.bodies[body.name].rotation is not None:
            terms.append((f"\\Omega_{{\\mathrm{{{body.name}}}}}", body.J_omega))
    steps = [
        *elimination_step(motion),
        Step("Partial velocities", "Columns are the derivatives of velocities and angular velocities by the speeds.",
             "V = \\frac{\\partial v}{\\partial u}, \\qquad \\Omega = \\frac{\\partial \\omega}{\\partial u}",
             tuple(terms)),
        Step("Generalized active forces", "Applied forces and torques on the partial velocities.",
             "F_{r} = \\sum V^{T} F + \\sum \\Omega^{T} \\tau", (("F_{r}", motion.force),)),
        Step("Kane's equations", "Active and inertia forces on the partial velocities balance.",
             "F_{r} + F_{r}^{*} = 0"),
    ]  # fmt: skip
    return with_reactions(Derivation("Kane's equations", motion, M, f, tuple(steps)))
