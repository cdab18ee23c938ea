"""Rotations, Euler parameters, Tait-Bryan angles, twists and wrenches.

Euler parameters p = (e0, e1, e2, e3), scalar first, |p| = 1 (spec 000-27; 002-A16 has the scalar last).
R maps body components to world components, Ṙ = R skew(ω) with ω in body axes, ṗ = ½ G(p) ω.
All functions take CasADi expressions or NumPy arrays shaped as columns.
"""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def skew(a: Any) -> Any:
    """Matrix with skew(a) b = a × b."""
    return ca.vertcat(
        ca.horzcat(0, -a[2], a[1]),
        ca.horzcat(a[2], 0, -a[0]),
        ca.horzcat(-a[1], a[0], 0),
    )


def rotation(p: Any) -> Any:
    """Rotation matrix of unit Euler parameters (spec 000-27, A = E Ēᵀ)."""
    w, x, y, z = p[0], p[1], p[2], p[3]
    return ca.vertcat(
        ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def rate_matrix(p: Any) -> Any:
    """½ G(p)ᵀ: ṗ = rate_matrix(p) ω, ω in body axes (4x3)."""
    w, x, y, z = p[0], p[1], p[2], p[3]
    return 0.5 * ca.vertcat(
        ca.horzcat(-x, -y, -z),
        ca.horzcat(w, -z, y),
        ca.horzcat(z, w, -x),
        ca.horzcat(-y, x, w),
    )


def rodrigues(axis: Any, angle: Any) -> Any:
    """Rotation by an angle about a unit axis (spec 000-26)."""
    s = skew(axis)
    return ca.DM.eye(3) + ca.sin(angle) * s + 2 * ca.sin(angle / 2) ** 2 * (s @ s)


def multiply(p: Any, r: Any) -> Any:
    """Quaternion product: rotation(multiply(p, r)) = rotation(p) rotation(r)."""
    return ca.vertcat(
        p[0] * r[0] - p[1] * r[1] - p[2] * r[2] - p[3] * r[3],
        p[0] * r[1] + p[1] * r[0] + p[2] * r[3] - p[3] * r[2],
        p[0] * r[2] - p[1] * r[3] + p[2] * r[0] + p[3] * r[1],
        p[0] * r[3] + p[1] * r[2] - p[2] * r[1] + p[3] * r[0],
    )


def conjugate(p: Any) -> Any:
    """Euler parameters of the inverse rotation."""
    return ca.vertcat(p[0], -p[1:4])


def exponential(turn: Any) -> Any:
    """Euler parameters of a rotation vector (smooth through zero)."""
    square = turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]
    half = ca.sqrt(square + 1e-300) / 2
    small = square < 1e-8
    # sin(x/2)/x by its series where the quotient loses digits
    factor = ca.if_else(small, 0.5 - square / 48, ca.sin(half) / (2 * half))
    scalar = ca.if_else(small, 1 - square / 8 + square * square / 384, ca.cos(half))
    return ca.vertcat(scalar, factor * turn[0], factor * turn[1], factor * turn[2])


HALVINGS = 3
# asin(s)/s = Σ c_k s²ᵏ with c_k = (2k)! / (4ᵏ k!² (2k + 1)); s² ≤ sin²(π/16) = 0.038: what is left out is below 1e-18
ARCSINE = tuple(math.comb(2 * k, k) / (4**k * (2 * k + 1)) for k in range(12))


def logarithm(p: Any) -> Any:
    """Rotation vector θ of unit Euler parameters, |θ| ≤ π; smooth, with all derivatives, for |θ| < π.

    With p = (cos h, n sin h) and h = |θ|/2 the half angle is halved three more times by square roots that never vanish,
    sin²(h/2) = sin² h / (2 (1 + cos h)), and the arc sine of what is left is a short series in sin²: no quotient 0/0 at
    θ = 0, no branch. p and -p are the same rotation: the one with a scalar part ≥ 0 is taken, so θ jumps to -θ at π.
    """
    p = ca.if_else(p[0] < 0, -1, 1) * p
    cosine = p[0]
    square = p[1] * p[1] + p[2] * p[2] + p[3] * p[3]
    product = 1.0
    for _ in range(HALVINGS):
        square = square / (2 * (1 + cosine))
        cosine = ca.sqrt((1 + cosine) / 2)
        product = product * cosine
    series = ARCSINE[-1]
    for c in reversed(ARCSINE[:-1]):
        series = c + square * series
    return 2 * (series / product) * p[1:4]


