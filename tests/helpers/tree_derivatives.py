"""Derivatives of the dynamics of trees by other ways: differentiation of the recursions, and steps along the speeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion, State
from dalembert.mechanics.tree.link_tree import TREE_FUNCTIONS, LinkTree

Array = Any


def differentiate_expressions(eqs: EquationsOfMotion, name: str, state: State, x: Array) -> list[Array]:
    """Of "inverse_dynamics" or "forward_dynamics" by ξ (dq = N dξ), v and x, by CasADi."""
    tree = eqs.tree
    assert isinstance(tree, LinkTree)
    names = TREE_FUNCTIONS[name].arguments.split()
    symbols = [tree.symbols[part] for part in names]
    value = tree.function(name)(*symbols)
    parts = [ca.jacobian(value, tree.q) @ tree.N, ca.jacobian(value, tree.v), ca.jacobian(value, symbols[2])]
    function = ca.Function("derivatives", symbols, [ca.densify(part) for part in parts])
    return [np.array(part) for part in function.call([state.q, state.v, x, eqs.p, state.t])]


def step_along(eqs: EquationsOfMotion, q: Array, speed: int, size: float) -> Array:
    """q after a unit of one speed for a time `size`: Euler parameters turn in the axes of their owner."""
    moved = np.array(q, dtype=float)
    unit = np.eye(eqs.nv)[speed]
    rate = eqs.kernel("kinematics")(q, eqs.p, 0.0)[0] @ unit
    moved += size * rate
    for block in eqs.quaternions:
        turn = size * unit[list(block.columns)]
        angle = np.linalg.norm(turn)
        if angle:
            w, (x, y, z) = np.cos(angle / 2), np.sin(angle / 2) * turn / angle
            a, b, c, d = q[block.part]
            moved[block.part] = [a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y,
                                 a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w]  # fmt: skip
    return moved


WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # of differences at so many steps: exact for polynomials of degree 6


def differences(function: Callable[[float], Array], step: float) -> Array:
    """Derivative at zero; the rest is step⁶/140 of the seventh derivative."""
    return (
        sum(w * (np.asarray(function(k * step)) - np.asarray(function(-k * step))) for k, w in WEIGHTS.items()) / step
    )
