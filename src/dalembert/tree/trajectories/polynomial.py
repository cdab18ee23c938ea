"""Motions of piecewise polynomials of degree five, seven or nine through way-points.

Between two way-points the polynomial has given values and derivatives at both ends: rates and accelerations (degree
five), also jerks (seven), also snaps (nine). From rest to rest it is q₀ + (q₁ - q₀) s(τ),

    s = 10 τ³ - 15 τ⁴ + 6 τ⁵ ,   35 τ⁴ - 84 τ⁵ + 70 τ⁶ - 20 τ⁷ ,   126 τ⁵ - 420 τ⁶ + 540 τ⁷ - 315 τ⁸ + 70 τ⁹

(Craig 2005, 7.3). The jerk of degree five jumps where the motion begins and ends: a law that needs the snap takes
degree nine. A coordinate passes a way-point with the weighted harmonic mean of the slopes before and after it, and at
rest where they differ in sign: at degree five no value between is beyond the way-points (Fritsch and Butland 1984). An
orientation passes with the mean of both angular velocities.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Annotated, Any

import numpy as np

from dalembert.core.declare import ArgumentKind, Scope, anything, checked, mapping
from dalembert.core.errors import DataError, require_name
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.record import Record
from dalembert.solve.position.orientations import to_rates, turn_along
from dalembert.tree.trajectories.waypoints import Waypoints, read_waypoints, sample_grid, waypoint_times


def _read_degree(name: str, value: Any, scope: Scope) -> int:
    DataError.when(value not in (5, 7, 9), "unknown-choice", f"{name} must be 5, 7 or 9, got {value!r}.")
    return int(value)


Degree = Annotated[
    int, ArgumentKind("5, 7 or 9", _read_degree), "continuous accelerations at 5, also jerks at 7, also snaps at 9;"
]


def rest_to_rest(x: Any, degree: int = 5) -> Any:
    """s(x) from 0 at x = 0 to 1 at x = 1 with (degree - 1)/2 derivatives zero at both ends; x may be an expression."""
    n = (degree + 1) // 2
    value: Any = 0.0
    for k in reversed(range(n)):
        value = value * x + (-1) ** k * comb(n - 1 + k, k) * comb(degree, n - 1 - k)
    return x**n * value


@checked
def polynomial(
    eqs: EquationsOfMotion,
    points: Any,
    times: Any = None,
    *,
    degree: Degree = 5,
    rates: Mapping[str, Any] | None = None,
    every: float | None = None,
) -> Record:
    """A smooth motion through way-points, at rest at both ends.

    Parameters
    ----------
    points : coordinate -> its values at the way-points (``{"shoulder.angle": [0.0, 1.2]}``, one value for all where it
        does not move), also of position sensors, of ``hand.pose`` and ``hand.rotation``; a list of states; or a Record.
    times : duration [s], shared out by the largest change; or the time of every way-point. None: those of a Record.
    rates : coordinate -> values at the way-points, in place of those of the method.
    every : largest interval between samples [s]; None: 200 intervals.

    Returns
    -------
    Record with position, rate and acceleration of every coordinate: a motion for `da.inverse_dynamics`,
    `da.kinematics` and drivers.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("shoulder", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> path = da.tree.polynomial(da.equations(m, coordinates="joint"), {"shoulder": [0.0, 1.0]}, 2.0, degree=7)
    >>> round(path.at(1.0)["shoulder.rate"], 9), path.names
    (1.09375, ('shoulder.angle', 'shoulder.rate', 'shoulder.acceleration'))
    """
    from scipy.interpolate import BPoly, PchipInterpolator

    way = read_waypoints(eqs, points)
    knots = waypoint_times(way, times)
    slopes = PchipInterpolator(knots, way.values)(knots, 1) if way.columns else np.zeros_like(way.values)
    slopes[[0, -1]] = 0.0
    slopes = _read_given(way, rates, "rates", slopes)
    second = np.zeros_like(slopes)
    grid = sample_grid(float(knots[0]), float(knots[-1]), every)
    higher = (degree - 5) // 2

    def evaluate(*derivatives: Array) -> list[Array]:
        curve = BPoly.from_derivatives(knots, np.stack(derivatives, axis=1))
        return [np.asarray(curve.derivative(k)(grid) if k else curve(grid)) for k in range(3)]

    still = [np.zeros_like(slopes)] * higher
    moved = evaluate(way.values, slopes, second, *still) if way.columns else [np.zeros((len(grid), 0))] * 3
    turned = []
    omega = np.zeros((len(way), len(way.owners), 3))
    spins = way.turns / np.diff(knots)[:, None, None]
    omega[1:-1] = (spins[1:] + spins[:-1]) / 2
    for k in range(len(way.owners)):
        derivatives = [way.quaternions[:, k]]
        for _ in range(2 + higher):
            derivatives.append(to_rates(derivatives[-1], omega[:, k]))
        turned.append(turn_along(*evaluate(*derivatives)))
    parts = [np.stack(x, axis=1) for x in zip(*turned, strict=True)] if turned else []
    return way.record(grid, moved, parts, "quintic" if degree == 5 else f"polynomial of degree {degree}")


def quintic(
    eqs: EquationsOfMotion,
    points: Any,
    times: Any = None,
    *,
    rates: Mapping[str, Any] | None = None,
    every: float | None = None,
) -> Record:
    """`polynomial` of degree five: continuous accelerations, at rest at both ends.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("shoulder", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> path = da.tree.quintic(da.equations(m, coordinates="joint"), {"shoulder": [0.0, 1.0]}, 2.0)
    >>> round(path.at(1.0)["shoulder.rate"], 9)
    0.9375
    """
    return polynomial(eqs, points, times, rates=rates, every=every)


def _read_given(way: Waypoints, given: Mapping[str, Any] | None, what: str, default: Array) -> Array:
    """Values at the way-points that the user gives, in place of those of the method."""
    found = default.copy()
    for name, value in mapping("coordinate", anything)(what, given).items():
        full = way.eqs.full_name(name)
        require_name("coordinate", full, [column.names[0] for column in way.columns], "these way-points", argument=what)
        try:
            numbers = np.broadcast_to(np.array(value, dtype=float), (len(way),))
        except (TypeError, ValueError):
            raise DataError(
                "wrong-shape", f"{what} of {name!r} must be {len(way)} numbers, one per way-point; got {value!r:.80}.",
                where={"coordinate": name},
            ) from None  # fmt: skip
        if not np.isfinite(numbers).all():
            raise DataError("not-finite", f"{what} of {name!r} must be finite.", where={"coordinate": name})
        found[:, way.part(full)] = numbers
    return found
