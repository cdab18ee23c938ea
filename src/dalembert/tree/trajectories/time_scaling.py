"""The fastest timing of a motion within limits of speed, acceleration and effort, on an unchanged path.

    q(s) , v = w(s) ṡ , v̇ = w(s) s̈ + w'(s) ṡ² ,    τ = a(s) s̈ + b(s) ṡ² + d(s) ṡ + c(s)

where s is the length of the path in joint coordinates. The equations of motion at ṡ = 0 and ±1 give a = M w, b (from
w' and velocity forces), d (damping) and c (gravity). All but d ṡ is linear in u = s̈ and x = ṡ²; d √x is replaced by its
tangent at the previous timing, which converges in a few passes. `numerics.path_timing` finds the timing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.core.arguments import positive_number
from dalembert.core.errors import ConvergenceError, DataError, ModelError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion, require_equations
from dalembert.expressions import Array
from dalembert.numerics.path_timing import PathTiming, fastest_timing
from dalembert.record import Record
from dalembert.solve.motion.kinematics import kinematics
from dalembert.solve.position.limits import ROUNDING
from dalembert.solve.position.orientations import align_signs, turn_along
from dalembert.solve.position.prescribed_motion import spline
from dalembert.tree.efforts import required_efforts
from dalembert.tree.trajectories.waypoints import Waypoints, make_column, sample_grid

Bound = bool | float | Mapping[str, float] | None


def scale_time(
    eqs: EquationsOfMotion,
    motion: Record,
    *,
    speed: Bound = True,
    acceleration: Bound = None,
    effort: Bound = True,
    every: float | None = None,
) -> Record:
    """The same path in the shortest time that limits of speed, acceleration and effort allow, from rest to rest.

    Parameters
    ----------
    motion : record of joint coordinates, from `da.tree.follow_path`, `da.tree.spline` or a measurement; its times do
        not matter. Where it turns back, the motion stops.
    speed, effort : True, the limits of the joints; False, none; a number for all; or coordinate -> limit, besides those
        of the joints (of a ball each of its speeds, ``ball.wx``). Efforts are those along the coordinates, from any
        source; machines with loops have none.
    acceleration : a number for all, or coordinate -> limit; None: none.
    every : largest interval between samples [s]; None: 200 intervals.

    Returns
    -------
    Record with position, rate and acceleration of every coordinate, and ``<coordinate>.share``, the largest share of
    its limits that each uses; ``statistics``: duration, and the share of the time that each coordinate is at a limit.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("wheel", planar=True, gravity=0)
    >>> disc = m.add_body("disc", mass=1.0, inertia=0.5)
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0), disc.at(0, 0), limits={"effort": 2.0})
    >>> eqs = da.equations(m, coordinates="joint")
    >>> slow = da.tree.quintic(eqs, {"hinge": [0.0, 1.0]}, 10.0)
    >>> round(da.tree.scale_time(eqs, slow).statistics["duration"], 6)  # 2 sqrt(angle inertia / torque)
    1.0
    """
    require_equations(eqs)
    if not isinstance(motion, Record):
        raise ModelError("wrong-type", f"motion must be a Record, got {type(motion).__name__}.")
    path = _JointPath(eqs, motion)
    bounds = _Bounds.read(eqs, path, speed, acceleration, effort)
    if not path.pieces:
        return path.record(np.zeros(1), [(None, 0.0)], bounds)
    tight = 1.0
    for _ in range(6):
        timed = [piece.time(bounds, tight) for piece in path.pieces]
        ends = np.concatenate(([0.0], np.cumsum([t.times[-1] for t in timed])))
        record = path.record(sample_grid(0.0, float(ends[-1]), every), list(zip(timed, ends, strict=False)), bounds)
        excess = record.statistics["largest share"]
        if excess <= 1 + ROUNDING:
            break
        tight /= excess
    return record


def _is_active(share: Any, used: float = 0.99) -> Any:
    """Whether a share of a limit is at it: samples reach it between points of the grid to about a percent."""
    return share > used


# --- the path ---------------------------------------------------------------------------------------------------------


class _JointPath:
    """A path of all coordinates, cut where it turns back."""

    def __init__(
        self,
        eqs: EquationsOfMotion,
        motion: Record,
        intervals: int = 500,
        least: int = 20,
        same: float = 1e-9,
        reversal: float = 0.0,
    ) -> None:
        # intervals: Intervals of the grid, over all pieces of a path. Limits hold at both ends of an interval of
        # constant s̈: where they change along the path, the time is longer than the shortest by a share of about 1/n.
        # least: of one piece.
        # same: Samples of a record nearer than this share of the length are one place: rounding of the coordinates is
        # 1e-16.
        # reversal: Cosine between two chords below which the path turns back: there the motion stops. A smooth path has
        # chords within a few degrees of each other.
        self.eqs = eqs
        names = [eqs.counted_angles.get(n, n) for n in eqs.coordinates.names if n not in eqs.unrecorded]
        if not all(name in motion.names for name in names):
            motion = kinematics(eqs, motion=motion)
        inner = {k for block in eqs.quaternions for k in range(block.part.start, block.part.stop)}
        self.places = [k for k, n in enumerate(eqs.coordinates.names) if k not in inner and n not in eqs.unrecorded]
        self.names = [eqs.coordinates.names[k] for k in self.places]
        rates = [eqs.measure_rates.names[eqs.measures.index[n]] if n in eqs.measures.index else "" for n in self.names]
        if not all(rate in eqs.speeds.index for rate in rates):
            lost = self.names[[rate in eqs.speeds.index for rate in rates].index(False)]
            problem = f"the time of {lost!r} cannot be scaled: its rate is no speed of the equations."
            raise ModelError("not-supported", problem, where={"coordinate": lost})
        self.speeds = [eqs.speeds.index[rate] for rate in rates]
        values = np.asarray(motion[self.names], dtype=float).reshape(len(motion), -1)
        turned = [
            align_signs(np.asarray(motion[list(eqs.coordinates.names[b.part])], dtype=float)) for b in eqs.quaternions
        ]
        rows = np.hstack([values, *turned])
        if not np.isfinite(rows).all():
            raise DataError("gap-in-record", "the motion has gaps (coordinates that are not finite).")
        self.first = rows[:1]
        chords = np.linalg.norm(np.diff(rows, axis=0), axis=1)
        total = float(chords.sum())
        keep = np.concatenate(([True], chords > same * (1.0 + float(np.abs(rows).max(initial=0.0)))))
        rows = rows[keep]
        steps = np.diff(rows, axis=0)
        along = np.einsum("ij,ij->i", steps[1:], steps[:-1])
        cuts = [0, *(np.flatnonzero(along < reversal) + 1).tolist(), len(rows) - 1]
        self.pieces = [
            _PathPiece(self, rows[a : b + 1], max(least, round(intervals * (b - a) / len(steps))))
            for a, b in pairwise(cuts)
            if b > a and total > 0
        ]

    def split(self, parts: list[Array]) -> tuple[Array, Array, Array]:
        """q (n, nq), w and w' (n, nv) from rows of coordinates and their derivatives by s."""
        eqs, count = self.eqs, len(self.places)
        q, w, dw = (np.zeros((len(parts[0]), size)) for size in (eqs.nq, eqs.nv, eqs.nv))
        q[:, self.places] = parts[0][:, :count]
        w[:, self.speeds], dw[:, self.speeds] = parts[1][:, :count], parts[2][:, :count]
        for k, block in enumerate(eqs.quaternions):
            own = slice(count + 4 * k, count + 4 * k + 4)
            q[:, block.part], w[:, block.columns], dw[:, block.columns] = turn_along(*(x[:, own] for x in parts))
        return q, w, dw

    def record(self, grid: Array, timed: list[tuple[PathTiming | None, float]], bounds: _Bounds) -> Record:
        """The motion at the times of the grid."""
        eqs = self.eqs
        if not self.pieces:
            flat = [self.first, 0 * self.first, 0 * self.first]
            q, v, a = self.split(flat)
        else:
            begins = np.array([begin for _, begin in timed])
            which = np.clip(np.searchsorted(begins, grid, side="right") - 1, 0, len(timed) - 1)
            parts = []
            for k, (piece, (one, begin)) in enumerate(zip(self.pieces, timed, strict=True)):
                assert one is not None
                parts.append(piece.at(one, grid[which == k] - begin))
            q, v, a = (np.vstack([part[i] for part in parts]) for i in range(3))
        shares = bounds.shares(q, v, a)
        columns = tuple(make_column(eqs, name) for name in self.names)
        p = np.array([q[:, b.part] for b in eqs.quaternions]).reshape(len(eqs.quaternions), len(grid), 4)
        owners = tuple(block.owner for block in eqs.quaternions)
        way = Waypoints(eqs, columns, q[:, self.places], owners, np.swapaxes(p, 0, 1))
        turned = (
            [np.stack([x[:, block.columns] for block in eqs.quaternions], axis=1) for x in (v, a)] if owners else []
        )
        made = way.record(
            grid, [q[:, self.places], v[:, self.speeds], a[:, self.speeds]],
            [np.swapaxes(p, 0, 1), *turned] if owners else [], "time scaling",
            **{
                "largest share": float(shares.max(initial=0.0)),
                "at a limit": {n: float(_is_active(shares[:, k]).mean()) for k, n in enumerate(bounds.names)},
            },
        )  # fmt: skip
        return Record(
            grid, np.hstack((made.data, shares)), [*made.names, *(f"{n}.share" for n in bounds.names)],
            [*made.units.values(), *[""] * shares.shape[1]], name=eqs.name, statistics=made.statistics,
            provenance=made.provenance,
        )  # fmt: skip


