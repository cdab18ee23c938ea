"""Channels of a record over time, or over another channel."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.equations.scene import Scene
from dalembert.record import Array, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BUCKETS = 2000  # more than the pixels across any figure
_PATH_POINTS = 50_000
_LENGTHS = ("m", "mm", "cm", "km")
_COORDINATES = ("angle", "angle1", "angle2", "displacement", "parameter")
_RATES = {
    "angle": "rate",
    "angle1": "rate1",
    "angle2": "rate2",
    "displacement": "rate",
    "x": "vx",
    "y": "vy",
    "z": "vz",
}
_EULER_PARAMETERS = ("e0", "e1", "e2", "e3")
_DEFAULT_SERIES = 8
_LONG = 26  # signs of a label that fit beside an axes
_COMPARED = 16  # samples of a curve that are compared before all of them
_EQUAL = 1e-6  # of its range: a difference between two channels that no picture shows
_MOST_LINES = 12  # in one axes
_QUANTITIES = {
    "m": "length",
    "rad": "angle",
    "m/s": "speed",
    "rad/s": "rate",
    "N": "force",
    "N m": "torque",
    "J": "energy",
}


def plot_record(
    run: Record,
    *names: Any,
    view: str = "time",
    against: str = "time",
    switched_on: float | None = None,
    settle: float = 0.0,
    highest: float | None = None,
    axis: str = "log",
    segment: int | None = None,
    title: str | None = None,
) -> Figure:
    """Plot channels of a record.

    Parameters
    ----------
    run : a simulated run or a measurement.
    names : channels, or stems (``"A"`` is every channel of joint A); without any, sensors, inputs and joint
        coordinates that move, and energy; the rate of an angle that goes round, equal channels by one line, those far
        apart in axes of their own.
    view : "time": one axes per unit, all above one another. "phase": every coordinate against its rate. "spectrum":
        power spectral densities. "control": without and with control.
    against : channel along the horizontal axis ("time").
    switched_on : time [s] at which control begins ("control"); or give the record with control after the one without.
    settle : seconds after it that are not judged ("control").
    highest, axis, segment : last frequency [Hz], "log" or "linear", samples per block ("spectrum").
    title : above the figure; by default the name of the record.
    """
    own: dict[str, dict[str, Any]] = {
        "time": {"against": "time"},
        "phase": {},
        "spectrum": {"highest": None, "axis": "log", "segment": None},
        "control": {"switched_on": None, "settle": 0.0},
    }
    _only(view, own, against=against, switched_on=switched_on, settle=settle, highest=highest, axis=axis,
          segment=segment)  # fmt: skip
    if view != "control":
        for one in names:
            if not isinstance(one, str):
                raise DataError(
                    "bad-name",
                    f"channels of a record are named by text, not by {one!r:.60}; two records.",
                    Advice("{}.", Argument("View", "control")),
                )
    if view == "phase":
        from dalembert.view.plots.phase import plot_phase

        return plot_phase(run, names, title)
    if view == "spectrum":
        from dalembert.view.plots.spectrum import record_spectrum

        return record_spectrum(run, names, highest, axis, segment, title)
    if view == "control":
        from dalembert.view.plots.before_after import plot_control

        return plot_control(run, names, switched_on, settle, title)
    return _histories(run, names, against, title)


def _only(view: str, own: Mapping[str, Mapping[str, Any]], **given: Any) -> None:
    """Refuse an unknown view, and options that it does not have."""
    from dalembert.view.plots.figures import choice

    choice("view", view, tuple(own), "the plot of a Record")
    usual = {key: value for options in own.values() for key, value in options.items()}
    for key, value in given.items():
        if key not in own[view] and value != usual[key]:
            where = next(other for other, options in own.items() if key in options)
            raise DataError("ineffective-argument", f"{key} belongs to the view {where!r}, not to {view!r}.")


def _histories(run: Record, names: Sequence[str], against: str, title: str | None) -> Figure:
    """Channels over time or over another channel, one axes per unit."""
    from matplotlib.ticker import AutoMinorLocator

    from dalembert.view.plots.figures import beside, line_of, new_figure, with_unit

    equal = {} if names else default_channels(run)
    groups = _groups(run, names or equal, against)
    if not names and against == "time":
        groups = {(unit, f"{stem}/{k}"): part for (unit, stem), labels in groups.items()
                  for k, part in enumerate(apart(run, labels))}  # fmt: skip
    x, x_unit = run[against], "s" if against == "time" else run.units.get(against, "")
    if x.ndim != 1:
        raise DataError("wrong-shape", f"{against!r} is a vector; take one of {', '.join(run.expand(against))}.")
    square = against != "time" and len(groups) == 1 and x_unit in _LENGTHS and next(iter(groups))[0] == x_unit
    figure = new_figure(*((6.0, 5.4) if square else (8.0, 0.9 + max(1.9 * len(groups), 2.6))))
    axes: list[Axes] = list(figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0])
    for ax, ((unit, _), labels) in zip(axes, groups.items()):
        for i, label in enumerate(labels):
            drawn_x, drawn_y = thin_out(x, run[label], monotonic=against == "time")
            ax.plot(drawn_x, drawn_y, label=_with_equal(label, equal), **line_of(i))
        named = _with_equal(labels[0], equal) if len(labels) == 1 else _common(labels)
        ax.set_ylabel(_in_lines(with_unit(named or _QUANTITIES.get(unit, ""), unit)))
        ax.margins(x=0.05 if square else 0.01, y=0.08)
        flat = _flat_limits(run, labels, unit)
        if flat:
            ax.set_ylim(*flat)
        ax.yaxis.set_minor_locator(AutoMinorLocator(2))
        if len(labels) > 1:
            beside(ax, len(labels))
    axes[-1].set_xlabel(with_unit(against, x_unit))
    if square:
        axes[0].set_aspect("equal", adjustable="datalim")
    figure.align_ylabels(axes)
    heading = run.name if title is None else title
    if heading:
        axes[0].set_title(heading, loc="left")
    return figure


def default_names(run: Record) -> list[str]:
    """Channels shown by default, and energy: sensors, inputs, then joint coordinates, without those that rest.

    The rate instead of an angle that only goes round and round; of channels that are equal only the first. Of a record
    that knows no joints its first channels; where nothing moves, the coordinates as they are.
    """
    return list(default_channels(run))


def default_channels(run: Record) -> dict[str, list[str]]:
    """The channels shown by default, each with those that are equal to it."""
    scene = Scene.from_json(run.scene)
    coordinates = joint_coordinates(run)
    sensed = [name for stem in (*scene.sensors, *scene.inputs) for name in _of(run, stem)]
    first = _moving(run, list(dict.fromkeys([*sensed, *coordinates]))) or coordinates
    if not first:
        first = [name for name in run.names if name.partition(".")[0] not in ("energy", "residual")]
        first = [name for name in first if name.rpartition(".")[2] not in _EULER_PARAMETERS] or first
    found = select_distinct(run, first)
    shown = list(found)[:_DEFAULT_SERIES] + [name for name in ("energy",) if name in run.names]
    return {name: found.get(name, []) for name in shown or run.names[:_DEFAULT_SERIES]}


def select_distinct(run: Record, names: Sequence[str]) -> dict[str, list[str]]:
    """Channels that differ, each with those equal to it; rates instead of angles of full turns."""
    chosen: list[str] = []
    for name, equal in _distinct(run, names).items():
        rates = [rate for one in (name, *equal) if goes_round(run, one) and (rate := rate_of(run, one))]
        chosen += rates[:1] or [name, *equal]
    return _distinct(run, chosen)


def goes_round(run: Record, name: str) -> bool:
    """Whether a channel is an angle that turns more than once, always the same way: over time an endless ramp."""
    x = run[name][np.isfinite(run[name])]
    if run.units[name] != "rad" or x.size < 2 or abs(x[-1] - x[0]) <= 2.0 * np.pi:
        return False
    x = x if x[-1] > x[0] else -x
    return float((np.maximum.accumulate(x) - x).max()) < 0.05 * float(x[-1] - x[0])


def rate_of(run: Record, label: str) -> str:
    """Name of the channel that is the rate of another, or "" where the record has none."""
    stem, _, last = label.rpartition(".")
    known = [f"{label}.rate", f"{label}_rate", f"{label}.velocity"]
    if last in _RATES:
        known.append(f"{stem}.{_RATES[last]}" if stem else _RATES[last])
    return next((name for name in known if name in run.names), "")


def _distinct(run: Record, names: Sequence[str]) -> dict[str, list[str]]:
    """Each channel once, with those of the same unit whose curves coincide with it."""
    found: dict[str, list[str]] = {}
    of_unit: dict[str, tuple[list[str], list[Array]]] = {}  # names, and a few samples of each: most curves differ there
    for name in dict.fromkeys(names):
        x = run[name]
        spread = float(np.fmax.reduce(x) - np.fmin.reduce(x)) if x.size else 0.0
        known, samples = of_unit.setdefault(run.units[name], ([], []))
        few = np.nan_to_num(x[:: max(1, x.size // _COMPARED)], nan=np.finfo(float).max)
        near = np.flatnonzero(np.abs(np.array(samples) - few).max(axis=1) <= _EQUAL * spread) if samples else ()
        limit = _EQUAL * spread
        same = (k for k in near if spread > 0.0 and np.allclose(run[known[k]], x, rtol=0.0, atol=limit, equal_nan=True))
        twin = next((known[k] for k in same), None)
        if twin is None:
            found[name] = []
            known.append(name)
            samples.append(few)
        else:
            found[twin].append(name)
    return found


def joint_coordinates(run: Record) -> list[str]:
    """Coordinates of joints, found from names and scene."""
    joints = {joint.name for joint in Scene.from_json(run.scene).joints}
    coordinates = []
    for name in run.names:
        stem, _, last = name.rpartition(".")
        # without a scene, as in a CSV file: a body has .angle too, but beside .x
        known = stem in joints if joints else stem and f"{stem}.x" not in run.names
        if known and (last in _COORDINATES or (joints and last in ("x", "y"))):
            coordinates.append(name)
    return coordinates


def _of(run: Record, stem: str) -> list[str]:
    """The channels of a sensor or an input."""
    return [name for name in run.names if name == stem or name.startswith(f"{stem}.")]


def _moving(run: Record, names: Sequence[str]) -> list[str]:
    """Those whose range is more than rounding, beside the largest value of their unit."""
    units, sizes = run.units, {}
    for name in names:
        values = run[name][np.isfinite(run[name])]
        if values.size:
            sizes[name] = (float(np.ptp(values)), float(np.abs(values).max()))
    # weight cancels at rest, so an acceleration is no better than the rounding of gravity
    largest = {"m/s^2": float(np.linalg.norm(Scene.from_json(run.scene).gravity))}
    for name, (_, size) in sizes.items():
        largest[units[name]] = max(largest.get(units[name], 0.0), size)
    return [name for name, (wide, _) in sizes.items() if wide > 1e-9 * largest[units[name]]]


def apart(run: Record, labels: Sequence[str]) -> list[list[str]]:
    """Channels in groups whose motion can be seen on one axis: together they span at most thrice the widest of them."""
    spans = {}
    for label in labels:
        values = run[label][np.isfinite(run[label])]
        spans[label] = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    groups: list[list[str]] = []
    for label in sorted(labels, key=lambda one: -(spans[one][1] - spans[one][0])):  # the widest of a group comes first
        for group in groups:
            low, high = (pick(spans[one][k] for one in [*group, label]) for k, pick in enumerate((min, max)))
            if high - low <= 3.0 * (spans[group[0]][1] - spans[group[0]][0]):
                group.append(label)
                break
        else:
            groups.append([label])
    found = [sorted(group, key=list(labels).index) for group in groups]
    return sorted(found, key=lambda group: list(labels).index(group[0]))


def _flat_limits(run: Record, labels: Sequence[str], unit: str) -> tuple[float, float] | None:
    """Limits that show rounding errors as the flat line they are; None where the data has a range of its own."""
    if all(label.endswith(".balance") or label.startswith("residual.") for label in labels):
        return None  # differences: small by nature, and to be looked at
    values = run[list(labels)]
    values = values[np.isfinite(values)]
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high))
    # noise about zero is known by what else the record has of this unit; 1e-18 is nothing in any SI unit of a machine;
    # the sum of energies is as good as the tolerance of the run
    peers = [name for name, other in run.units.items() if unit and other == unit]
    largest = max([float(np.fmax.reduce(np.abs(run[name]))) for name in peers], default=0.0)
    if list(labels) == ["energy"] and size < 1e-9 * largest:
        return (-0.1 * largest, 0.1 * largest)
    if size < 1e-18 or size < 1e-12 * largest:
        return (-0.055, 0.055)
    if high - low < 1e-6 * size:
        return (low - 0.1 * size, high + 0.1 * size)
    return None


def _groups(run: Record, names: Iterable[str], against: str) -> dict[tuple[str, str], list[str]]:
    """Channels by unit; those without one by their stem, for they may mean anything."""
    run[against]  # an unknown name is reported before anything is drawn
    units = run.units
    groups: dict[tuple[str, str], list[str]] = {}
    for name in dict.fromkeys(names):
        for label in run.expand(name):
            unit = units[label]
            group = groups.setdefault((unit, "" if unit else label.partition(".")[0]), [])
            if label not in group:
                group.append(label)
    if against == "time":
        groups = {(unit, f"{stem}{k}" if k else stem): part for (unit, stem), labels in groups.items()
                  for k, part in enumerate(_split_lines(labels))}  # fmt: skip
    if len(groups) > 12:
        raise DataError("too-large", f"{len(groups)} axes are too many for one figure. Name fewer channels.")
    return groups


def _split_lines(labels: list[str]) -> list[list[str]]:
    """Spread many lines over several axes: by quantity (.x, .rate), by body, or in turn."""
    if len(labels) <= _MOST_LINES:
        return [labels]
    for key in (2, 0):
        parts: dict[str, list[str]] = {}
        for label in labels:
            parts.setdefault(label.rpartition(".")[key] if key else label.partition(".")[0], []).append(label)
        if 1 < len(parts) <= 6 and max(map(len, parts.values())) <= _MOST_LINES:
            return list(parts.values())
    count = -(-len(labels) // 8)
    size = -(-len(labels) // count)
    return [labels[k : k + size] for k in range(0, len(labels), size)]


def _common(labels: list[str]) -> str:
    """Common part of the names of the channels of one axes."""
    others = [set(label.split(".")) for label in labels[1:]]
    return ".".join(part for part in labels[0].split(".") if all(part in other for other in others))


def _with_equal(label: str, equal: Mapping[str, Sequence[str]]) -> str:
    """``encoder = A.angle``: a channel and those drawn by the same line."""
    others = equal.get(label) or ()
    return " = ".join([label, *others]) if len(others) < 2 else f"{label} and {len(others)} equal"


def _in_lines(label: str) -> str:
    """A label beside an axes: a long one in lines, broken before its equals or its unit."""
    return re.sub(r" (=|and \d|\[)", r"\n\1", label) if len(label) > _LONG else label


def thin_out(x: Array, y: Array, *, monotonic: bool) -> tuple[Array, Array]:
    """Fewer points that look the same: of every bucket in time its first, lowest, highest and last sample."""
    if not monotonic:
        step = -(-x.size // _PATH_POINTS)
        return x[::step], y[::step]
    if x.size <= 8 * _BUCKETS:
        return x, y
    width = x.size // _BUCKETS
    whole = width * (x.size // width)
    block = y[:whole].reshape(-1, width)
    first = np.arange(0, whole, width)
    low = first + np.where(np.isnan(block), np.inf, block).argmin(axis=1)
    high = first + np.where(np.isnan(block), -np.inf, block).argmax(axis=1)
    # a gap stays visible when it is as long as a bucket: then all four samples are NaN
    rest = np.arange(whole, x.size)
    kept = np.unique(np.concatenate([first, low, high, first + width - 1, rest]))
    return x[kept], y[kept]