def logarithm_and_rate(p: Any) -> tuple[Any, Any]:
    """θ = logarithm(p) and T with θ̇ = T w, where Ṙ = skew(w) R: ṗ = ½ (0, w) p."""
    own = ca.SX.sym("p", 4)
    theta = logarithm(own)
    rate = 0.5 * ca.vertcat(-own[1:4].T, own[0] * ca.SX.eye(3) - skew(own[1:4]))
    return tuple(ca.Function("logarithm", [own], [theta, ca.jacobian(theta, own) @ rate])(p))


def quaternion_from_matrix(matrix: Any) -> Array:
    """Euler parameters of a numeric rotation matrix, scalar part not negative."""
    m = np.asarray(matrix, dtype=float)
    candidates = np.array(
        [
            1 + m[0, 0] + m[1, 1] + m[2, 2],
            1 + m[0, 0] - m[1, 1] - m[2, 2],
            1 - m[0, 0] + m[1, 1] - m[2, 2],
            1 - m[0, 0] - m[1, 1] + m[2, 2],
        ]
    )
    k = int(np.argmax(candidates))
    root = 2 * np.sqrt(candidates[k])
    d = (m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])
    s = (m[1, 0] + m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2])
    rows = (
        (root / 4, d[0] / root, d[1] / root, d[2] / root),
        (d[0] / root, root / 4, s[0] / root, s[1] / root),
        (d[1] / root, s[0] / root, root / 4, s[2] / root),
        (d[2] / root, s[1] / root, s[2] / root, root / 4),
    )
    p = np.array(rows[k])
    p /= np.linalg.norm(p)
    return p if p[0] >= 0 else -p


def tait_bryan(phi: Any, theta: Any, psi: Any) -> Any:
    """R = Rz(psi) Ry(theta) Rx(phi): yaw, pitch, roll (spec 003-C37)."""
    cf, sf, ct, st, cy, sy = ca.cos(phi), ca.sin(phi), ca.cos(theta), ca.sin(theta), ca.cos(psi), ca.sin(psi)
    return ca.vertcat(
        ca.horzcat(cy * ct, cy * st * sf - sy * cf, cy * st * cf + sy * sf),
        ca.horzcat(sy * ct, sy * st * sf + cy * cf, sy * st * cf - cy * sf),
        ca.horzcat(-st, ct * sf, ct * cf),
    )


def tait_bryan_rates(phi: Any, theta: Any) -> Any:
    """W with ω_body = W (phi', theta', psi') (spec 003-C37); singular at theta = ±90°."""
    cf, sf, ct, st = ca.cos(phi), ca.sin(phi), ca.cos(theta), ca.sin(theta)
    return ca.vertcat(ca.horzcat(1, 0, -st), ca.horzcat(0, cf, sf * ct), ca.horzcat(0, -sf, cf * ct))


def motion_transform(R: Any, r: Any) -> Any:
    """Change of frame of a twist (ω, v): X = [R, 0; r× R, R] (spec 002-B2)."""
    return ca.vertcat(ca.horzcat(R, ca.DM.zeros(3, 3)), ca.horzcat(skew(r) @ R, R))


def force_transform(R: Any, r: Any) -> Any:
    """Change of frame of a wrench (τ, f): X* = [R, r× R; 0, R] with X*ᵀ X = 1 (spec 002-B2)."""
    return ca.vertcat(ca.horzcat(R, skew(r) @ R), ca.horzcat(ca.DM.zeros(3, 3), R))


def spatial_inertia(mass: Any, center: Any, inertia: Any) -> Any:
    """6x6 inertia at the frame's origin, for twists (ω, v): I_B = X* diag(I*, m 1) X (spec 002-B2, trap 10)."""
    c = skew(center)
    top = ca.horzcat(inertia - mass * (c @ c), mass * c)
    return ca.vertcat(top, ca.horzcat(-mass * c, mass * ca.DM.eye(3)))


def force_cross(twist: Any) -> Any:
    """v×* = [ω×, v×; 0, ω×]: I v̇ + (v×*) I v = f (spec 002-B2, eq. 3.43)."""
    w, v = skew(twist[0:3]), skew(twist[3:6])
    return ca.vertcat(ca.horzcat(w, v), ca.horzcat(ca.DM.zeros(3, 3), w))
