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
    side_a, side_b = host.attach(a), host.attach(b)
    at_b = side_b.position
    E = side_a.pose.R @ host.frame_axes(a)
    d = E.T @ (at_b - side_a.position)
    # the point of body a that is at b's origin now: the force acts there on both bodies
    slide = E.T @ (side_b.velocity - side_a.velocity_of(at_b))
    k, c = host.vector(bushing.stiffness), host.vector(bushing.damping)
    kr, cr = host.vector(bushing.rotational_stiffness), host.vector(bushing.rotational_damping)
    if space.planar:
        theta = side_b.pose.angle - side_a.pose.angle + host.number(b.angle) - host.number(a.angle)
        torque, spin, axes = -kr * theta, side_b.twist.w - side_a.twist.w, SX(1)
    else:
        sides = ((side_a, a), (side_b, b))
        p_a, p_b = (multiply(side.euler_parameters, quaternion_from_matrix(f.axes)) for side, f in sides)
        theta, T = logarithm_and_rate(multiply(conjugate(p_a), p_b))
        torque, axes = -(T.T @ (kr * theta)), E
        spin = E.T @ (side_b.angular_velocity() - side_a.angular_velocity())
    builder.potential = builder.potential + 0.5 * ca.dot(k, d * d) + 0.5 * ca.dot(kr, theta * theta)
    for pull, turn, has in ((-k * d, torque, True), (-c * slide, -cr * spin, False)):
        builder.push(b, E @ pull, has_potential=has)
        builder.push(a, -(E @ pull), at=at_b, has_potential=has)
        builder.turn(b, axes @ turn, has_potential=has)
        builder.turn(a, -(axes @ turn), has_potential=has)


FORCE_EQUATIONS.register("bushing", ForceEquations(act))
