"""Way-points of a motion, and the record of a motion through them.

A way-point has values of named coordinates (angles of joints, positions of points) and orientations of bodies. Between
way-points coordinates are interpolated as numbers, orientations on the shortest turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.model.orientation import product, quaternion_from_matrix, rotation
from dalembert.record import Record
from dalembert.solve.position.orientations import align_signs
from dalembert.solve.position.prescribed_motion import acceleration_name, positional_outputs
from dalembert.tree.linear_rows import leading_speeds, rows_are_linear
from dalembert.tree.places import AXES, PARTS, dimension, is_place, list_values, read_pose


@dataclass(frozen=True)
class MotionColumn:
    """Channels of one coordinate of a motion: value, rate, acceleration, with their units."""

    names: tuple[str, str, str]
    units: tuple[str, str, str]


@dataclass(frozen=True)
class Waypoints:
    """Values (k, n) of the columns and quaternions (k, m, 4) of the owners at k way-points."""

    eqs: EquationsOfMotion
    columns: tuple[MotionColumn, ...]
    values: Array
    owners: tuple[str, ...]
    quaternions: Array
    times: Array | None = None  # of the samples of a record

    def __len__(self) -> int:
        return len(self.values)

    def part(self, name: str) -> int | None:
        """The column of a coordinate, by its full name."""
        return next((k for k, column in enumerate(self.columns) if column.names[0] == name), None)

    @property
    def turns(self) -> Array:
        """(k - 1, m, 3) the turns from each way-point to the next, rotation vectors in body axes."""
        found = [
            [rotation(quaternion=product((p[0], -p[1], -p[2], -p[3]), r)).vector for p, r in zip(*pair, strict=True)]
            for pair in zip(self.quaternions[:-1], self.quaternions[1:], strict=True)
        ]
        return np.array(found, dtype=float).reshape(len(self) - 1, len(self.owners), 3)

    @property
    def steps(self) -> Array:
        """(k - 1, n + m) sizes of the change of every coordinate and orientation from each way-point to the next."""
        return np.hstack((np.abs(np.diff(self.values, axis=0)), np.linalg.norm(self.turns, axis=2)))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns of `steps`."""
        return (*(column.names[0] for column in self.columns), *(f"{owner}.rotation" for owner in self.owners))

    def record(
        self, time: Array, moved: Sequence[Array], turned: Sequence[Array], method: str, **statistics: Any
    ) -> Record:
        """Values, rates and accelerations, each (n, columns), and p, ω, ω̇, each (n, owners, 4 or 3), as channels."""
        names: list[str] = []
        units: list[str] = []
        data: list[Array] = []
        for k, column in enumerate(self.columns):
            names += column.names
            units += column.units
            data += [part[:, k] for part in moved]
        for k, owner in enumerate(self.owners):
            names += [f"{owner}.e{i}" for i in range(4)]
            names += [f"{owner}.{kind}{axis}" for kind in ("w", "alpha") for axis in AXES]
            units += ["", "", "", "", *["rad/s"] * 3, *["rad/s^2"] * 3]
            data += [part[:, k, i] for part in turned for i in range(part.shape[2])]
        about = {"method": method, "mechanism": self.eqs.name, "model_hash": self.eqs.content_hash}
        return Record(
            time, np.column_stack(data), names, units, name=self.eqs.name, provenance=about,
            statistics={"duration": float(time[-1] - time[0]), **statistics},
        )  # fmt: skip


