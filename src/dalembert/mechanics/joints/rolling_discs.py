"""Disc on a disc: d·d = (r_a ± r_b)², and the rims have the same velocity along their tangent.

The sign is minus where the second disc rolls inside the ring of the first.
"""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, Sides


def _reaches(s: Sides) -> tuple[Expr, Expr]:
    """Distances from the contact to both centres; that of a disc inside a ring is negative."""
    radius, second_radius, inside = s.numbers[0], s.numbers[1], s.numbers[2]
    return radius, (1 - 2 * inside) * second_radius


def rows(s: Sides) -> list[Expr]:
    reach_a, reach_b = _reaches(s)
    reach = reach_a + reach_b
    return [(ca.dot(s.d, s.d) - reach**2) / (2 * reach)]


def slip(s: Sides) -> list[Expr]:
    normal = s.d / ca.sqrt(ca.dot(s.d, s.d))
    side = ca.vertcat(-normal[1], normal[0])
    reach_a, reach_b = _reaches(s)
    far = ca.sign(reach_a + reach_b)  # negative where the second is the ring: it is met beyond the first's centre
    va = s.twist_a.v + s.space.turn_velocity(s.a, s.twist_a.w, s.place_a)
    vb = s.twist_b.v + s.space.turn_velocity(s.b, s.twist_b.w, s.place_b)
    return [ca.dot(side, vb - va) - far * (reach_b * s.twist_b.w + reach_a * s.twist_a.w)]


JOINT_EQUATIONS.register("rolling discs", JointEquations(rows, slip))
