"""Channels of a record that figures and pages show: those that move, each curve once, in few enough points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.equations.scene import Scene
from dalembert.record import Array, Record

_BUCKETS = 2000  # more than the pixels across any figure
_PATH_POINTS = 50_000
_COORDINATES = ("angle", "angle1", "angle2", "displacement", "parameter")
_RATES = {
    "angle": "rate", "angle1": "rate1", "angle2": "rate2", "displacement": "rate", "x": "vx", "y": "vy", "z": "vz",
}  # fmt: skip
_EULER_PARAMETERS = ("e0", "e1", "e2", "e3")
_DEFAULT_SERIES = 8
_COMPARED = 16  # samples of a curve that are compared before all of them


def exceeds_rounding(size: float, largest: float, nothing: float = 1e-18, rest: float = 1e-9) -> bool:
    """Whether a range or value is more than rounding, beside the largest value of its unit in the record.

    nothing : in any SI unit of a machine.  rest : relative; rounding of a run of 1e6 steps is 1e6 ε = 2e-10 of the
    values that cancel, a vibration of 1 nm beside a machine of 1 m is still a motion.
    """
    return size > max(nothing, rest * largest)


def moving_channels(run: Record, names: Sequence[str]) -> list[str]:
    """Those of the channels that are not at rest: their range is more than rounding.

    Rounding is relative to the largest value of the same unit in the record; a channel without a unit is compared with
    itself alone.
    """
    units = run.units
    spans = {name: finite_span(run[name]) for name in names}
    largest = largest_of_units(run, {units[name] for name in names})
    return [
        name
        for name, (low, high) in spans.items()
        if exceeds_rounding(high - low, largest.get(units[name], max(abs(low), abs(high))))
    ]


def largest_of_units(run: Record, wanted: set[str]) -> dict[str, float]:
    """Largest magnitude of each unit in a record, of accelerations at least gravity: at rest it cancels."""
    largest = {unit: 0.0 for unit in wanted if unit}
    for name, unit in run.units.items():
        if unit in largest:
            largest[unit] = max(largest[unit], *map(abs, finite_span(run[name])))
    if "m/s^2" in largest:
        gravity = float(np.linalg.norm(Scene.from_json(run.scene).gravity))
        largest["m/s^2"] = max(largest["m/s^2"], gravity)
    return largest


def is_flat(
    values: Array,
    # Range relative to the largest value of the channel itself, or difference of two channels relative to their
    # range: below the four digits of tick labels and the width of a line.
    flat: float = 1e-6,
) -> bool:
    """Whether values vary by less than an axis with their size on it can show."""
    low, high = finite_span(values)
    return high - low < flat * max(abs(low), abs(high))


def finite_span(values: Array) -> tuple[float, float]:
    """Smallest and largest finite value, zeros where there are none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def default_names(run: Record) -> list[str]:
    """Channels shown by default, and energy: sensors, inputs, then joint coordinates, without those that rest.

    The rate instead of an angle that only goes round and round; of channels that are equal only the first. Of a record
    without joints its first channels; where nothing moves, the unchanged coordinates.
    """
    return list(default_channels(run))


def default_channels(run: Record) -> dict[str, list[str]]:
    """The channels shown by default, each with those that are equal to it."""
    scene = Scene.from_json(run.scene)
    coordinates = joint_coordinates(run)
    sensed = [name for stem in (*scene.sensors, *scene.inputs) for name in _of(run, stem)]
    first = moving_channels(run, list(dict.fromkeys([*sensed, *coordinates]))) or coordinates
    if not first:
        first = [name for name in run.names if name.partition(".")[0] not in ("energy", "residual")]
        first = [name for name in first if name.rpartition(".")[2] not in _EULER_PARAMETERS] or first
    equal_groups = select_distinct(run, first)
    shown = list(equal_groups)[:_DEFAULT_SERIES] + [name for name in ("energy",) if name in run.names]
    return {name: equal_groups.get(name, []) for name in shown or run.names[:_DEFAULT_SERIES]}


def select_distinct(run: Record, names: Sequence[str]) -> dict[str, list[str]]:
    """Channels that differ, each with those equal to it; rates instead of angles of full turns."""
    chosen: list[str] = []
    for name, equal in _distinct(run, names).items():
        rates = [rate for label in (name, *equal) if goes_round(run, label) and (rate := rate_of(run, label))]
        chosen += rates[:1] or [name, *equal]
    return _distinct(run, chosen)


