"""Mode shapes without a geometry: bars over coordinates; and along beams, bars, shafts and strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Patch

from dalembert.errors import DataError
from dalembert.linear import ties
from dalembert.linear.modes import Modes
from dalembert.structures.continuous import ContinuousModes
from dalembert.view import comparisons, pole_map
from dalembert.view.figures import COLORS, GREY, INK, beside, choice, chosen_modes, heading, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 48  # coordinates up to which each has its name
SEEN = 0.02  # imaginary part of a shape, largest component 1, below which it is drawn as a real one
VIEWS = ("shapes", "mac", "poles")


def plot_modes(
    modes: Modes, *, view: str = "shapes", mode: Any = None, against: Modes | None = None, title: str | None = None
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
        raise DataError('against= belongs to view="mac": plot(modes, view="mac", against=other).')
    if against is not None and not isinstance(against, Modes):
        raise DataError(f"against= takes Modes, not a {type(against).__name__}.")
    if view == "shapes":
        return _shapes(modes, chosen_modes(mode, len(modes), 4), title)
    some = modes if mode is None else modes.select(chosen_modes(mode, len(modes), 1, most=len(modes)))
    if not len(some):
        raise DataError("there are no modes to draw.")
    return comparisons.plot_mac(some, against, title) if view == "mac" else pole_map.plot_poles(some, title=title)


def _shapes(modes: Modes, numbers: list[int], title: str | None) -> Figure:
    n = len(modes.coordinates)
    if not n:
        raise DataError("these Modes have no coordinates to draw.")
    figure = new_figure(min(max(5.5, 2.0 + 0.32 * n), 11.0), 1.0 + 1.45 * len(numbers))
    axes: list[Axes] = list(figure.subplots(len(numbers), 1, sharex=True, squeeze=False)[:, 0])
    endings = [name.rpartition(".")[2] if "." in name else "" for name in modes.coordinates]
    kinds = list(dict.fromkeys(endings))
    several = 1 < len(kinds) <= len(COLORS)
    colors = [COLORS[kinds.index(ending) if several else 0] for ending in endings]
    place = np.arange(n)
    for ax, number in zip(axes, numbers):
        shape = modes.shapes[:, number - 1]
        largest = shape[ties.first_largest(shape)]
        shape = shape / largest if largest else shape
        if np.iscomplexobj(shape) and np.abs(shape.imag).max() > SEEN:
            ax.bar(place - 0.2, shape.real, 0.4, color=colors)
            ax.bar(place + 0.2, shape.imag, 0.4, color=colors, alpha=0.4)
            ax.set_ylabel("re, im (pale)")
        else:
            ax.bar(place, shape.real, 0.7, color=colors)
        ax.axhline(0.0, color=INK, lw=0.8)
        ax.set_ylim(-1.15, 1.15)
        ax.grid(axis="x", visible=False)
        ax.set_title(_words(modes, number), loc="left", fontsize=10, fontweight="normal")
    if n <= NAMED:
        long = max(map(len, modes.coordinates)) * n > 70
        axes[-1].set_xticks(place, modes.coordinates, rotation=90 if long else 0)
    else:
        axes[-1].set_xlabel("number of the coordinate")
    axes[-1].set_xlim(-0.7, n - 0.3)
    if several:
        shown = [Patch(color=COLORS[k], label=f".{kind}" if kind else "others") for k, kind in enumerate(kinds)]
        figure.legend(handles=shown, loc="outside right upper")
    heading(figure, "mode shapes, largest component 1" if title is None else title)
    return figure


def _words(modes: Modes, number: int) -> str:
    hertz, zeta = modes.frequencies_hz[number - 1], modes.damping_ratios[number - 1]
    damped = f", damping {100.0 * zeta:.3g} %" if abs(zeta) > 1e-9 else ""
    return f"mode {number}: {hertz:.4g} Hz{damped}"


def plot_continuous_modes(modes: ContinuousModes, *, mode: Any = None, title: str | None = None) -> Figure:
    """Exact shapes of a beam, bar, shaft or string over its length."""
    numbers = chosen_modes(mode, len(modes), 5)
    z, shapes = modes.sampled(401)
    figure = new_figure(8.0, 3.6)
    ax: Axes = figure.subplots()
    for k, number in enumerate(numbers):
        style = "-" if k < len(COLORS) else "--"
        ax.plot(z, shapes[number - 1], style, color=COLORS[k % len(COLORS)],
                label=f"{number}: {modes.frequencies_hz[number - 1]:.4g} Hz")  # fmt: skip
    ax.axhline(0.0, color=GREY, lw=0.8, zorder=1)
    ax.set_xlim(0.0, modes.length)
    ax.margins(y=0.08)
    ax.set_xlabel("position along the body [m]")
    mass = modes.normalisation == "mass"
    ax.set_ylabel("shape [1/√kg]" if mass else "shape, largest 1 [-]")
    beside(ax, len(numbers))
    heading(figure, "" if title is None else title)
    return figure
