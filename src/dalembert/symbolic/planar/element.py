"""The planar body with nodes.

Nodes p_k, spin ω, angle θ and the places s_k of the nodes beside the first, in axes of the body:

    p_k - p_1 - R(θ) s_k = 0 ,      v_k - v_1 - ω ẑ × (p_k - p_1) = 0        k = 2 ... K

With two nodes i and j and two numbers a₁, a₂ the centre of mass is at

    r = p_i + a₁ (p_j - p_i) + a₂ ẑ × (p_j - p_i) ,   ṙ = (1 - a₁) v_i + a₁ v_j + a₂ ẑ × (v_j - v_i)

and T = ½ m ṙ² + ½ I ω²: the mass matrix is constant (Orsino 2016, eq. 5.24 to 5.26).
"""

from __future__ import annotations

import casadi as ca

from dalembert.expressions import Expr

SX = ca.SX


def turn(vector: Expr) -> Expr:
    """ẑ × vector, both (2,)."""
    return ca.vertcat(-vector[1], vector[0])


def rotate(angle: Expr, place: Expr) -> Expr:
    """R(θ) s: axes of the body to axes of the world, (2,)."""
    return ca.vertcat(
        ca.cos(angle) * place[0] - ca.sin(angle) * place[1], ca.sin(angle) * place[0] + ca.cos(angle) * place[1]
    )


def locate_center(node_i: Expr, node_j: Expr, a1: Expr | float, a2: Expr | float) -> Expr:
    """Centre of mass from the places (2,) of nodes i and j, or its velocity from theirs."""
    between = node_j - node_i
    return node_i + a1 * between + a2 * turn(between)


def to_body_axes(places: list[Expr], length: Expr | None) -> tuple[Expr, list[Expr]]:
    """Drawn angle and places s_k (s_1 = 0) in body axes, whose first axis goes from node 1 to node 2.

    places : of the nodes as drawn, (2,) each.  length : of a bar that the drawing does not decide.
    """
    along = places[1] - places[0]
    angle = ca.atan2(along[1], along[0])
    if length is not None:
        return angle, [SX.zeros(2), ca.vertcat(length, 0)]
    size = ca.sqrt(ca.dot(along, along))
    first = along / size
    second = turn(first)
    arms = [place - places[0] for place in places]
    return angle, [
        SX.zeros(2),
        ca.vertcat(size, 0),
        *(ca.vertcat(ca.dot(first, x), ca.dot(second, x)) for x in arms[2:]),
    ]
