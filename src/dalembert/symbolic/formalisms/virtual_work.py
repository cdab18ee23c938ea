"""Virtual work with D'Alembert's inertia forces (Lanczos 1970, ch. 4).

Σ (F - m r̈) · δr + Σ (τ - I ω̇ - ω × I ω) · δθ = 0   for all  δr = J δq ,  δθ = J_ω δq  with  A δq = 0
M = Σ m Jᵀ J + J_ωᵀ I J_ω ,   f = Q - Σ m Jᵀ γ - J_ωᵀ (I γ_ω + ω × I ω)
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import HOLONOMIC
from dalembert.symbolic.derivation import Derivation, Step
from dalembert.symbolic.formalisms.lagrange import constraint_step
from dalembert.symbolic.motion import SystemMotion, in_rates, vanishes, with_rows
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


def inertia_and_forces(motion: SystemMotion) -> tuple[Any, Any]:
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


def kinematic_steps(motion: SystemMotion) -> list[Step]:
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


def require_bodies(system: System, formalism: str) -> None:
    """Refuse a system that gives its inertia as an energy, where bodies are needed."""
    if system.kinetic:
        name = next(iter(system.kinetic))
        raise ModelError(
            "not-supported", f"{formalism} needs bodies; {name!r} of system {system.name!r} is a kinetic energy.",
            Advice("Use {}.", Call("da.symbolic.lagrange"), Call("da.symbolic.boltzmann_hamel")),
            where={"energy": name},
        )  # fmt: skip
    _refuse_moving_axes(system, formalism)


def _refuse_moving_axes(
    system: System,
    formalism: str,
    moving: float = 1e-7,  # difference of a given velocity from the rate of the place; poses are closed to 1e-12
    rank: float = 1e-9,
) -> None:
    """Given velocities must be ṙ in world axes and ω of Rᵀ Ṙ, on motions that fulfil the rows, at random points."""
    bodies = [body for body in system.bodies.values() if body.given]
    if not bodies:
        return
    motion = in_rates(system)
    gaps, sizes = [], []
    for body in bodies:
        gap, size = motion.velocity(body.velocity) - motion.rate(body.position), motion.velocity(body.velocity)
        if body.rotation is not None:
            turning = body.rotation.T @ motion.rate(body.rotation)
            omega = motion.velocity(body.omega)
            gap = ca.vertcat(gap, omega - ca.vertcat(turning[2, 1], turning[0, 2], turning[1, 0]))
            size = ca.vertcat(size, omega)
        gaps.append(gap)
        sizes.append(ca.repmat(ca.norm_1(size), gap.shape[0], 1))
    rows, gap = motion.rates_of_rows, ca.vertcat(*gaps)
    C, G = ca.jacobian(rows, motion.v), ca.jacobian(gap, motion.v)
    if ca.depends_on(C, motion.v):
        return  # rows that are not affine: no motion that fulfils them is known
    closed = ca.vertcat(SX(0, 1), *(entry.expression for entry in motion.ordered if entry.level == HOLONOMIC))
    for place, slope, residual, change, value, size in motion.sample([closed, C, rows, G, gap, ca.vertcat(*sizes)], 2):
        if not vanishes(place) or not all(np.isfinite(entry).all() for entry in (slope, value, change)):
            continue
        back = np.linalg.lstsq(slope, residual, rcond=rank)[0] if len(residual) else np.zeros((motion.nv, 1))
        wrong = np.flatnonzero(np.abs(value - change @ back) > moving * (1.0 + size))
        if len(wrong):
            ends = np.cumsum([entry.shape[0] for entry in gaps])
            name = bodies[int(np.searchsorted(ends, wrong[0], side="right"))].name
            raise ModelError(
                "conflicting-arguments", f"the velocity given for body {name!r} of system {system.name!r} is not the "
                f"rate of its position in world axes, or its ω not that of its orientation in body axes; {formalism} "
                "needs both (checked at random points).",
                Advice("Use {}.", Call("da.symbolic.lagrange"), Call("da.symbolic.boltzmann_hamel")),
                where={"body": name},
            )  # fmt: skip
