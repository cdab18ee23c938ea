"""Rotations and Euler parameters, as expressions.

Euler parameters p = (e0, e1, e2, e3), scalar first, |p| = 1 (Shabana 2005, ch. 2).
R maps body components to world components, Ṙ = R skew(ω) with ω in body axes, ṗ = ½ G(p) ω.
All functions take CasADi expressions or NumPy arrays shaped as columns.
"""

from __future__ import annotations

import math

import casadi as ca

from dalembert.expressions import Expr
from dalembert.model import orientation


def skew(a: Expr) -> Expr:
    """Matrix with skew(a) b = a × b."""
    return ca.reshape(ca.vertcat(0, a, -a)[[0, 3, 5, 6, 0, 1, 2, 4, 0]], 3, 3)


def rotation(p: Expr) -> Expr:
    """Rotation matrix of unit Euler parameters (A = E Ēᵀ)."""
    return ca.vertcat(*(ca.horzcat(*row) for row in orientation.entries(p)))


def rate_matrix(p: Expr) -> Expr:
    """½ G(p)ᵀ: ṗ = rate_matrix(p) ω, ω in body axes (4x3)."""
    w, x, y, z = p[0], p[1], p[2], p[3]
    return 0.5 * ca.vertcat(
        ca.horzcat(-x, -y, -z),
        ca.horzcat(w, -z, y),
        ca.horzcat(z, w, -x),
        ca.horzcat(-y, x, w),
    )


def multiply(p: Expr, r: Expr) -> Expr:
    """Quaternion product: rotation(multiply(p, r)) = rotation(p) rotation(r)."""
    return ca.vertcat(*orientation.product(p, r))


def conjugate(p: Expr) -> Expr:
    """Euler parameters of the inverse rotation."""
    return ca.vertcat(p[0], -p[1:4])


def exponential(turn: Expr) -> Expr:
    """Euler parameters of a rotation vector (smooth through zero)."""
    return ca.vertcat(*orientation.exponential(turn))


NO_TURN = 1e-32  # added to the square of an angle: its sine over it is one at zero, with derivatives


def turn_matrix(turn: Expr) -> Expr:
    """Rotation matrix of a rotation vector θ: 1 + sin a/a θ~ + ½ (sin ½a/½a)² θ~ θ~, a = |θ|."""
    half = 0.5 * ca.sqrt(ca.dot(turn, turn) + NO_TURN)
    share = ca.sin(half) / half
    turned = skew(turn)
    return ca.SX.eye(3) + share * ca.cos(half) * turned + 0.5 * share**2 * (turned @ turned)


def turn_rate(turn: Expr) -> Expr:
    """T with ω = T θ̇ in the turned axes: 1 - ½ (sin ½a/½a)² θ~ + (1 - sin a/a)/a² θ~ θ~."""
    square = ca.dot(turn, turn) + NO_TURN
    half = 0.5 * ca.sqrt(square)
    share = ca.sin(half) / half
    turned = skew(turn)
    return ca.SX.eye(3) - 0.5 * share**2 * turned + (1 - share * ca.cos(half)) / square * (turned @ turned)


HALVINGS = 3
# asin(s)/s = Σ c_k s²ᵏ with c_k = (2k)! / (4ᵏ k!² (2k + 1)); s² ≤ sin²(π/16) = 0.038: the rest is below 1e-18
ARCSINE = tuple(math.comb(2 * k, k) / (4**k * (2 * k + 1)) for k in range(12))


def logarithm(p: Expr) -> Expr:
    """Rotation vector θ of unit Euler parameters, |θ| ≤ π; smooth, with all derivatives, for |θ| < π.

    With p = (cos h, n sin h) and h = |θ|/2 the half angle is halved three more times by square roots that never vanish,
    sin²(h/2) = sin² h / (2 (1 + cos h)), and the arc sine of the rest is a short series in sin²: no quotient 0/0 at
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


def turn_between(target: Expr, p: Expr) -> Expr:
    """The turn from one orientation to another in body axes, to first order; zero for equal ones only."""
    gap = orientation.product([target[0], *(-target[k] for k in (1, 2, 3))], p)
    return 2 * ca.if_else(gap[0] < 0, -1.0, 1.0) * ca.vertcat(*gap[1:])


def logarithm_and_rate(p: Expr) -> tuple[Expr, Expr]:
    """θ = logarithm(p) and T with θ̇ = T w, where Ṙ = skew(w) R: ṗ = ½ (0, w) p."""
    own = ca.SX.sym("p", 4)
    theta = logarithm(own)
    rate = 0.5 * ca.vertcat(-own[1:4].T, own[0] * ca.SX.eye(3) - skew(own[1:4]))
    return tuple(ca.Function("logarithm", [own], [theta, ca.jacobian(theta, own) @ rate])(p))
