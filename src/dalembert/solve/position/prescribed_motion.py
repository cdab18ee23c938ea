"""A prescribed motion: names of coordinates, their values and two derivatives at any time.

A prescribed quantity is a joint or body coordinate, or an output that depends on the pose alone (the position of an
end effector): h(q,t) = s(t), ḣ = H v + ... = ṡ, ḧ = H v̇ + bias = s̈.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import casadi as ca
import numpy as np

from dalembert.core.errors import DalembertWarning, DataError, ModelError, unknown_name
from dalembert.core.findings import Advice
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel, call_user
from dalembert.mechanics.rotations import exponential
from dalembert.model.orientation import Rotation, logarithm, rotation
from dalembert.model.recorded import read_orientation
from dalembert.numerics.sample_times import lateness
from dalembert.record import Record
from dalembert.solve.position.orientations import (
    interpolate_orientations,
    pose_names,
    rates_of_time,
    take_poses,
    to_omega,
    turn_gap,
)

SX = ca.SX
DEGREE = 5  # of the splines that differentiate samples; the error of an acceleration goes with interval⁴
LEAST = 4  # samples to differentiate
DOUBT = 0.02  # estimated error, as a share of the largest value, that is warned of


_AXES = ("x", "y", "z")
_ACCELERATION = {"rate": "acceleration", "speed": "acceleration", "parameter_rate": "parameter_acceleration"}


class MotionWarning(DalembertWarning):
    """A recorded motion is sampled too coarsely, or contradicts itself."""


def acceleration_name(rate: str, others: Any = ()) -> str:
    """Channel of the derivative of a rate: A.rate -> A.acceleration, crank.vx -> crank.ax, body.wx -> body.alphax."""
    owner, dot, last = rate.rpartition(".")
    stem = owner + dot
    if last == "rate" and f"{owner}.speed" in others:  # a joint that slides and turns
        return f"{stem}angular_acceleration"
    if last in _ACCELERATION:
        return f"{stem}{_ACCELERATION[last]}"
    if len(last) == 2 and last[0] in "vw" and last[1] in "xyz":
        return f"{stem}{'a' if last[0] == 'v' else 'alpha'}{last[1]}"
    if last.startswith("rate"):
        return f"{stem}acceleration{last[4:]}"
    return f"{rate}.rate"


def positional_outputs(eqs: EquationsOfMotion) -> list[str]:
    """Outputs that depend on the pose (and time) only."""

    def find() -> list[str]:
        h = eqs.functions["outputs"]
        moving = set()
        for argument in (1, 2, 3, 4, 5):  # v, v̇, λ, z, u
            moving.update(h.jac_sparsity(0, argument).row())
        still = set(h.jac_sparsity(0, 0).row()) - moving
        return [name for k, name in enumerate(eqs.outputs.names) if k in still]

    return eqs.cache("positional outputs", find)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class PrescribedOrientation:
    """Three targets that are one orientation: its rotation vector, with rates in the axes of its owner.

    coordinate : the first of its Euler parameters in q; -1 where the measures of its targets are the rotation vector.
    """

    owner: str
    first: int  # of its three targets
    coordinate: int

    @property
    def part(self) -> slice:
        """Its part of the targets."""
        return slice(self.first, self.first + 3)


@dataclass(frozen=True)
class Targets:
    """What is prescribed: measures by index, outputs by index, in the order of `names`."""

    names: tuple[str, ...]
    measures: tuple[int, ...]  # -1 for another kind
    outputs: tuple[int, ...]  # -1 for another kind
    turns: tuple[int, ...]  # index of an angular velocity in v, -1 for another kind
    orientations: tuple[PrescribedOrientation, ...] = ()


def targets_of(eqs: EquationsOfMotion, names: Any) -> Targets:
    found: list[str] = []
    kinds: list[tuple[int, int, int]] = []
    positional = positional_outputs(eqs)
    turning = {f"{b.owner}.r{a}": k for b in eqs.quaternions for a, k in zip(_AXES, b.columns, strict=True)}
    for name in names:
        full = eqs.full_name(name)
        if full in found:
            raise ModelError("duplicate", f"the motion prescribes {full!r} twice.")
        if full in eqs.measures.index:
            kinds.append((eqs.measures.index[full], -1, -1))
        elif full in positional:
            kinds.append((-1, eqs.outputs.index[full], -1))
        elif full in turning:
            kinds.append((-1, -1, turning[full]))
        elif full in eqs.outputs.index:
            raise ModelError(
                "wrong-level", f"{full!r} depends on more than the pose; a motion prescribes coordinates or positions."
            )
        else:
            known = [*eqs.measures.names, *positional]
            raise ModelError(
                "unknown-name", f"motion: {unknown_name('coordinate', name, known, f'equations {eqs.name!r}')}"
            )
        found.append(full)
    measures, outputs, turns = zip(*kinds, strict=True) if kinds else ((), (), ())
    orientations = [(b.owner, turns, b.speed, b.coordinate) for b in eqs.quaternions]
    orientations += [(orientation.owner, measures, orientation.turns, -1) for orientation in eqs.carried_orientations]
    return Targets(
        tuple(found), measures, outputs, turns,
        tuple(PrescribedOrientation(owner, entries.index(first), coordinate)
              for owner, entries, first, coordinate in orientations if first in entries),
    )  # fmt: skip


def target_function(eqs: EquationsOfMotion, targets: Targets) -> ca.Function:
    """(q,v,p,t) -> h, ḣ, H, bias of the prescribed quantities."""

    def make() -> ca.Function:
        x, F = eqs.symbols(), eqs.functions
        s, rate, S, bias = F["measures"](x.q, x.v, x.p, x.t)
        zero = [SX.zeros(n) for n in (eqs.nv, eqs.nv, len(eqs.rows), eqs.nz, eqs.nu)]
        y = F["outputs"](x.q, *zero, x.p, x.t)[[k for k in targets.outputs if k >= 0]]
        N, n = F["kinematics"](x.q, x.p, x.t)
        J = ca.jacobian(y, x.q)
        Y = J @ N
        y_rate = Y @ x.v + J @ n + ca.jacobian(y, x.t)
        y_bias = ca.jtimes(y_rate, x.q, N @ x.v + n) + ca.jacobian(y_rate, x.t)
        parts: list[tuple[Any, Any, Any, Any]] = []
        count = 0
        angles: dict[int, Any] = {}  # places of angular velocities in v -> entries of rotation vectors
        for block in eqs.quaternions:
            if block.speed in targets.turns:
                p = x.q[block.part]
                angles |= dict(zip(block.columns, logarithm([p[i] for i in range(4)]), strict=True))
        for k, turn in zip(targets.measures, targets.turns, strict=True):
            if turn >= 0:
                value = angles[turn]
                row = SX(1, eqs.nv)
                row[turn] = 1
                parts.append((value, x.v[turn], row, SX(0)))
            elif k >= 0:
                parts.append((s[k], rate[k], S[k, :], bias[k]))
            else:
                parts.append((y[count], y_rate[count], Y[count, :], y_bias[count]))
                count += 1
        columns = [ca.vertcat(*column) for column in zip(*parts, strict=True)] if parts else []
        empty = [SX.zeros(0, 1), SX.zeros(0, 1), SX(0, eqs.nv), SX.zeros(0, 1)]
        return ca.Function("targets", [x.q, x.v, x.p, x.t], columns or empty, {"cse": True})

    return eqs.cache(("targets", targets), make)


def target_gap(targets: Targets, h: Any, q: Any, s: Any) -> Any:
    """How far prescribed quantities h are from s; orientations in body axes, from the pose q."""
    gaps = h - s
    for orientation in targets.orientations:
        first = orientation.coordinate
        p = q[first : first + 4] if first >= 0 else exponential(h[orientation.part])
        gaps[orientation.part] = turn_gap(s[orientation.part], p)
    return gaps


class Motion(Protocol):
    """Values, rates and accelerations of the prescribed quantities at given times, each (times, quantities)."""

    targets: Targets
    how: str

    def at(self, times: Array) -> tuple[Array, Array, Array]: ...


class FunctionMotion:
    """Functions of time, called once with a symbol; their derivatives are exact."""

    how = "exact derivatives of functions of time"

    def __init__(self, eqs: EquationsOfMotion, given: Mapping[str, Any]) -> None:
        t = SX.sym("t")
        entries: dict[str, Any] = {}
        poses = pose_names(eqs)
        values = {name: self._value(name, function, t, name in poses) for name, function in given.items()}
        rest, turned = take_poses(eqs, values, "motion")
        known = {*eqs.measures.index, *eqs.outputs.index}
        for name, value in rest.items():
            what = f"motion of {name!r}"
            if isinstance(value, Rotation):
                raise ModelError(
                    "wrong-type", f"{what} must return numbers; orientations are prescribed as 'body.rotation'."
                )
            if isinstance(value, (list, tuple)):
                value = ca.vertcat(*value)
            try:
                column = SX(value)
            except NotImplementedError:
                raise ModelError(
                    "wrong-type", f"{what} must return expressions or numbers, got {type(value).__name__}."
                ) from None
            full = eqs.full_name(name)
            vector = full not in known and f"{full}.x" in known
            labels = [f"{full}.{a}" for a in _AXES if f"{full}.{a}" in known] if vector else [full]
            if column.shape != (len(labels), 1):
                raise ModelError(
                    "wrong-shape",
                    f"{what} must return {len(labels)} value{'s' * (len(labels) > 1)}, got {column.shape[0]}.",
                )
            for k, label in enumerate(labels):
                if label in entries:
                    raise ModelError("duplicate", f"the motion prescribes {label!r} twice.")
                rate = ca.jacobian(column[k], t)
                entries[label] = (column[k], rate, ca.jacobian(rate, t))
        for body, orientation in turned.items():
            vectors = rates_of_time(orientation, t, f"motion of {body!r}")
            entries.update({f"{body}.r{a}": tuple(x[k] for x in vectors) for k, a in enumerate(_AXES)})
        self.targets = targets_of(eqs, entries)
        columns = zip(*entries.values(), strict=True) if entries else [[SX.zeros(0, 1)]] * 3
        outputs = [ca.densify(ca.vertcat(*x)) for x in columns]
        self._kernel = Kernel(ca.Function("motion", [t], outputs))

    @staticmethod
    def _value(name: str, function: object, t: object, pose: bool) -> Any:
        what = f"motion of {name!r}"
        if callable(function):
            return call_user(function, what, t)
        if isinstance(function, (int, float)) and np.isfinite(function):
            return function
        if isinstance(function, (Rotation, tuple, list)) and pose:
            return function
        raise ModelError("wrong-type", f"{what} must be a number or a function of time, got {function!r}.")

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        if not self.targets.names:
            empty = np.zeros((len(times), 0))
            return empty, empty, empty
        s, rate, acceleration = self._kernel.many(times.reshape(-1, 1))
        for values in (s, rate, acceleration):
            if not np.isfinite(values).all():
                row, column = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
                raise ModelError(
                    "not-finite",
                    f"the motion of {self.targets.names[column]!r} is not finite at t = {times[row]:.6g} s.",
                )
        return s, rate, acceleration


class RecordMotion:
    """Sampled coordinates; rates and accelerations from their own channels, else by splines of degree five."""

    def __init__(self, eqs: EquationsOfMotion, record: Record) -> None:
        whole = all(n in record for n in eqs.coordinates.names if n not in eqs.unrecorded)
        positional = [] if whole else positional_outputs(eqs)  # whole poses need no sensors
        places = {eqs.measures.names[k] for k in eqs.positions}
        names = [n for n in record.names if eqs.full_name(n) in places or n in positional]
        turned = {b: x for b in eqs.turning_bodies if (x := read_orientation(record, b)) is not None}
        if not names and not turned:
            known = [*(eqs.measures.names[k] for k in eqs.recorded_measures), *positional]
            raise DataError(
                "missing-channel",
                f"the record has no coordinate of {eqs.name!r}; it holds {', '.join(record.names[:8])}. "
                f"Expected some of {', '.join(known[:12])}.",
            )
        plain = len(names)
        self.targets = targets_of(eqs, [*names, *(f"{b}.r{a}" for b in turned for a in _AXES)])
        self.times = record.time
        self._turned: list[tuple[int, Array]] = []  # first row and quaternions of every orientation
        columns: list[tuple[Any, ...]] = []
        splined: set[str] = set()
        for name, full in zip(names, self.targets.names[:plain], strict=True):
            k = eqs.measures.index.get(full)
            rate = f"{full}.rate" if k is None else eqs.measure_rates.names[k]
            second = f"{full}.acceleration" if k is None else acceleration_name(rate, eqs.measure_rates.index)
            value = _finite(record, name)
            first = _finite(record, rate) if rate in record.names else None
            last = _finite(record, second) if second in record.names else None
            source, order = (value, 2) if first is None else (first, 1)
            if first is None:
                first, first_error = differentiate(record.time, value, 1)
                splined.add("rates")
            else:
                first_error = doubt(record, [name], [rate], first, partial(differentiate, record.time, value, 1))
            if last is None:
                last, last_error = differentiate(record.time, source, order)
                splined.add("accelerations")
            else:
                last_error = doubt(record, [rate], [second], last, partial(differentiate, record.time, source, order))
            columns.append((value, first, last, first_error, last_error))
        for body, (channels, p) in turned.items():
            if not np.isfinite(p).all():
                raise DataError(
                    "gap-in-record", f"the motion has gaps in channel {channels[0]!r} (values that are not finite)."
                )
            self._turned.append((len(columns), p))
            columns += self._orientation(record, body, p, splined)
        self._data = [np.column_stack(x) for x in zip(*columns, strict=True)]
        what = " and ".join(sorted(splined, reverse=True))
        self.how = f"{what} differentiated by splines of degree {DEGREE}" if what else "rates and accelerations given"

    def _orientation(self, record: Record, body: str, p: Array, splined: set[str]) -> list[tuple[Array, ...]]:
        """Columns of the three rows of an orientation: rotation vector, ω, ω̇ and their errors."""
        speeds, seconds = ([f"{body}.{kind}{a}" for a in _AXES] for kind in ("w", "alpha"))
        given = all(name in record.names for name in speeds)

        def of_poses(order: int) -> tuple[Array, Array]:
            found, error = (to_omega(p, x) for x in differentiate(record.time, p, order))
            return found, error

        def of_speeds() -> tuple[Array, Array]:
            return differentiate(record.time, omega, 1) if given else of_poses(2)

        if given:
            omega = np.column_stack([_finite(record, name) for name in speeds])
            error = doubt(record, [f"{body}.rotation"] * 3, speeds, omega, lambda: of_poses(1))
        else:
            omega, error = of_poses(1)
            splined.add("rates")
        if all(name in record.names for name in seconds):
            alpha = np.column_stack([_finite(record, name) for name in seconds])
            second_error = doubt(record, speeds, seconds, alpha, of_speeds)
        else:
            alpha, second_error = of_speeds()
            splined.add("accelerations")
        vector = rotation(quaternion=p).vector
        return [tuple(x[:, k] for x in (vector, omega, alpha, error, second_error)) for k in range(3)]

    @property
    def errors(self) -> tuple[Array, Array]:
        """Estimated errors of rates and accelerations at the samples; zero where they were given."""
        return self._data[3], self._data[4]

    @property
    def estimated_error(self) -> float:
        """Largest estimated error of an acceleration, as a share of the largest acceleration of that coordinate."""
        error, size = (np.abs(self._data[k]).max(axis=0) for k in (4, 2))
        return float((error / np.where(error > 0, np.maximum(size, error), 1.0)).max())

    def warn(self) -> None:
        """Warn of accelerations that the samples do not determine."""
        if self.estimated_error > DOUBT:
            warnings.warn(
                MotionWarning(
                    "coarse-sampling",
                    f"accelerations of the recorded motion are uncertain by about {100 * self.estimated_error:.0f} %: "
                    "it is sampled too coarsely, or too noisy, to be differentiated.",
                    Advice("Record more samples, or channels of accelerations."),
                    evidence={"error": self.estimated_error},
                ),
                stacklevel=3,
            )

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        if len(times) == len(self.times) and np.array_equal(times, self.times):
            return self._data[0], self._data[1], self._data[2]
        rounding = lateness(1 + float(np.abs(self.times).max()))
        if times[0] < self.times[0] - rounding or times[-1] > self.times[-1] + rounding:
            raise DataError(
                "record-too-short",
                f"the motion runs from {self.times[0]:g} to {self.times[-1]:g} s, "
                f"asked for {times[0]:g} to {times[-1]:g} s.",
            )
        if len(self.times) < 2:
            return tuple(np.repeat(x, len(times), axis=0) for x in self._data[:3])  # type: ignore[return-value]
        from scipy.interpolate import BPoly

        # piecewise of degree five through values, rates and accelerations: its rates are the derivatives of its values;
        # a piece depends on the samples at its two ends alone, so that a few instants cost a few pieces
        near = self._around(times[0], times[-1])
        through = BPoly.from_derivatives(self.times[near], np.stack([x[near] for x in self._data[:3]], axis=1))
        value, rate, acceleration = (through.derivative(k)(times) if k else through(times) for k in range(3))
        for first, p in self._turned:
            own = slice(first, first + 3)
            found = interpolate_orientations(
                self.times[near], p[near], self._data[1][near, own], self._data[2][near, own], times
            )
            for whole, part in zip((value, rate, acceleration), found, strict=True):
                whole[:, own] = part
        # given values at the samples: second differences over a short interval would round them
        place = np.minimum(np.searchsorted(self.times, times), len(self.times) - 1)
        given = self.times[place] == times
        for whole, part in zip((value, rate, acceleration), self._data[:3], strict=True):
            whole[given] = part[place[given]]
        return value, rate, acceleration

    def _around(self, first: float, last: float) -> slice:
        """The samples, two at least, between which these instants lie."""
        low = min(max(int(np.searchsorted(self.times, first, "right")) - 1, 0), len(self.times) - 2)
        high = min(max(int(np.searchsorted(self.times, last, "left")), low + 1), len(self.times) - 1)
        return slice(low, high + 1)


def _finite(record: Record, name: str) -> Array:
    values = record[name]
    if not np.isfinite(values).all():
        raise DataError("gap-in-record", f"the motion has gaps in channel {name!r} (values that are not finite).")
    return values


def spline(times: Array, values: Array) -> Any:
    """Spline of degree five (less with few samples) through samples, two at least; one sample is a constant."""
    from scipy.interpolate import make_interp_spline

    if len(times) < 2:
        return make_interp_spline([times[0], times[0] + 1.0], np.repeat(values, 2, axis=0), k=1)
    degree = min(DEGREE, len(times) - 1)
    return make_interp_spline(times, values, k=degree if degree % 2 else degree - 1)


def differentiate(times: Array, values: Array, order: int) -> tuple[Array, Array]:
    """Derivative of samples by a spline through them, and an estimate of its error.

    The splines of every second and of every fourth sample give the error and the rate at which it falls; where it does
    not fall as the theory says (noise, too few samples), the whole difference counts.
    """
    if len(times) < LEAST:
        raise DataError(
            "too-few-samples",
            f"{len(times)} sample(s) are too few to differentiate: give {LEAST}, or channels of rates and "
            "accelerations.",
        )
    found, half, quarter = (
        np.asarray(spline(times[::k], values[::k]).derivative(order)(times[::k])) for k in (1, 2, 4)
    )
    change = found[::2] - half
    share: Array | float = 1.0
    if len(times[::4]) >= LEAST:  # every channel by its own rate: beside a slow one a fast one may not be resolved
        before = np.abs(half[::2] - quarter).max(axis=0)
        ratio = before / np.maximum(np.abs(change).max(axis=0), 1e-300)
        share = np.where(ratio > 2.0, 1.0 / (np.clip(ratio, 2.0, 2.0 ** (DEGREE - 1)) - 1.0), 1.0)
    error = np.zeros_like(found)
    error[::2] = share * change
    inner = error[1:-1:2]
    inner[:] = (error[:-2:2] + error[2::2])[: len(inner)] / 2
    if len(times) % 2 == 0:
        error[-1] = error[-2]
    return found, error


def doubt(
    record: Record,
    names: Any,
    rates: Any,
    given: Array,
    derivative: Callable[[], tuple[Array, Array]],
    negligible: float = 1e-9,
    nothing: float = 1e-12,
    explained: float = 10.0,
    coarse: float = 0.25,
) -> Array:
    """Errors of recorded rates (or accelerations) of `names`; `derivative` gives splined ones and their errors.

    Zero, but of a resampled record the difference from the spline. Warns where a rate is not the derivative, beyond
    what the sampling explains.

    negligible : of the largest coordinate and rate: channels written with nine digits.
    nothing : [SI] added to it: channels that are zero.
    explained : times the estimated error of the derivative, which is right within a factor of four.
    coarse : of its range that a coordinate moves in one interval: no spline follows; 12 in a period.
    """
    none = np.zeros_like(given)
    if len(record) < LEAST:
        return none
    found, error = derivative()
    if "resampled" in record.provenance:  # interpolated rates are not the rates of interpolated values
        return given - found
    gaps = np.abs(found - given).reshape(len(given), -1)
    sizes, errors, most = (np.abs(x).reshape(len(given), -1).max(axis=0) for x in (given, error, found))
    values = [record[n] if n in record.names else np.array([0.0, 1.0]) for n in names]
    rounding = negligible * (np.array([np.abs(x).max() for x in values]) + sizes.max()) + nothing
    if (most * float(np.diff(record.time).max()) > coarse * np.array([np.ptp(x) for x in values])).any():
        return none
    for k in np.flatnonzero(gaps.max(axis=0) > DOUBT * sizes + explained * errors + rounding):
        where = int(np.argmax(gaps[:, k]))
        warnings.warn(
            MotionWarning(
                "not-the-rate",
                f"channel {rates[k]!r} is not the rate of {names[k]!r}: they differ by {gaps[where, k]:.2g} at t = "
                f"{record.time[where]:.6g} s (largest value {sizes[k]:.2g}). It is used unchanged.",
                Advice("Check units and signs, or leave the channel out."),
                where={"channel": rates[k], "time": float(record.time[where])},
            ),
            stacklevel=2,
        )
    return none


def read_motion(eqs: EquationsOfMotion, motion: object) -> FunctionMotion | RecordMotion:
    if motion is None:
        return FunctionMotion(eqs, {})
    if isinstance(motion, Record):
        return RecordMotion(eqs, motion)
    if isinstance(motion, Mapping):
        return FunctionMotion(eqs, motion)
    raise ModelError(
        "wrong-type",
        f"motion must be a Record or a mapping from coordinates to functions of time, got {type(motion).__name__}.",
    )