class _PathPiece:
    """A part of a path that does not turn back, as a spline over its length."""

    def __init__(self, path: _JointPath, rows: Array, intervals: int) -> None:
        self.path = path
        length = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(rows, axis=0), axis=1))))
        self.curve = spline(length, rows)
        self.s = np.linspace(0.0, length[-1], intervals + 1)
        self.q, self.w, self.dw = self.evaluate(self.s)

    def evaluate(self, s: Array) -> tuple[Array, Array, Array]:
        parts = [
            np.asarray(self.curve.derivative(k)(s) if k else self.curve(s)) for k in range(min(self.curve.k, 2) + 1)
        ]
        return self.path.split([*parts, *[np.zeros_like(parts[0])] * (3 - len(parts))])

    def time(
        self, bounds: _Bounds, tight: float, passes: int = 8, settled: float = 1e-6, fastest: float = 1e6
    ) -> PathTiming:
        """The fastest timing; limits are multiplied by `tight`.

        passes : with the tangent of the damping; each reduces the error of the time by a factor of ten or more.
        settled : relative change of the time at which the passes end.
        fastest : rad/s or m/s along the path, which no machine reaches: nothing limits the motion.
        """
        s, w, dw = self.s, self.w, self.dw
        with np.errstate(divide="ignore"):
            most = np.minimum((tight * bounds.speed / np.abs(w)).min(axis=1, initial=np.inf), fastest) ** 2
        fixed = np.isfinite(bounds.acceleration)
        a, b = w[:, fixed], dw[:, fixed]
        c = np.broadcast_to(tight * bounds.acceleration[fixed], a.shape)
        terms = bounds.effort_terms(self.q, w, dw)
        x = np.zeros(len(s))
        before = np.inf
        for _ in range(passes):
            A, B, D, C = terms
            root = np.sqrt(x)[:, None]  # d √x ≈ d (√x₀/2 + x/(2 √x₀)); nothing at rest, and at the first pass
            tangent, offset = np.where(root > 0, D / (2 * np.where(root > 0, root, 1.0)), 0.0), D * root / 2
            limit = tight * bounds.effort[np.isfinite(bounds.effort)]
            rows = (
                [np.hstack((sign * a, sign * A)) for sign in (1, -1)],
                [np.hstack((sign * b, sign * (B + tangent))) for sign in (1, -1)],
            )
            right = [np.hstack((c, limit - sign * (C + offset))) for sign in (1, -1)]
            found = fastest_timing(s, np.hstack(rows[0]), np.hstack(rows[1]), np.hstack(right), most)
            if found.stuck >= 0:
                raise self._report_stuck(found.stuck, bounds, C)
            end = float(found.times[-1])
            x = found.x
            if not D.any() or abs(end - before) <= settled * end:
                break
            before = end
        if _is_active(x.max() / fastest**2):
            raise bounds.describe_unbounded()
        return found

    def _report_stuck(self, place: int, bounds: _Bounds, rest: Array) -> ConvergenceError:
        names = [n for n, e in zip(bounds.names, bounds.effort[bounds.columns], strict=True) if np.isfinite(e)]
        limit = bounds.effort[np.isfinite(bounds.effort)]
        share = np.abs(rest[place]) / limit if len(limit) else np.zeros(1)
        worst = int(np.argmax(share))
        name = names[worst] if names else ""
        held = f" The weight alone needs {share[worst]:.3g} of the effort of {name!r} there." if names else ""
        return ConvergenceError(
            "no-solution",
            f"no timing of the path keeps to the limits {100 * place / (len(self.s) - 1):.0f} % along it.{held}",
            Advice("Allow more {}, or choose another path.", Argument("effort")),
            where={"share": place / (len(self.s) - 1), "coordinate": name},
            evidence={"share": float(share[worst])},
        )

    def at(self, timing: PathTiming, t: Array) -> tuple[Array, Array, Array]:
        """q, v, v̇ at times from the begin of the piece."""
        knots = timing.times
        k = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(timing.u) - 1)
        local, speed = np.minimum(t, knots[-1]) - knots[k], np.sqrt(timing.x[k])
        s = np.clip(timing.s[k] + speed * local + 0.5 * timing.u[k] * local**2, timing.s[0], timing.s[-1])
        rate = np.maximum(speed + timing.u[k] * local, 0.0)[:, None]
        q, w, dw = self.evaluate(s)
        return q, w * rate, w * timing.u[k][:, None] + dw * rate**2


