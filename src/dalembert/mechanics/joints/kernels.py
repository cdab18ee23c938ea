"""Constraint rows and coordinates of every joint kind, as one small function per kind.

With frames a and b of a joint: d = (point b) - (point a) in world axes, e_k and g_k the world axes of the frames.
  spherical   d = 0                          revolute  d = 0, e₁·g₃ = e₂·g₃ = 0
  fixed       revolute and e₁·g₂ = 0         cylindrical  e₁·d = e₂·d = 0, e₁·g₃ = e₂·g₃ = 0
  prismatic   cylindrical and e₁·g₂ = 0      universal  d = 0, e₃·g₃ = 0
  planar      e₃·d = 0, e₁·g₃ = e₂·g₃ = 0    rod  (d·d - L²)/2L = 0 (so that its multiplier is the rod's force)
  screw       cylindrical, and the angle wrapped: (lead/2π) angle(2π e₃·d/lead - angle) = 0, right over many turns
Rolling kinds add velocity rows: the material point of the body at the contact does not move along the plane.
(The rows 'dot-1' and coincidence of Haug 1989.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca

from dalembert.mechanics.poses import Pose, Space, Twist

SX = ca.SX


@dataclass(frozen=True)
class JointSides:
    """Symbols of a joint kernel: poses and twists of its bodies, its places on them, its numbers."""

    a: Pose
    b: Pose
    ta: Twist
    tb: Twist
    la: Any
    lb: Any
    Ja: Any
    Jb: Any
    numbers: Any


def _axes(space: Space, s: JointSides) -> tuple[Any, Any, Any]:
    d = s.b.r + s.b.R @ s.lb - s.a.r - s.a.R @ s.la
    return d, s.a.R @ s.Ja, s.b.R @ s.Jb


def _relative_angle(space: Space, s: JointSides, E: Any, G: Any) -> Any:
    if space.planar:
        # Ja, Jb carry the frames' own angles as rotations; the difference of body angles keeps many turns apart
        own = ca.atan2(s.Jb[1, 0], s.Jb[0, 0]) - ca.atan2(s.Ja[1, 0], s.Ja[0, 0])
        return s.b.angle - s.a.angle + own
    return ca.atan2(ca.dot(E[:, 1], G[:, 0]), ca.dot(E[:, 0], G[:, 0]))


def wrapped(angle_from_lead: Any, sine: Any, cosine: Any) -> Any:
    """The angle α - θ brought into (-π, π], from α and sine, cosine of θ."""
    ca_, sa = ca.cos(angle_from_lead), ca.sin(angle_from_lead)
    return ca.atan2(sa * cosine - ca_ * sine, ca_ * cosine + sa * sine)


def _holonomic(space: Space, kind: str, s: JointSides) -> Any:
    d, E, G = _axes(space, s)
    if kind == "massless rod":
        length = s.numbers[0]
        return (ca.dot(d, d) - length**2) / (2 * length)
    if space.planar:
        return _planar_rows(space, kind, s, d, E, G)
    square = [ca.dot(E[:, 0], G[:, 2]), ca.dot(E[:, 1], G[:, 2])]
    across = [ca.dot(E[:, 0], d), ca.dot(E[:, 1], d)]
    twist = [ca.dot(E[:, 0], G[:, 1])]
    rows: list[Any]
    if kind == "spherical":
        rows = [d]
    elif kind == "revolute":
        rows = [d, *square]
    elif kind == "fixed":
        rows = [d, *square, *twist]
    elif kind == "cylindrical":
        rows = [*across, *square]
    elif kind == "prismatic":
        rows = [*across, *square, *twist]
    elif kind == "universal":
        rows = [d, ca.dot(E[:, 2], G[:, 2])]
    elif kind == "planar":
        rows = [ca.dot(E[:, 2], d), *square]
    elif kind == "screw":
        lead = s.numbers[0]
        turn = wrapped(2 * ca.pi * ca.dot(E[:, 2], d) / lead, ca.dot(E[:, 1], G[:, 0]), ca.dot(E[:, 0], G[:, 0]))
        rows = [*across, *square, lead / (2 * ca.pi) * turn]
    elif kind == "point on line":
        rows = across
    elif kind == "point on plane":
        rows = [ca.dot(E[:, 2], d)]
    elif kind == "wheel on plane":
        # height of the centre above the plane = radius times the sine of the angle between axle and normal
        lean = ca.dot(E[:, 2], G[:, 2])
        rows = [ca.dot(E[:, 2], d) - s.numbers[0] * ca.sqrt(1 - lean**2)]
    elif kind == "sphere on plane":
        rows = [ca.dot(E[:, 2], d) - s.numbers[0]]
    else:
        raise NotImplementedError(kind)
    return ca.vertcat(*rows)


def _nearest_turn(angle: Any) -> Any:
    """An angle without its whole turns: a weld or slide is as closed at 2π as at zero. Its derivative is one."""
    return angle - 2 * ca.pi * ca.floor(angle / (2 * ca.pi) + 0.5)


def _planar_rows(space: Space, kind: str, s: JointSides, d: Any, E: Any, G: Any) -> Any:
    if kind == "revolute":
        return d
    if kind == "fixed":
        return ca.vertcat(d, _nearest_turn(_relative_angle(space, s, E, G)))
    if kind == "prismatic":
        return ca.vertcat(ca.dot(E[:, 1], d), _nearest_turn(_relative_angle(space, s, E, G)))
    if kind == "point on line":
        return ca.dot(E[:, 1], d)
    if kind == "wheel on plane":
        return ca.dot(E[:, 1], d) - s.numbers[0]
    if kind == "disc on disc":
        reach = s.numbers[0] + s.numbers[2] * s.numbers[1]
        return (ca.dot(d, d) - reach**2) / (2 * reach)
    raise NotImplementedError(kind)


def _velocity_rows(space: Space, kind: str, s: JointSides) -> Any:
    """Slip velocity of the contact point, for rolling kinds; empty otherwise."""
    if kind not in ("wheel on plane", "sphere on plane", "disc on disc"):
        return SX.zeros(0, 1)
    d, E, G = _axes(space, s)
    center = s.b.r + s.b.R @ s.lb
    if kind == "disc on disc":
        normal = d / ca.sqrt(ca.dot(d, d))
        side = ca.vertcat(-normal[1], normal[0])
        reach_a, reach_b = s.numbers[0], s.numbers[2] * s.numbers[1]
        far = ca.sign(reach_a + reach_b)  # negative where the second is the ring: it is met beyond the first's centre
        va = s.ta.v + space.turn_velocity(s.a, s.ta.w, s.la)
        vb = s.tb.v + space.turn_velocity(s.b, s.tb.w, s.lb)
        return ca.dot(side, vb - va) - far * (reach_b * s.tb.w + reach_a * s.ta.w)
    normal = E[:, 1] if space.planar else E[:, 2]
    if kind == "wheel on plane" and not space.planar:
        axle = G[:, 2]
        lean = ca.dot(normal, axle)
        down = -(normal - lean * axle) / ca.sqrt(1 - lean**2)
    else:
        down = -normal
    contact = center + s.numbers[0] * down

    def material(pose: Pose, twist: Twist) -> Any:
        local = pose.R.T @ (contact - pose.r)
        return twist.v + space.turn_velocity(pose, twist.w, local)

    slip = material(s.b, s.tb) - material(s.a, s.ta)
    tangents = [E[:, 0]] if space.planar else [E[:, 0], E[:, 1]]
    return ca.vertcat(*[ca.dot(e, slip) for e in tangents])


def _coordinates(space: Space, kind: str, s: JointSides) -> Any:
    d, E, G = _axes(space, s)
    if space.planar:
        table = {
            "revolute": lambda: [_relative_angle(space, s, E, G)],
            "prismatic": lambda: [ca.dot(E[:, 0], d)],
            "point on line": lambda: [ca.dot(E[:, 0], d)],
        }
    else:
        table = {
            "revolute": lambda: [_relative_angle(space, s, E, G)],
            "prismatic": lambda: [ca.dot(E[:, 2], d)],
            "cylindrical": lambda: [ca.dot(E[:, 2], d), _relative_angle(space, s, E, G)],
            "screw": lambda: [_relative_angle(space, s, E, G), ca.dot(E[:, 2], d)],
            "point on line": lambda: [ca.dot(E[:, 2], d)],
            "planar": lambda: [ca.dot(E[:, 0], d), ca.dot(E[:, 1], d), _relative_angle(space, s, E, G)],
            "universal": lambda: [
                # the arm g₃ of the cross turns about e₃ from e₁; the second body turns about g₃, from g₂ along e₃
                ca.atan2(ca.dot(E[:, 1], G[:, 2]), ca.dot(E[:, 0], G[:, 2])),
                ca.atan2(ca.dot(G[:, 0], E[:, 2]), ca.dot(G[:, 1], E[:, 2])),
            ],
        }
    return ca.vertcat(*table[kind]()) if kind in table else SX.zeros(0, 1)


NUMBERS = {"massless rod": 1, "screw": 1, "wheel on plane": 1, "sphere on plane": 1, "disc on disc": 3}


@lru_cache(maxsize=64)
def joint_kernel(planar: bool, kind: str) -> ca.Function:
    """Rows, their gradients and bias, and the coordinates of a joint kind.

    Inputs: r_a, R_a, angle_a, v_a, w_a, the same of b, l_a, J_a, l_b, J_b, numbers.
    Outputs: phi, rates (velocity of phi, then slip rows), A_a, A_b, bias (d/dt(A v) at v̇ = 0), s, ṡ, S_a, S_b, s bias.
    """
    space = Space(planar)
    a, b = space.pose_symbols("a"), space.pose_symbols("b")
    ta, tb = space.twist_symbols("a"), space.twist_symbols("b")
    dim = space.dim
    la, lb = SX.sym("la", dim), SX.sym("lb", dim)
    Ja, Jb = SX.sym("Ja", dim, dim), SX.sym("Jb", dim, dim)
    numbers = SX.sym("numbers", NUMBERS.get(kind, 0))
    s = JointSides(a, b, ta, tb, la, lb, Ja, Jb, numbers)
    moving = [(a, ta), (b, tb)]
    phi = _holonomic(space, kind, s)
    slip = _velocity_rows(space, kind, s)
    value = _coordinates(space, kind, s)

    def by_speeds(expression: Any, twist: Twist) -> Any:
        return ca.jacobian(expression, ca.vertcat(twist.v, twist.w))

    gradient = [ca.vertcat(space.gradient(phi, p), by_speeds(slip, t)) for p, t in moving]
    rates = ca.vertcat(space.along(phi, moving), slip)
    bias = space.along(rates, moving)
    s_gradient = [space.gradient(value, p) for p, _ in moving]
    s_rate = space.along(value, moving)
    s_bias = space.along(s_rate, moving)
    inputs = [a.r, a.R, a.angle, ta.v, ta.w, b.r, b.R, b.angle, tb.v, tb.w, la, Ja, lb, Jb, numbers]
    outputs = [phi, rates, *gradient, bias, value, s_rate, *s_gradient, s_bias]
    return ca.Function("joint", inputs, outputs)
