"""Motions by splines through way-points, of degree three or five (de Boor 2001).

A spline of degree k has k - 1 continuous derivatives. Its two (degree five: four) free conditions are rest at both
ends, natural ends (higher derivatives vanish) or equal derivatives at both ends of a closed motion.
Orientations: the spline of the four Euler parameters, scaled to unit length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.core.arguments import one_of
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.record import Record
from dalembert.solve.position.orientations import turn_along
from dalembert.tree.trajectories.waypoints import read_waypoints, sample_grid, waypoint_times

ENDS = ("rest", "natural", "periodic")


def spline(
    eqs: EquationsOfMotion,
    points: Any,
    times: Any = None,
    *,
    degree: int = 5,
    ends: str = "rest",
    every: float | None = None,
) -> Record:
    """A motion without stops through way-points.

    Parameters
    ----------
    points, times, every : as for `da.tree.quintic`.
    degree : 3, continuous accelerations; or 5, which begins and ends without a jerk too.
    ends : "rest", "natural" (speeds at the ends with the least curvature) or "periodic" (the last way-point is
        the first, passed with the same speed and acceleration).

    Returns
    -------
    Record with position, rate and acceleration of every coordinate. A spline may overshoot its way-points:
    `da.tree.check_limits` finds whether it leaves the limits of joints.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("shoulder", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> path = da.tree.spline(da.equations(m, coordinates="joint"), {"shoulder": [0.0, 1.0, 0.0]}, 2.0)
    >>> round(path.at(1.0)["shoulder.angle"], 6)
    1.0
    """
    from scipy.interpolate import make_interp_spline

    if degree not in (3, 5):
        raise DataError("unknown-choice", f"degree must be 3 or 5, got {degree!r}.", where={"argument": "degree"})
    one_of("ends", ends, ENDS)
    way = read_waypoints(eqs, points)
    knots = waypoint_times(way, times)
    grid = sample_grid(float(knots[0]), float(knots[-1]), every)
    values = np.hstack((way.values, way.quaternions.reshape(len(way), -1)))
    if ends == "periodic":
        _require_closed(values, [*way.labels[: len(way.columns)], *(f"{o}.e{i}" for o in way.owners for i in range(4))])
        values[-1] = values[0]
    zero = np.zeros(values.shape[1])
    orders = {"rest": (1, 2), "natural": (2,) if degree == 3 else (3, 4)}.get(ends, ())[: (degree - 1) // 2]
    condition = [(order, zero) for order in orders]
    free = "periodic" if ends == "periodic" else (condition, condition)
    if len(way) < 3 and ends != "rest":
        raise DataError(
            "empty", f"a spline with {ends} ends needs three way-points, got {len(way)}.",
            Advice("Use {}.", Argument("ends", "rest")),
        )  # fmt: skip
    if ends == "periodic" and len(way) <= degree:
        raise DataError(
            "empty", f"a periodic spline of degree {degree} needs {degree + 1} way-points, got {len(way)}.",
            Advice("Use {}.", Argument("degree", 3)),
        )  # fmt: skip
    curve = make_interp_spline(knots, values, k=degree, bc_type=free)
    parts = [np.asarray(curve.derivative(k)(grid) if k else curve(grid)) for k in range(3)]
    count = len(way.columns)
    each = [turn_along(*(x[:, count + 4 * k : count + 4 * k + 4] for x in parts)) for k in range(len(way.owners))]
    turned = [np.stack(x, axis=1) for x in zip(*each, strict=True)] if each else []
    return way.record(grid, [x[:, :count] for x in parts], turned, f"spline of degree {degree}")


def _require_closed(values: Any, names: list[str], closed: float = 1e-9) -> None:
    # closed: rad or m over 1 + the value: first and last way-point of a periodic motion are one.
    gaps = np.abs(values[-1] - values[0])
    worst = int(np.argmax(gaps))
    if gaps[worst] > closed * (1 + abs(values[0, worst])):
        raise DataError(
            "conflicting-arguments",
            f"a periodic motion ends where it begins, but {names[worst]!r} differs by {gaps[worst]:.3g}.",
            where={"coordinate": names[worst]}, evidence={"gap": float(gaps[worst])},
        )  # fmt: skip
