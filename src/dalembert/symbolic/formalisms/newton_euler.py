"""The equations of Newton and Euler: force and moment balance of every body, with the reactions as unknowns.

    m r̈ = F + R ,   I ω̇ + ω × I ω = τ + R_τ ,     r̈ = J v̇ + γ ,   ω̇ = J_ω v̇ + γ_ω ,     A v̇ = b

The reactions R do no work on motions that the coordinates and rows allow, (J S)ᵀ R = 0 with A S = 0. With a basis C of
such reactions the balances are a linear system in v̇ and the coefficients of C; its projection on J gives M and f.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arrays import AnyArray as Array
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.symbolic.derivation import Derivation, Step, Values, count_independent, least_squares
from dalembert.symbolic.formalisms.lagrange import constraint_step
from dalembert.symbolic.formalisms.virtual_work import inertia_and_forces, kinematic_steps, require_bodies
from dalembert.symbolic.motion import SystemMotion, in_rates
from dalembert.symbolic.system import System

SX = ca.SX


def newton_euler(system: System) -> Derivation:
    """Force and moment balances of all bodies, their reactions eliminated; every force must act on a body."""
    require_bodies(system, "the Newton-Euler method")
    _require_forces_on_bodies(system)
    motion = in_rates(system)
    M, f = inertia_and_forces(motion)
    mass, J, gamma, applied = balances(motion)
    steps = [
        *kinematic_steps(motion),
        Step("Balances", "Force and moment balance of every body, with the reactions R.",
             "m\\,\\ddot{r} = F + R, \\qquad I \\dot{\\omega} + \\omega \\times I \\omega = \\tau + R_{\\tau}",
             (("F", applied),)),
        *([constraint_step(motion)] if motion.constraints else []),
        Step("Reactions", "Reactions do no work on motions that the coordinates and rows allow.",
             "(J S)^{T} R = 0, \\qquad A S = 0"),
    ]  # fmt: skip
    extra = {"mass": mass, "J": J, "gamma": gamma, "applied": applied}
    return Derivation("the Newton-Euler equations", motion, M, f, tuple(steps), extra, solve_balances)


def balances(motion: SystemMotion) -> tuple[Any, Any, Any, Any]:
    """Masses (k, k), J (k, nv), γ (k,) and applied forces with gyroscopic ones (k,) of all bodies, stacked."""
    s = motion.system
    g = ca.vertcat(*s.gravity)
    mass, J, gamma, applied = [], [], [], []
    for body in motion.bodies:
        body_parts = s.bodies[body.name]
        force, torque = body.mass * g, SX(3, 1)
        for one in s.forces.values():
            if one.body == body.name:
                vector = motion.velocity(one.vector)
                force = force + vector
                if body_parts.rotation is not None:
                    torque = torque + body_parts.rotation.T @ ca.cross(one.place - body_parts.position, vector)
        for load in s.torques.values():
            if load.body == body.name:
                torque = torque + motion.velocity(load.vector)
            if load.other == body.name:
                torque = torque - body_parts.rotation.T @ s.bodies[load.body].rotation @ motion.velocity(load.vector)
        mass.append(body.mass * SX.eye(3))
        J.append(body.J)
        gamma.append(body.gamma)
        applied.append(force)
        if body_parts.rotation is not None:
            mass.append(body.inertia)
            J.append(body.J_omega)
            gamma.append(body.gamma_omega)
            applied.append(torque - ca.cross(body.omega, body.inertia @ body.omega))
    return ca.diagcat(*mass), ca.vertcat(*J), ca.vertcat(*gamma), ca.vertcat(*applied)


def solve_balances(values: Values) -> tuple[Array, Array]:
    """v̇ and λ from the balances of all bodies."""
    mass, J, gamma, applied, A, b = (values[name] for name in ("mass", "J", "gamma", "applied", "A", "b"))
    n = J.shape[1]
    allowed = _null_space(A) if len(b) else np.eye(n)
    C = _null_space((J @ allowed).T)
    scale = max(float(np.abs(mass).max()), 1e-300)
    top = np.hstack([mass @ J, -scale * C])
    K = np.vstack([top, np.hstack([scale * A, np.zeros((len(b), C.shape[1]))])])
    right = np.concatenate([applied - mass @ gamma, scale * b])
    x = least_squares(K, right)
    x += least_squares(K, right - K @ x)
    reactions = scale * C @ x[n:]
    lam = least_squares(A.T, J.T @ reactions) if len(b) else np.zeros(0)
    return x[:n], lam


def _null_space(A: Array) -> Array:
    return np.asarray(np.linalg.svd(A)[2][count_independent(A) :].T)


def _require_forces_on_bodies(system: System) -> None:
    loose = [("potential energy", name) for name in system.potential]
    loose += [("dissipation function", name) for name in system.dissipation]
    loose += [("generalized force", name) for name in system.generalized]
    loose += [("force", force.name) for force in system.forces.values() if not force.body]
    if loose:
        kind, name = loose[0]
        raise ModelError(
            "not-supported", f"{kind} {name!r} of system {system.name!r} acts on no body; force balances need one.",
            Advice("Use {}.", Call("da.symbolic.virtual_work"), Call("da.symbolic.lagrange_multipliers")),
            where={"force": name},
        )  # fmt: skip
