"""Virtual work with D'Alembert's inertia forces (Lanczos 1970, ch. 4).

Σ (F - m r̈) · δr + Σ (τ - I ω̇ - ω × I ω) · δθ = 0   for all  δr = J δq ,  δθ = J_ω δq  with  A δq = 0
M = Σ m Jᵀ J + J_ωᵀ I J_ω ,   f = Q - Σ m Jᵀ γ - J_ωᵀ (I γ_ω + ω × I ω)
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.symbolic.derivation import Derivation, Step, require_bodies
from dalembert.symbolic.formalisms.lagrange import constraint_step
from dalembert.symbolic.motion import Motion, with_rows
from dalembert.symbolic.system import System

SX = ca.SX


def virtual_work(system: System) -> Derivation:
    """The equations of motion from the virtual work of applied and inertia forces; rows have multipliers.

    Where as many speeds are declared as coordinates, it is the virtual power in these speeds (Jourdain's principle).
    """
    require_bodies(system, "virtual work")
    motion = with_rows(system)
    M, f = inertia_and_forces(motion)
    steps = [
        *kinematic_steps(motion),
        Step("Virtual work", "Applied and inertia forces do no work on displacements that the rows allow.",
             "\\sum J^{T} (F - m\\,\\ddot{r}) + \\sum J_{\\omega}^{T} (\\tau - I \\dot{\\omega} - "
             "\\omega \\times I \\omega) + A^{T} \\lambda = 0"),
    ]  # fmt: skip
    if motion.constraints:
        steps.append(constraint_step(motion))
    return Derivation("virtual work", motion, M, f, tuple(steps))


def inertia_and_forces(motion: Motion) -> tuple[Any, Any]:
    """M and f of bodies in the speeds of a motion."""
    M, f = SX(motion.nv, motion.nv), motion.force
    for body in motion.bodies:
        M = M + body.mass * (body.J.T @ body.J)
        f = f - body.mass * (body.J.T @ body.gamma)
        if motion.system.bodies[body.name].rotation is not None:
            M = M + body.J_omega.T @ body.inertia @ body.J_omega
            turning = body.inertia @ body.gamma_omega + ca.cross(body.omega, body.inertia @ body.omega)
            f = f - body.J_omega.T @ turning
    return M, ca.densify(f)


def kinematic_steps(motion: Motion) -> list[Step]:
    """Velocities of the bodies and how they depend on the speeds."""
    terms = []
    for body in motion.bodies:
        terms.append((f"v_{{\\mathrm{{{body.name}}}}}", body.velocity))
        if motion.system.bodies[body.name].rotation is not None:
            terms.append((f"\\omega_{{\\mathrm{{{body.name}}}}}", body.omega))
    return [
        Step("Velocities", "Velocities of the mass centres in world axes, angular velocities in body axes.",
             "\\dot{r} = J v + \\dots, \\qquad \\omega = J_{\\omega} v + \\dots", tuple(terms)),
        Step("Generalized forces", "Applied forces along the speeds.",
             "Q = \\sum J^{T} F + \\sum J_{\\omega}^{T} \\tau", (("Q", motion.force),)),
    ]  # fmt: skip