# --- the limits -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bounds:
    """Limits of every speed (nv,), infinite where there is none; `columns` are those of the named coordinates."""

    eqs: EquationsOfMotion
    names: tuple[str, ...]
    columns: list[int]
    speed: Array
    acceleration: Array
    effort: Array

    @classmethod
    def read(
        cls, eqs: EquationsOfMotion, path: _JointPath, speed: Bound, acceleration: Bound, effort: Bound
    ) -> _Bounds:
        named = dict(zip(path.names, path.speeds, strict=True))
        named |= {eqs.speeds.names[k]: k for block in eqs.quaternions for k in block.columns}
        made = cls(
            eqs, tuple(named), list(named.values()), _read_bound(eqs, named, speed, "speed"),
            _read_bound(eqs, named, acceleration, "acceleration"), _read_bound(eqs, named, effort, "effort"),
        )  # fmt: skip
        if np.isfinite(made.effort).any() and (eqs.rows or eqs.nz):
            if effort is True:
                return cls(eqs, made.names, made.columns, made.speed, made.acceleration, np.full(eqs.nv, np.inf))
            what = "closed loops" if eqs.rows else "actuators with states of their own"
            raise ModelError(
                "not-supported", f"efforts of {eqs.name!r} cannot be limited: it has {what}.",
                Advice("Limit accelerations, and use {}.", Argument("effort", False)), where={"argument": "effort"},
            )  # fmt: skip
        return made

    def describe_unbounded(self) -> DataError:
        return DataError(
            "missing-argument", f"nothing limits the time of this motion of {self.eqs.name!r}.",
            Advice("Give {}.", Argument("speed", 1.0), Argument("acceleration", 5.0), Argument("effort", 50.0)),
        )  # fmt: skip

    def efforts(self, q: Array, v: Array, a: Array) -> Array:
        """Efforts along the limited speeds."""
        return required_efforts(self.eqs, q, v, a)[:, np.isfinite(self.effort)]

    def effort_terms(self, q: Array, w: Array, dw: Array, undamped: float = 1e-12) -> tuple[Array, Array, Array, Array]:
        """a, b, d, c of τ = a s̈ + b ṡ² + d ṡ + c.

        undamped : effort odd in the speed, over the largest: the difference of equal sums is rounding.
        """
        if not np.isfinite(self.effort).any():
            none = np.zeros((len(q), 0))
            return none, none, none, none
        c = self.efforts(q, 0 * w, 0 * w)
        a = self.efforts(q, 0 * w, w) - c
        forth, back = self.efforts(q, w, dw) - c, self.efforts(q, -w, dw) - c
        d = (forth - back) / 2
        d[np.abs(d) <= undamped * np.abs(forth).max(initial=0.0)] = 0.0
        return a, (forth + back) / 2, d, c

    def shares(self, q: Array, v: Array, a: Array) -> Array:
        """(n, coordinates) the largest share of its limits that each coordinate uses."""
        found = np.maximum(np.abs(v) / self.speed, np.abs(a) / self.acceleration)
        limited = np.isfinite(self.effort)
        if limited.any():
            found[:, limited] = np.maximum(found[:, limited], np.abs(self.efforts(q, v, a)) / self.effort[limited])
        return np.asarray(found[:, self.columns])


def _read_bound(eqs: EquationsOfMotion, named: Mapping[str, int], given: Any, what: str) -> Array:
    bound = np.full(eqs.nv, np.inf)
    if given is None or given is False:
        return bound
    if what != "acceleration" and (given is True or isinstance(given, Mapping)):
        for name, limits in eqs.limits.items():
            own = getattr(limits, what)
            if name in named and own is not None:
                bound[named[name]] = own
    if isinstance(given, Mapping):
        for name, value in given.items():
            full = eqs.full_name(name)
            require_name("coordinate", full, named, f"equations {eqs.name!r}", error=ModelError, argument=what)
            bound[named[full]] = positive_number(f"{what} of {name!r}", value)
    elif given is not True:
        bound[list(named.values())] = positive_number(what, given)
    if (bound <= 0).any():
        name = next(n for n, k in named.items() if bound[k] <= 0)
        problem = f"the {what} of {name!r} has the limit zero: it cannot move."
        raise ModelError("not-positive", problem, where={"coordinate": name})
    return bound
