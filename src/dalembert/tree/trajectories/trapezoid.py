"""Motions with trapezoidal speed from way-point to way-point, all coordinates together.

Along a straight way of length one in the space of the joints, the speed of s(t) rises with the constant acceleration A,
stays at V and falls again: V = min vᵢ/|Δᵢ|, A = min aᵢ/|Δᵢ| over all coordinates, so that one of them is at its limit
and all begin and end together. The time is 1/V + V/A, or 2 √(1/A) where V is not reached (Craig 2005, 7.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.core.arguments import positive_number
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.model.orientation import exponential, product
from dalembert.record import Record
from dalembert.tree.trajectories.waypoints import Waypoints, read_waypoints, sample_grid


def _is_short(stretch: float, rounding: float = 1e-12) -> bool:
    """Whether a duration is below the least one by more than the rounding of sums of a thousand pieces."""
    return stretch < 1 - rounding


def trapezoid(
    eqs: EquationsOfMotion,
    points: Any,
    *,
    speed: float | Mapping[str, float] | None = None,
    acceleration: float | Mapping[str, float] | None = None,
    until: float | None = None,
    every: float | None = None,
) -> Record:
    """The fastest motion with limited speed and acceleration that stops at every way-point.

    Parameters
    ----------
    points : as for `da.tree.quintic`.
    speed : largest speed of every coordinate, or coordinate -> speed [rad/s, m/s]; orientations are addressed as
        ``hand.rotation``. None: the limits of the joints.
    acceleration : largest acceleration, in the same way.
    until : end of the motion [s], not before the earliest one, which None takes; a later one is slower throughout.
    every : largest interval between samples [s]; None: 200 intervals.

    Returns
    -------
    Record with position, rate and acceleration of every coordinate; ``statistics["times"]`` are those of the
    way-points. Way-points that repeat take no time; a motion without any change is one sample.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("shoulder", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> eqs = da.equations(m, coordinates="joint")
    >>> path = da.tree.trapezoid(eqs, {"shoulder": [0.0, 1.0]}, speed=0.5, acceleration=1.0)
    >>> round(path.statistics["duration"], 9)
    2.5
    """
    way = read_waypoints(eqs, points)
    fastest = _limit(way, speed, "speed")
    strongest = _limit(way, acceleration, "acceleration")
    steps = way.steps
    ways = np.flatnonzero(steps.max(axis=1, initial=0.0) > 0)  # those with a length
    if not ways.size:
        still = [np.zeros((1, len(way.columns)))] * 2
        stays = [np.zeros((1, len(way.owners), 3))] * 2
        ends = [0.0] * len(way)
        parts = [way.quaternions[:1], *stays] if way.owners else []
        return way.record(np.zeros(1), [way.values[:1], *still], parts, "trapezoid", times=ends, least=0.0)
    V, A = _bounds(way, steps[ways], fastest), _bounds(way, steps[ways], strongest)
    _require_acceleration(way, steps[ways], A)
    rise = np.minimum(V / A, 1 / np.sqrt(A))
    lengths = 1 / (A * rise) + rise
    least = float(lengths.sum())
    stretch = 1.0 if until is None else positive_number("until", until) / least
    if _is_short(stretch):
        raise DataError(
            "out-of-range",
            f"the motion takes {least:.6g} s at least within its limits, asked for {until:g} s.",
            Advice("Allow more {}, or a later end.", Argument("speed"), Argument("acceleration")),
            evidence={"least": least},
        )
    knots = np.concatenate(([0.0], np.cumsum(lengths))) * stretch
    grid = sample_grid(0.0, float(knots[-1]), every)
    at = np.clip(np.searchsorted(knots, grid, side="right") - 1, 0, len(ways) - 1)
    s, ds, dds = _share((grid - knots[at]) / stretch, rise[at], A[at])
    ds, dds, place = ds / stretch, dds / stretch**2, ways[at]
    change = np.diff(way.values, axis=0)[place]
    moved = [way.values[place] + s * change, ds * change, dds * change]
    turned = []
    for k in range(len(way.owners)):
        turn, p = way.turns[place, k], way.quaternions[place, k]
        now = np.column_stack(product(tuple(p.T), exponential(tuple((s * turn).T))))
        turned.append((now, ds * turn, dds * turn))
    parts = [np.stack(x, axis=1) for x in zip(*turned, strict=True)] if turned else []
    passed = np.concatenate(([0.0], np.cumsum(np.bincount(ways, lengths, len(way) - 1)))) * stretch
    return way.record(grid, moved, parts, "trapezoid", times=passed.tolist(), least=least)


def _share(t: Array, rise: Array, A: Array) -> tuple[Array, Array, Array]:
    """s, ṡ, s̈ (n, 1) of a way of length one; at an end of a phase the acceleration is that of the phase after it."""
    peak = A * rise
    length = 1 / peak + rise
    t = np.clip(t, 0.0, length)
    rest = length - t
    up, down = t < rise, rest <= rise
    s = np.where(up, A * t**2 / 2, np.where(down, 1 - A * rest**2 / 2, A * rise**2 / 2 + peak * (t - rise)))
    ds = np.where(up, A * t, np.where(down, A * rest, peak))
    return s[:, None], ds[:, None], np.where(up, A, np.where(down, -A, 0.0))[:, None]


def _bounds(way: Waypoints, steps: Array, limit: Array) -> Array:
    """Bound of ṡ or s̈ on every way: the smallest over all coordinates."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(steps > 0, limit / np.where(steps > 0, steps, 1.0), np.inf).min(axis=1))


def _limit(way: Waypoints, given: Any, what: str) -> Array:
    """Bound of every coordinate and orientation; infinite where nothing bounds it."""
    labels = way.labels
    if given is None:
        limits = way.eqs.limits if what == "speed" else {}
        own = [limits[name].speed if name in limits else None for name in labels]
        return np.array([np.inf if x is None else x for x in own])
    if not isinstance(given, Mapping):
        return np.full(len(labels), positive_number(what, given))
    found = np.full(len(labels), np.inf) if what == "acceleration" else _limit(way, None, what)
    for name, value in given.items():
        full = way.eqs.full_name(name)
        require_name("coordinate", full, labels, "these way-points", argument=what)
        found[labels.index(full)] = positive_number(f"{what} of {name!r}", value)
    return found


def _require_acceleration(way: Waypoints, steps: Array, A: Array) -> None:
    if not np.isfinite(A).all():
        name = way.labels[int(np.argmax(steps[int(np.argmax(A))]))]
        raise DataError(
            "missing-argument",
            f"nothing limits the acceleration of {name!r}; joints have no limits of acceleration.",
            Advice("Give {}, for all or by name.", Argument("acceleration", 5.0)),
            Advice("{} takes accelerations from limits of efforts.", Call("da.tree.scale_time")),
            where={"coordinate": name},
        )  # fmt: skip
