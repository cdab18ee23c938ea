"""Mode shapes without a geometry: bars over coordinates; and along beams, bars, shafts and strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Patch

from dalembert.core.errors import DataError
from dalembert.linear.modes import Modes, damping_text, turns
from dalembert.numerics import ties
from dalembert.structures.continuous.continuous_modes import ContinuousModes
from dalembert.view.plots.figures import (
    COLORS,
    GREY,
    INK,
    choice,
    choose_modes,
    heading,
    line_of,
    new_figure,
    put_legend_beside,
)
from dalembert.view.plots.linear import comparisons, pole_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 48  # coordinates up to which each has its name
STILL = 1e-9  # largest component of a part of a shape, of the whole shape, that is rounding
FEW = 8  # coordinates up to which several modes stand side by side
TURNS = ("angle", "angle1", "angle2", "rx", "ry", "rz")  # endings of coordinates in radians
VIEWS = ("shapes", "mac", "poles")


def plot_modes(
    modes: Modes, *, view: str = "shapes", mode: object = None, against: Modes | None = None, title: str | None = None
) -> Figure:
    """Shapes as bars over the coordinates, largest component 1; the MAC matrix; or the eigenvalues.

    Parameters
    ----------
    view : "shapes", "mac" or "poles".
    mode : number or numbers from 1; the first four when left out (all for "mac" and "poles").
    against : other modes, for ``view="mac"``.
    """
    choice("view", view, VIEWS, "the plot of Modes")
    if against is not None and view != "mac":
        raise DataError("ineffective-argument", "against belongs to the view 'mac'.")
    if against is not None and not isinstance(against, Modes):
        raise DataError("wrong-type", f"against must be Modes, not a {type(against).__name__}.")
    if view == "shapes":
        return _shapes(modes, choose_modes(mode, len(modes), 4), title)
    numbers = None if mode is None else choose_modes(mode, len(modes), 1, most=len(modes))
    some = modes if numbers is None else modes.select(numbers)
    if not len(some):
        raise DataError("empty", "there are no modes to draw.")
    return (
        comparisons.plot_mac(some, against, title, numbers) if view == "mac" else pole_map.plot_poles(some, title=title)
    )


def _shapes(modes: Modes, numbers: list[int], title: str | None) -> Figure:
    if not len(modes.coordinates):
        raise DataError("empty", "these Modes have no coordinates to draw.")
    turns = np.array([name.rpartition(".")[2] in TURNS for name in modes.coordinates])
    groups = [np.flatnonzero(chosen) for chosen in (~turns, turns) if chosen.any()]
    if len(groups) > 1:  # metres and radians have no common scale
        rows, columns = len(numbers), len(groups)
        widths = [max(len(group), 2) for group in groups]
    else:
        columns = 1 if len(groups[0]) > FEW else min(len(numbers), 3 if len(numbers) != 4 else 2)
        rows = -(-len(numbers) // columns)
        widths = [1] * columns
    named = len(modes.coordinates) <= NAMED
    parts = groups if len(groups) > 1 else groups * columns
    names = [[modes.coordinates[i] for i in indices] for indices in parts]
    upright = [max(map(len, some)) * len(some) > 75.0 * width / sum(widths) for some, width in zip(names, widths)]
    below = max([max(map(len, some)) for some, up in zip(names, upright) if up], default=0) if named else 0
    figure = new_figure(min(max(8.5, 2.0 + 0.32 * len(modes.coordinates)), 11.0), 1.0 + 1.45 * rows + 0.075 * below)
    axes: Any = figure.subplots(rows, columns, sharex="col", squeeze=False, gridspec_kw={"width_ratios": widths})
    for k, number in enumerate(numbers):
        if len(groups) > 1:
            for ax, group, unit in zip(axes[k], groups, ("[m]", "[rad]")):
                _bars(ax, modes, number, group, unit)
            axes[k, 0].set_title(_words(modes, number), loc="left", fontsize=10, fontweight="normal")
        else:
            ax = axes[k // columns, k % columns]
            _bars(ax, modes, number, groups[0], "")
            words = _words(modes, number).replace(", ", "\n") if columns > 2 else _words(modes, number)
            ax.set_title(words, loc="left", fontsize=9, fontweight="normal")
    for ax in axes.flat[len(numbers) * len(groups) :]:
        ax.set_axis_off()
    for ax, some, up in zip(axes[-1], names, upright):
        if named:
            ax.set_xticks(range(len(some)), some, rotation=90 if up else 0)
        else:
            ax.set_xlabel("number of the coordinate")
        ax.set_xlim(-0.7, len(some) - 0.3)
    endings = _endings(modes)
    kinds = list(dict.fromkeys(endings))
    if len(groups) == 1 and 1 < len(kinds) <= len(COLORS):
        shown = [Patch(color=COLORS[k], label=f".{kind}" if kind else "others") for k, kind in enumerate(kinds)]
        figure.legend(handles=shown, loc="outside right upper")
    heading(figure, "mode shapes, largest component 1" if title is None else title)
    return figure


def _endings(modes: Modes) -> list[str]:
    return [name.rpartition(".")[2] if "." in name else "" for name in modes.coordinates]


def _bars(ax: Axes, modes: Modes, number: int, group: Any, unit: str) -> None:
    """The components of one mode in one unit, on the scale of the largest of all."""
    endings = _endings(modes)
    kinds = list(dict.fromkeys(endings))
    colors = [COLORS[kinds.index(endings[i]) if len(kinds) <= len(COLORS) else 0] for i in group]
    whole = modes.shapes[:, number - 1]
    largest = whole[ties.first_largest(whole)]
    shape = (whole / largest if largest else whole)[group]
    place = np.arange(len(group))
    label = unit
    if np.iscomplexobj(shape) and turns(np.abs(shape.imag).max(), max(np.abs(shape).max(), STILL)):
        ax.bar(place - 0.2, shape.real, 0.4, color=colors)
        ax.bar(place + 0.2, shape.imag, 0.4, color=colors, alpha=0.4)
        label = f"re, im (pale) {unit}".strip()
    else:
        ax.bar(place, shape.real, 0.7, color=colors)
    ax.set_ylabel(label)
    ax.axhline(0.0, color=INK, lw=0.8)
    size = float(np.abs(shape).max())
    high = 1.15 * (size if unit and size > STILL else 1.0)
    ax.set_ylim(-high, high)
    ax.grid(axis="x", visible=False)


def _words(modes: Modes, number: int) -> str:
    hertz, zeta = modes.frequencies_hz[number - 1], modes.damping_ratios[number - 1]
    return ", ".join(filter(None, [f"mode {number}: {hertz:.4g} Hz", damping_text(zeta)]))


def plot_continuous_modes(modes: ContinuousModes, *, mode: object = None, title: str | None = None) -> Figure:
    """Exact shapes of a beam, bar, shaft or string over its length."""
    numbers = choose_modes(mode, len(modes), 5)
    z, shapes = modes.sample(401)
    figure = new_figure(8.0, 3.6)
    ax: Axes = figure.subplots()
    for k, number in enumerate(numbers):
        ax.plot(z, shapes[number - 1], label=f"{number}: {modes.frequencies_hz[number - 1]:.4g} Hz", **line_of(k))
    ax.axhline(0.0, color=GREY, lw=0.8, zorder=1)
    ax.set_xlim(0.0, modes.length)
    ax.margins(y=0.08)
    ax.set_xlabel("position along the body [m]")
    mass = modes.normalisation == "mass"
    ax.set_ylabel("shape [1/√kg]" if mass else "shape, largest 1 [-]")
    put_legend_beside(ax, len(numbers))
    heading(figure, "" if title is None else title)
    return figure