def read_waypoints(eqs: EquationsOfMotion, points: object, *, least: int = 2) -> Waypoints:
    """Way-points from a mapping of coordinates to their values, from states, or from the samples of a record."""
    require_equations(eqs)
    times = points.time if isinstance(points, Record) else None
    if isinstance(points, Record):
        points = {name: points[name] for name in points.names if _is_position(eqs, name)}
        if not points:
            raise DataError("missing-channel", f"the record of way-points has no coordinate of {eqs.name!r}.")
    if isinstance(points, Mapping):
        given = dict(points)
    elif isinstance(points, Sequence) and points and all(isinstance(point, State) for point in points):
        given = _of_states(eqs, points)
    else:
        raise ModelError(
            "wrong-type",
            f"way-points must be values of named coordinates, a list of states or a Record; got {points!r:.120}.",
            Advice("Such as {}.", Argument("points", {"shoulder.angle": [0.0, 1.0]})),
        )
    values, turned = _columns(eqs, given)
    counts = {name: len(x) for name, x in (*values.items(), *turned.items()) if len(x) != 1}
    count = max(counts.values(), default=1)
    for name, found in counts.items():
        if found != count:
            raise DataError(
                "wrong-shape",
                f"way-points of {name!r} are {found}, those of others {count}; give as many, or one for a coordinate "
                "that does not move.",
                where={"coordinate": name},
            )  # fmt: skip
    if count < least:
        raise DataError(
            "empty", f"{count} way-point is too few; a motion needs {least} at least.", where={"argument": "points"}
        )
    columns = tuple(make_column(eqs, name) for name in values)
    table = np.column_stack([np.broadcast_to(x, count) for x in values.values()]) if values else np.zeros((count, 0))
    p = np.array([np.broadcast_to(x, (count, 4)) for x in turned.values()], dtype=float).reshape(len(turned), count, 4)
    p = align_signs(np.swapaxes(p, 0, 1))
    waypoints = Waypoints(eqs, columns, table, tuple(turned), p, times)
    _check_range(waypoints)
    return waypoints


def _is_position(eqs: EquationsOfMotion, name: str) -> bool:
    """Whether a channel of a record is a coordinate to move along: of a joint, or a position sensor."""
    own = {eqs.measures.names[k] for k in eqs.recorded_measures}
    return eqs.full_name(name) in own or name in positional_outputs(eqs)


def _of_states(eqs: EquationsOfMotion, states: Sequence[State]) -> dict[str, Any]:
    for state in states:
        if state.eqs.coordinates.names != eqs.coordinates.names:
            raise ModelError("wrong-owner", f"a state belongs to equations {state.eqs.name!r}, not to {eqs.name!r}.")
    if eqs.rows and not rows_are_linear(eqs):
        raise ModelError(
            "not-supported",
            f"{eqs.name!r} has closed loops: coordinates between two states would not close them.",
            Advice("Name the coordinates that move, as many as there are degrees of freedom: {}.", Call("da.mobility")),
        )
    turned = {k for block in eqs.quaternions for k in range(block.part.start, block.part.stop)}
    rates = dict(zip(eqs.measures.names, eqs.measure_rates.names, strict=True))
    chosen = leading_speeds(eqs)  # gears move the others
    given: dict[str, Any] = {
        name: [state.q[k] for state in states]
        for k, name in enumerate(eqs.coordinates.names)
        if k not in turned and name not in eqs.unrecorded and rates.get(name, name) in chosen
    }
    for block in eqs.quaternions:
        given[f"{block.owner}.rotation"] = [rotation(quaternion=state.q[block.part].tolist()) for state in states]
    return given


