"""The motion of the joints along a path of places.

From a pose at the first sample every further one is the nearest pose that reaches its sample (`pose_search`), within
the limits of the joints and no farther from the pose before than their speeds allow. Freedoms beyond the path follow
the preferred posture with a time constant, so that the motion stays smooth. Where a path cannot be followed to its end
from one pose, others that reach its first sample are tried: elbow up, elbow down, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arguments import positive_number, whole_number
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.record import Record
from dalembert.solve.position.orientations import align_signs, turn_along
from dalembert.solve.position.prescribed_motion import spline
from dalembert.tree.places import Goal, read_path
from dalembert.tree.reach.inverse_kinematics import (
    OutOfReachError,
    active_limits,
    first_poses,
    nearest_pose,
    open_loops,
    out_of_reach,
    read_weights,
    remaining_gaps,
)
from dalembert.tree.reach.pose_search import PoseSearch, SearchPoint
from dalembert.tree.reach.posture import Objective, approach, descend, read_objective
from dalembert.tree.reach.ranges import Ranges, initial_state, read_ranges
from dalembert.tree.trajectories.waypoints import Waypoints, make_column


def follow_path(
    eqs: EquationsOfMotion,
    path: Record,
    *,
    places: str | Sequence[str] | None = None,
    start: State | None = None,
    weights: Mapping[str, Any] | None = None,
    prefer: State | Mapping[str, float] | str | None = None,
    limits: bool | Mapping[str, Any] = True,
    speed: bool | float | Mapping[str, float] = True,
    restarts: int = 20,
    seed: int = 0,
    tolerance: float = 1e-6,
    nearest: bool = False,
) -> Record:
    """Joint coordinates along a path of positions or poses: continuous, within limits of coordinates and speeds.

    Parameters
    ----------
    path : record with channels of places, such as ``hand.x``, ``hand.y``, ``hand.z`` and ``hand.e0`` to ``hand.e3``;
        `da.tree.trapezoid` and its like make one of way-points.
    places : those to follow; None: all in the record.
    start : the pose to begin near to; None: as drawn.
    weights, prefer, limits : as for `da.tree.inverse_kinematics`.
    speed : whether joints keep to the limits of their speeds; or a speed for all, or by coordinate [rad/s, m/s].
    restarts : how many random poses may be tried for other solutions at the first sample, drawn with `seed`.
    tolerance : largest gap from the path [m, rad], a micrometre by default. A larger one allows lower speeds
        through singular poses.
    nearest : continue as near as possible where the path is out of reach, instead of an error.

    Returns
    -------
    Record with position, rate and acceleration of every coordinate; rates are derivatives of splines through the
    positions. ``statistics``: largest gaps from the path [m] and [rad], number of first poses tried.

    Raises
    ------
    OutOfReachError : with the time, the gap, the limits that are active, and in ``record`` the motion up to there.
    """
    require_equations(eqs)
    if not isinstance(path, Record):
        raise ModelError(
            "wrong-type", f"a path is a Record, got {type(path).__name__}.",
            Advice("Make one with {}.", Call("da.tree.spline")),
            Advice("Of one pose use {}.", Call("da.tree.inverse_kinematics")),
        )  # fmt: skip
    tasks, goals = read_path(eqs, path, places)
    begin = initial_state(eqs, start)
    moving = tuple(name for name in eqs.measures.names if name in eqs.coordinates.index)
    ranges = read_ranges(eqs, limits, also=moving)
    search = PoseSearch(eqs, tasks, read_weights(tasks, weights), ranges, begin.t)
    objective = read_objective(eqs, prefer, tasks, ranges, begin)
    follower = _PathFollower(
        search, path.time, goals, _speeds(eqs, search, speed), objective, positive_number("tolerance", tolerance)
    )
    count = whole_number("restarts", restarts)
    tried: list[Array] = []
    failure: OutOfReachError | None = None
    firsts: Iterable[SearchPoint] = first_poses(search, begin, goals[0], count, seed)
    if nearest:
        firsts = [point for point in (nearest_pose(search, begin, goals[0], count, seed),) if point is not None]
    for first in firsts:
        point = search.search(first, goals[0], one_of_many=True)
        if not nearest and not follower.is_followed(point):
            failure = failure or follower.failure(search.search(point, goals[0]), 0, [], ranges)
            continue
        if objective is not None and search.is_reached(point):
            point = descend(search, point, goals[0], objective)
        if any(is_same_pose(point.q, q) for q in tried):
            continue
        tried.append(point.q)
        found = follower.follow(point, nearest)
        if isinstance(found, OutOfReachError):
            failure = found if failure is None or follower.length(found) > follower.length(failure) else failure
            continue
        gaps = [remaining for one in found for remaining in one[1]]
        return _joint_record(
            eqs, path.time, np.array([q for q, _ in found]), "follow path",
            **{
                "largest gap": max(gap for _, gap, _ in gaps), "largest angle": max(angle for _, _, angle in gaps),
                "first poses": len(tried),
            },
        )  # fmt: skip
    raise open_loops(eqs) if failure is None else failure


def is_same_pose(a: Array, b: Array, different: float = 0.1) -> bool:
    """Whether two initial poses [m or rad] lead to the same motion."""
    return bool(np.abs(a - b).max() < different)


Sample = tuple[Array, list[tuple[str, float, float]]]  # coordinates, and the remaining gaps


@dataclass(frozen=True)
class _PathFollower:
    """One way along a path from a first pose."""

    search: PoseSearch
    time: Array
    goals: Sequence[tuple[Goal, ...]]
    speeds: Array
    objective: Objective | None
    tolerance: float

    def is_followed(self, point: SearchPoint) -> bool:
        return point.gap <= self.tolerance

    def follow(
        self, point: SearchPoint, nearest: bool, jump: float = 0.5, lag: float = 0.2
    ) -> list[Sample] | OutOfReachError:
        # jump: Largest change between samples where no speed is limited [m or rad]: two solutions of a wrist differ by
        # more, and a path that needs more between two samples has too few of them.
        # lag: Time constant [s] with which a preferred posture is followed. The speed towards a limit is at most the
        # distance over this constant (the velocity damper of Faverjon and Tournassoud 1987).
        search, whole = self.search, self.search.ranges
        samples: list[Sample] = [(point.q, self._gaps(point, 0))]
        try:
            for k in range(1, len(self.time)):
                step = float(self.time[k] - self.time[k - 1])
                room = np.where(np.isfinite(self.speeds), self.speeds * step, jump)
                search.ranges = whole.meet(point.c - room, point.c + room)
                point = search.search(point, self.goals[k])
                if self.objective is not None and search.is_reached(point):
                    point = self._approach_posture(point, k, whole, min(1.0, step / lag))
                if not nearest and not self.is_followed(point):
                    return self.failure(point, k, samples, whole)
                samples.append((point.q, self._gaps(point, k)))
        finally:
            search.ranges = whole
        return samples

    def _approach_posture(self, point: SearchPoint, k: int, whole: Ranges, share: float) -> SearchPoint:
        """A share of the way to the preferred posture, within limits of speed, and at most this share to a limit."""
        assert self.objective is not None
        ranges = self.search.ranges
        below, above = (share * np.maximum(way, 0.0) for way in (point.c - whole.low, whole.high - point.c))
        self.search.ranges = ranges.meet(point.c - below, point.c + above)
        found = approach(self.search, point, self.goals[k], self.objective, share)
        self.search.ranges = ranges
        return found

    def _gaps(self, point: SearchPoint, k: int) -> list[tuple[str, float, float]]:
        self.search.goals = self.goals[k]
        return remaining_gaps(self.search, point)

    def failure(self, point: SearchPoint, k: int, samples: list[Sample], whole: Ranges) -> OutOfReachError:
        """The error of a sample that is not reached; `whole` are the ranges without limits of speed."""
        search, eqs, t = self.search, self.search.eqs, float(self.time[k])
        plain = out_of_reach(search, point, self.goals[k], eqs.state(point.q, t=search.t))
        place, gap = plain.where["place"], plain.finding.evidence
        at_all = active_limits(search.ranges, point)
        limits = active_limits(whole, point)
        active = {name: limits.get(name, "speed") for name in at_all}
        shown = ", ".join(f"{name!r} ({word})" for name, word in active.items()) or "none"
        advice = [
            Advice("Begin at another pose with {}.", Argument("start")),
            Advice("Allow a larger {}.", Argument("tolerance")),
        ]
        if "speed" in active.values():
            slower = Advice("Go slower or sample the path more finely; {} finds a timing.", Call("da.tree.scale_time"))
            advice.insert(0, slower)
        error = OutOfReachError(
            "out-of-reach", f"{place!r} of {eqs.name!r} leaves its path at t = {t:.6g} s by {gap['distance']:.3g} m "
            f"and {gap['angle']:.3g} rad; limits that are active: {shown}.", *advice,
            where={"place": place, "time": t}, evidence={**gap, "active": active},
        )  # fmt: skip
        error.state = plain.state
        if samples:
            error.record = _joint_record(eqs, self.time[:k], np.array([q for q, _ in samples]), "follow path")
        return error

    def length(self, failure: OutOfReachError) -> int:
        return 0 if failure.record is None else len(failure.record)


def _speeds(eqs: EquationsOfMotion, search: PoseSearch, speed: Any) -> Array:
    """Largest speed of every limited measure, infinite where there is none."""
    names = search.ranges.names
    own = [eqs.limits[name].speed if name in eqs.limits else None for name in names]
    speeds = np.array([np.inf if x is None or speed is False else x for x in own])
    if isinstance(speed, Mapping):
        for name, value in speed.items():
            full = eqs.full_name(name)
            require_name("coordinate", full, names, f"equations {eqs.name!r}", error=ModelError, argument="speed")
            speeds[names.index(full)] = positive_number(f"speed of {name!r}", value)
    elif not isinstance(speed, bool):
        speeds = np.minimum(speeds, positive_number("speed", speed))
    return speeds


def _joint_record(eqs: EquationsOfMotion, time: Array, q: Array, method: str, **statistics: Any) -> Record:
    """Record of coordinates (n, nq) at times, with rates and accelerations; orientations with ω and ω̇."""
    inner = {k for block in eqs.quaternions for k in range(block.part.start, block.part.stop)}
    places = [k for k, name in enumerate(eqs.coordinates.names) if k not in inner and name not in eqs.unrecorded]
    p = np.stack([align_signs(q[:, block.part]) for block in eqs.quaternions] or [np.zeros((len(time), 4))], axis=1)
    p = p[:, : len(eqs.quaternions)]

    def curves(values: Array) -> list[Array]:
        curve = spline(time, values)
        return [values, *(np.asarray(curve.derivative(k)(time)) if curve.k >= k else 0 * values for k in (1, 2))]

    columns = tuple(make_column(eqs, eqs.coordinates.names[k]) for k in places)
    turned = [turn_along(*curves(p[:, k])) for k in range(len(eqs.quaternions))]
    way = Waypoints(eqs, columns, q[:, places], tuple(block.owner for block in eqs.quaternions), p)
    parts = [np.stack(x, axis=1) for x in zip(*turned, strict=True)] if turned else []
    return way.record(time, curves(q[:, places]), parts, method, **statistics)