def goes_round(
    run: Record,
    name: str,
    # Largest way back of an angle that goes round, as part of its whole turn: a crank that swings back once is
    # still a crank; an angle that swings to and fro goes back by far more.
    back: float = 0.05,
) -> bool:
    """Whether a channel is an angle that turns more than once, always the same way: over time an endless ramp."""
    x = run[name][np.isfinite(run[name])]
    if run.units[name] != "rad" or x.size < 2 or abs(x[-1] - x[0]) <= 2.0 * np.pi:
        return False
    x = x if x[-1] > x[0] else -x
    return float((np.maximum.accumulate(x) - x).max()) < back * float(x[-1] - x[0])


def rate_of(run: Record, label: str) -> str:
    """Name of the channel that is the rate of another, or "" where the record has none."""
    stem, _, last = label.rpartition(".")
    rate_names = [f"{label}.rate", f"{label}_rate", f"{label}.velocity"]
    if last in _RATES:
        rate_names.append(f"{stem}.{_RATES[last]}" if stem else _RATES[last])
    return next((name for name in rate_names if name in run.names), "")


def _distinct(
    run: Record,
    names: Sequence[str],
    # Range relative to the largest value of the channel itself, or difference of two channels relative to their
    # range: below the four digits of tick labels and the width of a line.
    flat: float = 1e-6,
) -> dict[str, list[str]]:
    """Each channel once, with those of the same unit whose curves coincide with it."""
    groups: dict[str, list[str]] = {}
    of_unit: dict[str, tuple[list[str], list[Array]]] = {}  # names, and a few samples of each: most curves differ there
    for name in dict.fromkeys(names):
        x = run[name]
        spread = float(np.fmax.reduce(x) - np.fmin.reduce(x)) if x.size else 0.0
        labels, samples = of_unit.setdefault(run.units[name], ([], []))
        few = np.nan_to_num(x[:: max(1, x.size // _COMPARED)], nan=np.finfo(float).max)
        limit = flat * spread
        near = np.flatnonzero(np.abs(np.array(samples) - few).max(axis=1) <= limit) if samples else ()
        same = (
            k for k in near if spread > 0.0 and np.allclose(run[labels[k]], x, rtol=0.0, atol=limit, equal_nan=True)
        )
        twin = next((labels[k] for k in same), None)
        if twin is None:
            groups[name] = []
            labels.append(name)
            samples.append(few)
        else:
            groups[twin].append(name)
    return groups


def joint_coordinates(run: Record) -> list[str]:
    """Coordinates of joints, found from names and scene."""
    joints = {joint.name for joint in Scene.from_json(run.scene).joints}
    coordinates = []
    for name in run.names:
        stem, _, last = name.rpartition(".")
        # without a scene, as in a CSV file: a body has .angle too, but beside .x
        is_joint = stem in joints if joints else stem and f"{stem}.x" not in run.names
        if is_joint and (last in _COORDINATES or (joints and last in ("x", "y"))):
            coordinates.append(name)
    return coordinates


def _of(run: Record, stem: str) -> list[str]:
    """The channels of a sensor or an input."""
    return [name for name in run.names if name == stem or name.startswith(f"{stem}.")]


def thin_out(x: Array, y: Array, *, monotonic: bool) -> tuple[Array, Array]:
    """Fewer points that look the same: of every bucket in time its first, lowest, highest and last sample."""
    if not monotonic:
        step = -(-x.size // _PATH_POINTS)
        return x[::step], y[::step]
    if x.size <= 8 * _BUCKETS:
        return x, y
    width = x.size // _BUCKETS
    covered = width * (x.size // width)
    block = y[:covered].reshape(-1, width)
    first = np.arange(0, covered, width)
    low = first + np.where(np.isnan(block), np.inf, block).argmin(axis=1)
    high = first + np.where(np.isnan(block), -np.inf, block).argmax(axis=1)
    # a gap stays visible when it is as long as a bucket: then all four samples are NaN
    remaining = np.arange(covered, x.size)
    indices = np.unique(np.concatenate([first, low, high, first + width - 1, remaining]))
    return x[indices], y[indices]