def _columns(eqs: EquationsOfMotion, given: Mapping[str, Any]) -> tuple[dict[str, Array], dict[str, Array]]:
    """Values (k,) of coordinates and quaternions (k, 4) of bodies, by full names; k = 1 where there is one for all."""
    known = {*eqs.measures.index, *positional_outputs(eqs)}
    values: dict[str, Array] = {}
    turned: dict[str, Array] = {}

    def put(into: dict[str, Array], name: str, found: Array) -> None:
        if name in into:
            raise ModelError("duplicate", f"way-points give {name!r} twice.", where={"coordinate": name})
        into[name] = found

    for name, value in given.items():
        full = eqs.full_name(name) if isinstance(name, str) else repr(name)
        labels = [f"{full}.{axis}" for axis in AXES if f"{full}.{axis}" in positional_outputs(eqs)]
        owner, _, kind = full.rpartition(".")
        if full in known or labels:
            table = _numbers(name, value, max(len(labels), 1))
            for k, label in enumerate(labels or [full]):
                put(values, label, table if table.ndim == 1 else table[:, k])
        elif kind in ("rotation", "pose") and any(block.owner == owner for block in eqs.quaternions):
            for part, found in _of_poses(owner, list_values(value, 3), 3, kind):
                put(turned if part == owner else values, part, found)
        elif eqs.tree is None:
            known_names = [*eqs.measures.names, *positional_outputs(eqs)]
            problem = unknown_name("coordinate", name, known_names, f"equations {eqs.name!r}")
            raise ModelError("unknown-name", f"way-points: {problem}", where={"coordinate": name})
        else:
            place, kind = (owner, kind) if kind in PARTS and not is_place(eqs, full) else (full, "")
            for part, found in _of_poses(place, list_values(value, dim := dimension(eqs, place)), dim, kind):
                put(turned if part == place else values, part, found)
    return values, turned


def _of_poses(owner: str, poses: list[Any], dim: int, kind: str) -> list[tuple[str, Array]]:
    """Columns of the positions, and the quaternions, of a place or body; in the plane its angle, without jumps."""
    read = [read_pose(pose, dim, owner, kind) for pose in poses]
    places, matrices = ([pair[k] for pair in read if pair[k] is not None] for k in (0, 1))
    for part in (places, matrices):
        if part and len(part) != len(read):
            raise DataError(
                "wrong-shape", f"way-points of {owner!r} must be all positions, all rotations or all poses.",
                where={"coordinate": owner},
            )  # fmt: skip
    columns = [(f"{owner}.{axis}", x) for axis, x in zip(AXES, np.array(places).T, strict=False)] if places else []
    if matrices and dim == 2:
        angles = [float(np.arctan2(R[1, 0], R[0, 0])) for R in matrices if R is not None]
        columns.append((f"{owner}.angle", np.unwrap(angles)))
    elif matrices:
        columns.append((owner, np.array([quaternion_from_matrix(R) for R in matrices])))
    return columns


def _numbers(name: str, value: object, width: int) -> Array:
    """(k,) or, of a point, (k, width)."""
    try:
        numbers = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise DataError(
            "not-a-number", f"way-points of {name!r} must be numbers, got {value!r:.80}.", where={"coordinate": name}
        ) from None
    if width > 1 and numbers.shape == (width,):
        numbers = numbers.reshape(1, width)
    numbers = numbers.reshape(1) if numbers.ndim == 0 else numbers
    if numbers.ndim != (2 if width > 1 else 1) or (width > 1 and numbers.shape[1] != width) or not len(numbers):
        raise DataError(
            "wrong-shape",
            f"way-points of {name!r} must be {'lists of ' * (width > 1)}{width if width > 1 else 'a list of'} numbers, "
            f"got shape {numbers.shape}.",
            where={"coordinate": name},
        )  # fmt: skip
    if not np.isfinite(numbers).all():
        raise DataError("not-finite", f"way-points of {name!r} must be finite.", where={"coordinate": name})
    return numbers


def make_column(eqs: EquationsOfMotion, name: str) -> MotionColumn:
    k = eqs.measures.index.get(name)
    if k is None and name in eqs.outputs.index:
        unit = eqs.outputs.units[eqs.outputs.index[name]]
        rate, second = f"{name}.rate", f"{name}.acceleration"
    elif k is None:  # of a place
        owner, _, axis = name.rpartition(".")
        unit, rate = ("rad", f"{owner}.rate") if axis == "angle" else ("m", f"{owner}.v{axis}")
        second = acceleration_name(rate)
    else:
        unit, rate = eqs.measures.units[k], eqs.measure_rates.names[k]
        second = acceleration_name(rate, eqs.measure_rates.index)
    return MotionColumn((name, rate, second), (unit, f"{unit or 1}/s", f"{unit or 1}/s^2"))


