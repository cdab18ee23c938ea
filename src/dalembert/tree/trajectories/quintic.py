"""Motions of piecewise polynomials of degree five through way-points.

Between two way-points the polynomial has given values, rates and accelerations at both ends; from rest to rest it is
q₀ + (q₁ - q₀) (10 τ³ - 15 τ⁴ + 6 τ⁵) (Craig 2005, 7.3). A coordinate passes a way-point with the weighted harmonic mean
of the slopes before and after it, and at rest where they differ in sign: no value between is beyond the way-points
(Fritsch and Butland 1984). An orientation passes with the mean of both angular velocities.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, require_name
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.record import Record
from dalembert.solve.position.orientations import to_rates, turn_along
from dalembert.tree.trajectories.waypoints import Waypoints, read_waypoints, sample_grid, waypoint_times


def quintic(
    eqs: EquationsOfMotion,
    points: Any,
    times: Any = None,
    *,
    rates: Mapping[str, Any] | None = None,
    accelerations: Mapping[str, Any] | None = None,
    every: float | None = None,
) -> Record:
    """A smooth motion through way-points: continuous accelerations, at rest at both ends.

    Parameters
    ----------
    points : coordinate -> its values at the way-points (``{"shoulder.angle": [0.0, 1.2]}``, one value for all where it
        does not move), also of position sensors, of ``hand.pose`` and ``hand.rotation``; a list of states; or a Record.
    times : duration [s], shared out by the largest change; or the time of every way-point. None: those of a Record.
    rates, accelerations : coordinate -> values at the way-points, in place of those of the method.
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
    >>> path = da.tree.quintic(da.equations(m, coordinates="joint"), {"shoulder": [0.0, 1.0]}, 2.0)
    >>> round(path.at(1.0)["shoulder.rate"], 9), path.names
    (0.9375, ('shoulder.angle', 'shoulder.rate', 'shoulder.acceleration'))
    """
    from scipy.interpolate import BPoly, PchipInterpolator

    way = read_waypoints(eqs, points)
    knots = waypoint_times(way, times)
    slopes = PchipInterpolator(knots, way.values)(knots, 1) if way.columns else np.zeros_like(way.values)
    slopes[[0, -1]] = 0.0
    slopes = _read_given(way, rates, "rates", slopes)
    second = _read_given(way, accelerations, "accelerations", np.zeros_like(slopes))
    grid = sample_grid(float(knots[0]), float(knots[-1]), every)

    def evaluate(values: Array, first: Array, last: Array) -> list[Array]:
        curve = BPoly.from_derivatives(knots, np.stack((values, first, last), axis=1))
        return [np.asarray(curve.derivative(k)(grid) if k else curve(grid)) for k in range(3)]

    moved = evaluate(way.values, slopes, second) if way.columns else [np.zeros((len(grid), 0))] * 3
    turned = []
    omega = np.zeros((len(way), len(way.owners), 3))
    spins = way.turns / np.diff(knots)[:, None, None]
    omega[1:-1] = (spins[1:] + spins[:-1]) / 2
    for k in range(len(way.owners)):
        p = way.quaternions[:, k]
        first = to_rates(p, omega[:, k])
        turned.append(turn_along(*evaluate(p, first, to_rates(first, omega[:, k]))))
    parts = [np.stack(x, axis=1) for x in zip(*turned, strict=True)] if turned else []
    return way.record(grid, moved, parts, "quintic")


def _read_given(way: Waypoints, given: Mapping[str, Any] | None, what: str, default: Array) -> Array:
    """Values at the way-points that the user gives, in place of those of the method."""
    found = default.copy()
    for name, value in (given or {}).items():
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
