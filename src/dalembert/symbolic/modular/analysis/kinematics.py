"""Inverse kinematics of modular models: a motion of all variables from prescribed coordinates.

    at one instant:   φ(q) = 0 by Newton's method, then the constraints of first and second order, linear in q̇ and q̈
    over time:        φ̈ + 2 b₁ b₂ φ̇ + b₂² φ = 0 ,   ċ + b₃ c = 0            (Baumgarte 1972; Orsino 2016, example 4.5)

Rows may be redundant where they hold: every solution is one of least squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ConvergenceError, ModelError, unknown_name
from dalembert.expressions import Array
from dalembert.symbolic.modular.algebra.elimination import LIMITS, rank_of
from dalembert.symbolic.modular.model import ModularModel
from dalembert.symbolic.modular.parts import TIME

ITERATIONS, CLOSED = 50, 1e-12
LONGEST = 0.5
"""Longest step of Newton's method in coordinates [m, rad]."""


def solve_motion(
    model: ModularModel, prescribed: Mapping[str, Sequence[float]], guess: Mapping[str, float], *, t: float = 0.0
) -> dict[str, float]:
    """All coordinates, velocities and accelerations of a motion at one instant.

    prescribed : value, rate and second rate of coordinates, as many as there are freedoms
    guess : values of the other coordinates to start from, and of parameters
    """
    motion = model.motion
    labels = motion.labels(0)
    for name in prescribed:
        _require_coordinate(model, name)
    values = {**guess, **{name: float(given[0]) for name, given in prescribed.items()}}
    point = motion.point(values, 2, t)
    free = [k for k, label in enumerate(labels) if label not in prescribed]
    for order in range(3):
        column = point[order]
        unknown = free if order == 0 else list(range(len(column)))
        for _ in range(ITERATIONS):
            r, J = _rows(model, order, point)
            if order > 0:  # rates of the prescribed coordinates are rows of their own
                more, slopes = _prescribed_rows(model, order, prescribed, point)
                r, J = np.concatenate([r, more]), np.vstack([J, slopes])
            if np.abs(r).max(initial=0.0) < CLOSED * max(1.0, float(np.abs(column).max(initial=0.0))):
                break
            if order > 0 and rank_of(J) < len(column):
                raise ModelError(
                    "free-to-move", f"{len(column) - rank_of(J)} freedoms of {model.root.name!r} are not prescribed.",
                    evidence={"freedoms": len(column) - rank_of(J)},
                )  # fmt: skip
            change = np.linalg.lstsq(J[:, unknown], -r, rcond=LIMITS.step)[0]
            limit = LONGEST if order == 0 else np.inf
            column[unknown] += change * min(1.0, limit / max(float(np.linalg.norm(change)), 1e-300))
        else:
            names = [one.name for one in motion.invariants if one.order <= order]
            worst = int(np.argmax(np.abs(r)))
            row = names[worst] if worst < len(names) else "a prescribed coordinate"
            raise ConvergenceError(
                "no-convergence", f"the motion of {model.root.name!r} does not satisfy {row!r} (order {order}, "
                f"residual {np.abs(r).max():.3g}).", where={"row": row, "order": order},
            )  # fmt: skip
    return model.state_values(point)


def _require_coordinate(model: ModularModel, name: str) -> None:
    if name not in model.motion.labels(0):
        raise ModelError("unknown-name", unknown_name("coordinate", name, model.motion.labels(0), model.root.name))


def _function(model: ModularModel, key: object, make: Any) -> ca.Function:
    if key not in model.functions:
        model.functions[key] = model.motion.function(make(), 2)
    return model.functions[key]


def _rows(model: ModularModel, order: int, point: list[Array]) -> tuple[Array, Array]:
    def make() -> list[Any]:
        stack = ca.vertcat(ca.SX(0, 1), *(one.expression for one in model.motion.invariants_of(order)))
        return [stack, ca.jacobian(stack, model.motion.symbols(order))]

    r, J = _function(model, ("kinematic rows", order), make)(*point)
    return np.array(r).ravel(), np.array(J).reshape(-1, len(point[order]))


def _prescribed_rows(
    model: ModularModel, order: int, prescribed: Mapping[str, Sequence[float]], point: list[Array]
) -> tuple[Array, Array]:
    motion = model.motion
    names = tuple(prescribed)

    def make() -> list[Any]:
        q = [motion.symbols(0)[motion.labels(0).index(name)] for name in names]
        stack = ca.vertcat(ca.SX(0, 1), *(motion.differentiate(one, order) for one in q))
        return [stack, ca.jacobian(stack, motion.symbols(order))]

    r, J = _function(model, ("prescribed rows", order, names), make)(*point)
    wanted = np.array([float(prescribed[name][order]) for name in names])
    return np.array(r).ravel() - wanted, np.array(J).reshape(-1, len(point[order]))


def stabilized_rates(
    model: ModularModel,
    prescribed: Mapping[str, Any] | None = None,
    gains: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> ca.Function:
    """Inverse kinematics as a differential equation: (t, coordinates, velocities, p) -> their rates.

    Constraints of position level follow φ̈ + 2 b₁ b₂ φ̇ + b₂² φ = 0, those of velocity level ċ + b₃ c = 0 (Baumgarte
    1972), so that residuals of the initial state and of the integration decay.

    prescribed : coordinates as expressions of time (`TIME`); as many as there are freedoms
    """
    motion = model.motion
    b1, b2, b3 = gains
    a = motion.symbols(2)
    rows: list[Any] = []
    for one in motion.invariants:
        if one.order == 0:
            rate, second = motion.differentiate(one.expression), motion.differentiate(one.expression, 2)
            rows.append(second + 2 * b1 * b2 * rate + b2**2 * one.expression)
        elif one.order == 1:
            rows.append(motion.differentiate(one.expression) + b3 * one.expression)
        else:
            rows.append(one.expression)
    for name, value in (prescribed or {}).items():
        labels = motion.labels(0)
        if name not in labels:
            raise ModelError("unknown-name", unknown_name("coordinate", name, labels, model.root.name))
        gap = motion.symbols(0)[labels.index(name)] - ca.SX(value)
        rate, second = motion.differentiate(gap), motion.differentiate(gap, 2)
        rows.append(second + 2 * b1 * b2 * rate + b2**2 * gap)
    stack = ca.vertcat(*rows)
    J = ca.jacobian(stack, a)
    numbers = model.points.evaluate(J, 1)
    rank = max(rank_of(one) for one in numbers)
    if rank < a.numel():
        raise ModelError(
            "free-to-move", f"{a.numel() - rank} freedoms of {model.root.name!r} are not prescribed.",
            evidence={"freedoms": a.numel() - rank},
        )  # fmt: skip
    right = -ca.substitute(stack, a, ca.DM.zeros(a.numel()))
    # rows may be redundant where they hold: least squares, by the normal equations of rows of similar size
    solved = ca.solve(J.T @ J, J.T @ right)
    rates = ca.vertcat(ca.SX(0, 1), *(motion.rate_of(entry.symbol) for entry in motion.variables(0)))
    p = ca.vertcat(ca.SX(0, 1), *(one.symbol for one in motion.parameters.values()))
    return ca.Function("stabilized", [TIME, motion.symbols(0), motion.symbols(1), p], [rates, solved], {"cse": True})