def _is_rounding(beyond: float, value: float, digits: float = 1e-9) -> bool:
    """Whether a way-point [rad or m] is at its limit up to rounding, far below the six digits of a file."""
    return bool(beyond <= digits * (1 + abs(value)))


def _check_range(points: Waypoints) -> None:
    """Refuse way-points beyond the limits of their joints."""
    for k, column in enumerate(points.columns):
        name = column.names[0]
        if name not in points.eqs.limits:
            continue
        low, high = points.eqs.limits[name].range
        beyond = np.maximum(points.values[:, k] - high, low - points.values[:, k])
        worst = int(np.argmax(beyond))
        if not _is_rounding(beyond[worst], points.values[worst, k]):
            raise ModelError(
                "out-of-range",
                f"way-point {worst + 1} has {name!r} at {points.values[worst, k]:.6g} {column.units[0]}, beyond its "
                f"limits {low:.6g} to {high:.6g}.",
                Advice("Choose a way-point within the limits; {} finds one for a pose.",
                       Call("da.tree.inverse_kinematics")),
                where={"coordinate": name, "way-point": worst + 1},
                evidence={"value": float(points.values[worst, k]), "lower": low, "upper": high},
            )  # fmt: skip


def waypoint_times(points: Waypoints, times: object) -> Array:
    """Times of the way-points: as given, or shares of a duration in proportion to the largest change."""
    count = len(points)
    if times is None and points.times is not None:
        return points.times
    try:
        given = np.array(np.nan if times is None else times, dtype=float)
    except (TypeError, ValueError):
        raise DataError(
            "not-a-number", f"times must be a duration or a list of times [s], got {times!r:.80}."
        ) from None
    if given.ndim == 0:
        if not 0 < given < np.inf:
            raise DataError("not-positive", f"the duration must be positive and finite [s], got {times!r}.")
        lengths = points.steps.max(axis=1, initial=0.0)
        if count > 2 and not (lengths > 0).all():
            k = int(np.argmin(lengths))
            raise DataError(
                "duplicate",
                f"way-points {k + 1} and {k + 2} are the same, so that a duration has no time for the way between.",
                Advice("Leave one out, or give the time of each: {}.", Argument("times", [0.0, 1.0, 2.0])),
                where={"way-point": k + 2},
            )
        shares = lengths / lengths.sum() if count > 2 else np.ones(1)
        return np.concatenate(([0.0], np.cumsum(shares))) * float(given)
    if given.shape != (count,):
        raise DataError("wrong-shape", f"{count} way-points need as many times, got {given.size}.")
    if not np.isfinite(given).all() or not (np.diff(given) > 0).all():
        raise DataError("not-increasing", "times of way-points must be finite and strictly increasing.")
    return given


def sample_grid(
    begin: float, end: float, every: object, samples: int = 200, whole: float = 1e-9, most_samples: int = 10_000_000
) -> Array:
    """Equally spaced times with both ends, at most `every` apart.

    samples : intervals of a record whose sampling is not given.
    whole : relative excess over a whole number of intervals that counts as rounding of the quotient.
    most_samples : of a motion: as for `da.simulate`, a bound on memory.
    """
    if every is None:
        return np.linspace(begin, end, samples + 1)
    try:
        interval = float(every)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise DataError("not-a-number", f"every must be a sampling interval [s], got {every!r}.") from None
    if not 0 < interval < np.inf:
        raise DataError("not-positive", f"every must be a positive interval [s], got {every!r}.")
    if (end - begin) / interval > most_samples:
        raise DataError(
            "too-large", f"every {interval:g} s are more than {most_samples:g} samples of {end - begin:g} s."
        )
    return np.linspace(begin, end, int(np.ceil((end - begin) / interval * (1 - whole))) + 1)
