"""An elastic joint: springs along and about the axes of frame a, acting at the origin of frame b.

V = ½ Σ k d² + ½ Σ k_r θ² with d = Eᵀ (r_b - r_a) and θ the rotation vector of Eᵀ G (E, G: axes of a and b). Its rate
for a relative angular velocity w in the axes of a, θ̇ = T(θ) w, gives the torque -Tᵀ (k_r θ).
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.mechanics.rotations import conjugate, logarithm_and_rate, multiply
from dalembert.model.forces.bushing import Bushing
from dalembert.model.orientation import quaternion_from_matrix

SX = ca.SX


def act(builder: ForceBuilder, bushing: Bushing) -> None:
    host, space = builder.host, builder.space
    a: Any = bushing.a
    b: Any = bushing.b
    arm_b, at_b, v_b = builder.point(b)
    pose_a, twist_a = host.body_state(a.body)
    pose_b, twist_b = host.body_state(b.body)
    E = pose_a.R @ host.frame_axes(a)
    origin = pose_a.r + pose_a.R @ host.place(a)
    # the point of body a that is at b's origin now: the force acts there on both bodies
    here = pose_a.R.T @ (at_b - pose_a.r)
    d = E.T @ (at_b - origin)
    slide = E.T @ (v_b - twist_a.v - space.turn_velocity(pose_a, twist_a.w, here))
    k, c = host.vector(bushing.stiffness), host.vector(bushing.damping)
    kr, cr = host.vector(bushing.rotational_stiffness), host.vector(bushing.rotational_damping)
    if space.planar:
        theta = pose_b.angle - pose_a.angle + host.number(b.angle) - host.number(a.angle)
        torque, spin, axes = -kr * theta, twist_b.w - twist_a.w, SX(1)
    else:
        p_a, p_b = (multiply(host.euler_parameters(f.body), quaternion_from_matrix(f.axes)) for f in (a, b))
        theta, T = logarithm_and_rate(multiply(conjugate(p_a), p_b))
        torque, spin, axes = -(T.T @ (kr * theta)), E.T @ (pose_b.R @ twist_b.w - pose_a.R @ twist_a.w), E
    builder.potential = builder.potential + 0.5 * ca.dot(k, d * d) + 0.5 * ca.dot(kr, theta * theta)
    for pull, turn, has in ((-k * d, torque, True), (-c * slide, -cr * spin, False)):
        builder.push(b.body, arm_b, E @ pull, has_potential=has)
        builder.push(a.body, at_b - pose_a.r, -(E @ pull), has_potential=has)
        builder.turn(b.body, axes @ turn, has_potential=has)
        builder.turn(a.body, -(axes @ turn), has_potential=has)


FORCE_EQUATIONS.register("bushing", ForceEquations(act))
