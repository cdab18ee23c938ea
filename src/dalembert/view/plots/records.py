"""Channels of a record over time, or over another channel."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import AutoMinorLocator

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.record import Record
from dalembert.view.plots.before_after import plot_control
from dalembert.view.plots.figures import choice, line_of, new_figure, put_legend_beside, with_unit
from dalembert.view.plots.phase import plot_phase
from dalembert.view.plots.record_channels import (
    default_channels,
    exceeds_rounding,
    finite_span,
    is_flat,
    largest_of_units,
    moving_channels,
    thin_out,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LENGTHS = ("m", "mm", "cm", "km")
_LONG = 26  # signs of a label that fit beside an axes
_MOST_LINES = 12  # in one axes
_MOST_AXES = 12  # in one figure
_QUANTITIES = {
    "m": "length", "rad": "angle", "m/s": "speed", "rad/s": "rate", "N": "force", "N m": "torque", "J": "energy",
}  # fmt: skip


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
    options_of: dict[str, dict[str, Any]] = {
        "time": {"against": "time"},
        "phase": {},
        "spectrum": {"highest": None, "axis": "log", "segment": None},
        "control": {"switched_on": None, "settle": 0.0},
    }
    _only(view, options_of, against=against, switched_on=switched_on, settle=settle, highest=highest, axis=axis,
          segment=segment)  # fmt: skip
    if view != "control":
        for argument in names:
            if not isinstance(argument, str):
                raise DataError(
                    "bad-name",
                    f"channels of a record are named by text, not by {argument!r:.60}; two records.",
                    Advice("{}.", Argument("View", "control")),
                )
    if view == "phase":
        return plot_phase(run, names, title)
    if view == "spectrum":
        from dalembert.view.plots.spectrum import record_spectrum

        return record_spectrum(run, names, highest, axis, segment, title)
    if view == "control":
        return plot_control(run, names, switched_on, settle, title)
    return _histories(run, names, against, title)


def _only(view: str, own: Mapping[str, Mapping[str, Any]], **given: Any) -> None:
    """Refuse an unknown view, and options that it does not have."""
    choice("view", view, tuple(own), "the plot of a Record")
    usual = {key: value for options in own.values() for key, value in options.items()}
    for key, value in given.items():
        if key not in own[view] and value != usual[key]:
            where = next(other for other, options in own.items() if key in options)
            raise DataError("ineffective-argument", f"{key} belongs to the view {where!r}, not to {view!r}.")


def _histories(run: Record, names: Sequence[str], against: str, title: str | None) -> Figure:
    """Channels over time or over another channel, one axes per unit."""
    equal = {} if names else default_channels(run)
    groups = _groups(run, names or equal, against)
    if not names and against == "time":
        groups = {(unit, f"{stem}/{k}"): panel for (unit, stem), labels in groups.items()
                  for k, panel in enumerate(split_by_span(run, labels))}  # fmt: skip
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
            put_legend_beside(ax, len(labels))
    axes[-1].set_xlabel(with_unit(against, x_unit))
    if square:
        axes[0].set_aspect("equal", adjustable="datalim")
    figure.align_ylabels(axes)
    heading = run.name if title is None else title
    if heading:
        axes[0].set_title(heading, loc="left")
    return figure


def split_by_span(run: Record, labels: Sequence[str]) -> list[list[str]]:
    """Channels in groups whose motion can be seen on one axis: together they span at most thrice the widest of them."""
    spans = {label: finite_span(run[label]) for label in labels}
    groups: list[list[str]] = []
    for label in sorted(labels, key=lambda one: -(spans[one][1] - spans[one][0])):  # the widest of a group comes first
        for group in groups:
            low, high = (pick(spans[one][k] for one in [*group, label]) for k, pick in enumerate((min, max)))
            if high - low <= 3.0 * (spans[group[0]][1] - spans[group[0]][0]):
                group.append(label)
                break
        else:
            groups.append([label])
    ordered = [sorted(group, key=list(labels).index) for group in groups]
    return sorted(ordered, key=lambda group: list(labels).index(group[0]))


def _flat_limits(run: Record, labels: Sequence[str], unit: str) -> tuple[float, float] | None:
    """Limits that show rounding errors as the flat line they are; None where the data has a range of its own."""
    if all(label.endswith(".balance") or label.startswith("residual.") for label in labels):
        return None  # differences: small by nature, and to be looked at
    low, high = finite_span(run[list(labels)])
    size = max(abs(low), abs(high))
    if moving_channels(run, labels):
        return (low - 0.1 * size, high + 0.1 * size) if is_flat(run[list(labels)]) else None
    largest = largest_of_units(run, {unit}).get(unit, 0.0)
    if exceeds_rounding(size, largest):
        return (low - 0.1 * size, high + 0.1 * size)
    # rounding about zero; the sum of energies is as good as the tolerance of the run
    return (-0.1 * largest, 0.1 * largest) if list(labels) == ["energy"] and largest > 0.0 else (-0.055, 0.055)


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
        groups = {(unit, f"{stem}{k}" if k else stem): panel for (unit, stem), labels in groups.items()
                  for k, panel in enumerate(_split_lines(labels))}  # fmt: skip
    if len(groups) > _MOST_AXES:
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
    return ".".join(word for word in labels[0].split(".") if all(word in other for other in others))


def _with_equal(label: str, equal: Mapping[str, Sequence[str]]) -> str:
    """``encoder = A.angle``: a channel and those drawn by the same line."""
    others = equal.get(label) or ()
    return " = ".join([label, *others]) if len(others) < 2 else f"{label} and {len(others)} equal"


def _in_lines(label: str) -> str:
    """A label beside an axes: a long one in lines, broken before its equals or its unit."""
    return re.sub(r" (=|and \d|\[)", r"\n\1", label) if len(label) > _LONG else label
