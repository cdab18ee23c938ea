"""EigenvalueBranchess: frequencies and growth along a parameter (Campbell diagram), or the path of the eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from dalembert.core.arrays import FloatArray
from dalembert.linear.families.track_eigenvalues import EigenvalueBranches
from dalembert.view.plots.figures import BLUE, GREY, INK, RED, STABLE, choice, heading, new_figure, with_unit
from dalembert.view.plots.linear import pole_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 12
BOUNDARY: Any = {"ls": "", "marker": "D", "ms": 5, "mfc": "white", "mec": RED, "mew": 1.3, "zorder": 5,
                 "label": "_crossing"}  # fmt: skip


def plot_branches(
    branches: EigenvalueBranches, *, view: str | None = None, frequency: str = "Hz", title: str | None = None
) -> Figure:
    """Eigenvalues along a parameter.

    Parameters
    ----------
    view : "campbell" (frequencies over the parameter, growth rates below where anything decays or grows) or "locus"
        (eigenvalues in the complex plane). Branches over a gain are drawn as a locus when left out, all others are not.
    frequency : "Hz" or "rad/s", of the Campbell diagram.
    """
    choice("frequency unit", frequency, ("Hz", "rad/s"), "the plot of eigenvalue branches")
    wanted = ("locus" if branches.parameter == "gain" else "campbell") if view is None else view
    if choice("view", wanted, ("campbell", "locus"), "the plot of eigenvalue branches") == "locus":
        return _locus(branches, title or "")
    return _campbell(branches, frequency, title or "")


def _find_growing(branches: EigenvalueBranches) -> Any:
    """(nv, nb) which branches grow; never where the whole system was found stable."""
    s = branches.eigenvalues
    return pole_map.exceeds_rounding(s.real, s) & ~np.asarray(branches.stable, dtype=bool)[:, None]


def _campbell(branches: EigenvalueBranches, unit: str, title: str) -> Figure:
    factor = 1.0 / (2.0 * np.pi) if unit == "Hz" else 1.0
    heights, top, is_seen = _heights(branches, factor)
    rates = np.array(branches.growth_rates)
    moving = pole_map.exceeds_rounding(np.abs(rates[:, is_seen]), branches.eigenvalues).any()
    figure = new_figure(8.0, 6.4 if moving else 4.6)
    ratios = {"height_ratios": [1.5, 1.0]} if moving else None
    axes: list[Axes] = list(figure.subplots(1 + int(moving), 1, sharex=True, squeeze=False, gridspec_kw=ratios)[:, 0])
    for ax in axes:
        _shade(ax, branches)
    axes[-1].set_xlim(float(branches.values[0]), float(branches.values[-1]))
    axes[0].set_ylim(0.0, top)
    _branches(axes[0], branches, heights, is_seen)
    axes[0].set_ylabel(f"frequency [{unit}]")
    _orders(axes[0], branches, factor, top)
    for crossing in branches.crossings:
        at = crossing.eigenvalue.imag * factor
        if at <= top:
            axes[0].plot(crossing.value, at, clip_on=False, **BOUNDARY)
    if moving:
        axes[1].set_ylim(*_useful_limits(rates[:, is_seen]))
        _branches(axes[1], branches, rates, is_seen)
        axes[1].axhline(0.0, color=INK, lw=0.8)
        for crossing in branches.crossings:
            axes[1].plot(crossing.value, 0.0, **BOUNDARY)
        axes[1].set_ylabel("growth rate [1/s]")
    for k, crossing in enumerate(branches.crossings):
        for ax in axes:
            ax.axvline(crossing.value, color=RED, lw=0.7, ls=":", zorder=1)
        if k < NAMED:
            axes[0].annotate(f"{crossing.value:.4g}", (crossing.value, 1.0), (3, -2), ha="left", va="top",
                             xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=8,
                             color=RED)  # fmt: skip
    axes[-1].set_xlabel(with_unit(branches.parameter, branches.unit))
    if branches.unit == "rad/s":
        turn = 30.0 / np.pi
        above = axes[0].secondary_xaxis("top", functions=(_times(turn), _times(1.0 / turn)))
        above.set_xlabel(f"{branches.parameter} [1/min]", fontsize=9)
        above.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        above.spines["top"].set_visible(True)
    figure.align_ylabels(axes)
    _legend(figure, branches)
    heading(figure, title)
    return figure


def _times(factor: float) -> Callable[[Any], Any]:
    return lambda x: np.asarray(x) * factor


def _heights(branches: EigenvalueBranches, factor: float) -> tuple[FloatArray, float, Any]:
    """Frequencies to draw (nv, nb), the upper end of their axis, and which branches are seen below it.

    With order lines the axis ends a little above the highest of them: what lies beyond no order can excite.
    """
    moving = pole_map.exceeds_rounding(branches.frequencies, branches.eigenvalues)
    heights = np.where(moving, branches.frequencies * factor, np.nan)
    top = 1.08 * float(np.nanmax(heights, initial=0.0)) or 1.0
    fastest = float(np.abs(branches.values).max()) * factor
    highest = 1.25 * fastest * max((critical.order for critical in branches.critical_speeds), default=np.inf)
    top = min(top, highest) if fastest else top
    is_seen = ~(np.nan_to_num(heights, nan=0.0).min(axis=0, initial=np.inf) > top)
    return _to_the_axis(heights), top, is_seen


def _shade(ax: Axes, branches: EigenvalueBranches) -> None:
    """Light green where the whole system is stable, between boundaries found."""
    if not branches.crossings:
        return
    edges = [
        float(branches.values[0]),
        *sorted({crossing.value for crossing in branches.crossings}),
        float(branches.values[-1]),
    ]
    for low, high in pairwise(edges):
        inside = (branches.values > low) & (branches.values < high)
        if inside.any() and np.asarray(branches.stable)[inside].all():
            ax.axvspan(low, high, color=STABLE, lw=0, zorder=0)


def _to_the_axis(heights: FloatArray) -> FloatArray:
    """A frequency that ends between two values is drawn down to zero at the first of them without it."""
    result = heights.copy()
    alive = np.isfinite(heights)
    result[:-1][~alive[:-1] & alive[1:]] = 0.0
    result[1:][alive[:-1] & ~alive[1:]] = 0.0
    return result


def _branches(ax: Axes, branches: EigenvalueBranches, heights: FloatArray, seen: Any) -> None:
    bad = _find_growing(branches)
    for branch in np.flatnonzero(seen):
        y, unstable = heights[:, branch], bad[:, branch]
        ax.plot(branches.values, y, color=BLUE, label="_branch", zorder=3)
        if unstable.any():
            # from the last stable to the first stable value, so that the coloured part has no gap at its ends
            wide = unstable.copy()
            wide[:-1] |= unstable[1:]
            wide[1:] |= unstable[:-1]
            ax.plot(branches.values, np.where(wide, y, np.nan), color=RED, lw=2.2, label="_unstable", zorder=3)


def _orders(ax: Axes, branches: EigenvalueBranches, factor: float, top: float) -> None:
    """Lines k × speed and the speeds where a natural frequency meets them."""
    last = float(branches.values[-1])
    for order in sorted({critical.order for critical in branches.critical_speeds}):
        ax.plot(
            branches.values,
            order * np.abs(branches.values) * factor,
            "--",
            color=GREY,
            lw=1.0,
            label="_order",
            zorder=2,
        )
        edge = min(last, top / (order * factor)) if order else last
        inside = edge < last
        ax.annotate(f"{order:g}×", (edge, order * edge * factor), (0, 2) if inside else (3, 0),
                    textcoords="offset points", ha="center" if inside else "left",
                    va="bottom" if inside else "center", fontsize=9, color="#6a707a",
                    annotation_clip=False)  # fmt: skip
    named: list[tuple[float, float]] = []
    for critical in branches.critical_speeds:
        at = critical.eigenvalue.imag * factor
        ax.plot(critical.speed, at, "o", ms=6, mfc="white", mec=INK, mew=1.2, zorder=5, label="_critical")
        apart = [max(abs(critical.speed - x) / (0.07 * last), abs(at - y) / (0.05 * top)) for x, y in named]
        if len(named) < NAMED and min(apart, default=np.inf) > 1.0:
            named.append((critical.speed, at))
            inside = critical.speed > 0.92 * last
            shift, side = ((-2, -5), "right") if inside else ((6, -5), "left")
            box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.8}
            style: dict[str, Any] = {"ha": side, "va": "top", "fontsize": 8, "color": INK, "zorder": 6, "bbox": box}
            ax.annotate(f"{critical.speed:.4g}", (critical.speed, at), shift, textcoords="offset points", **style)


def _useful_limits(rates: FloatArray) -> tuple[float, float]:
    """Ends of an axis: fast decaying branches do not squeeze what happens about zero."""
    flat = np.sort(rates.ravel())
    high, low = max(float(flat[-1]), 0.0), min(float(flat[0]), 0.0)
    near = float(np.quantile(flat, 0.25))
    low = max(low, -3.0 * max(high, abs(near), 1e-300))
    return low - 0.06 * (high - low), high + 0.08 * (high - low)


def _legend(figure: Figure, branches: EigenvalueBranches) -> None:
    shown: list[Any] = []
    if _find_growing(branches).any():
        shown += [Line2D([], [], color=BLUE, label="decays or stays"), Line2D([], [], color=RED, lw=2.2, label="grows")]
    if branches.crossings:
        shown.append(Line2D([], [], **{**BOUNDARY, "label": "stability boundary"}))
    if branches.critical_speeds:
        text = f"critical speed{f' [{branches.unit}]' if branches.unit else ''}"
        shown.append(Line2D([], [], ls="", marker="o", ms=6, mfc="white", mec=INK, label=text))
    if shown:
        figure.legend(handles=shown, loc="outside lower center", ncols=len(shown))


def _locus(branches: EigenvalueBranches, title: str) -> Figure:
    s = branches.eigenvalues
    figure = new_figure(7.4, 5.4)
    ax: Axes = figure.subplots()
    low, right, top = pole_map.limits(s.ravel())
    pole_map.grid(ax, low, right, top)
    halves = [s, s.conj()] if (s.imag != 0.0).any() else [s]
    paths = [np.column_stack([half[:, b].real, half[:, b].imag]) for half in halves for b in range(s.shape[1])]
    pieces = np.concatenate([np.stack([path[:-1], path[1:]], axis=1) for path in paths])
    middle = np.tile(0.5 * (branches.values[1:] + branches.values[:-1]), len(paths))
    lines = LineCollection(list(pieces), array=middle, cmap="viridis", lw=2.0, zorder=3, capstyle="round")
    ax.add_collection(lines)
    figure.colorbar(lines, ax=ax, label=with_unit(branches.parameter, branches.unit), pad=0.02, shrink=0.9)
    ends: Any = {"ls": "", "zorder": 4}
    for half in halves:
        ax.plot(half[0].real, half[0].imag, marker="x", ms=7, mew=1.6, color=INK, label="_start", **ends)
        ax.plot(half[-1].real, half[-1].imag, marker=".", ms=8, color=INK, label="_end", **ends)
    for k, crossing in enumerate(branches.crossings):
        for y in {crossing.eigenvalue.imag, -crossing.eigenvalue.imag}:
            ax.plot(0.0, y, **BOUNDARY)
        if k < NAMED:
            ax.annotate(f"{crossing.value:.4g}", (0.0, crossing.eigenvalue.imag), (7, 4), textcoords="offset points",
                        fontsize=8, color=RED, zorder=6)  # fmt: skip
    ax.set_xlabel("real part [rad/s]")
    ax.set_ylabel("imaginary part [rad/s]")
    first, last = (f"{value:.4g}" for value in (branches.values[0], branches.values[-1]))
    shown = [Line2D([], [], ls="", marker="x", ms=7, mew=1.6, color=INK, label=f"{branches.parameter} = {first}"),
             Line2D([], [], ls="", marker=".", ms=8, color=INK, label=f"{branches.parameter} = {last}")]  # fmt: skip
    if branches.crossings:
        shown.append(Line2D([], [], **{**BOUNDARY, "label": "stability boundary"}))
    figure.legend(handles=shown, loc="outside lower center", ncols=len(shown))
    heading(figure, title)
    return figure
