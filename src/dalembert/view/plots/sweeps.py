"""Sweeps, Monte Carlo runs and workspaces: results over the axes of a design and their spread, places of a point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from dalembert.core.errors import DataError, unknown_name
from dalembert.sweeps.swept import Swept
from dalembert.tree.reach.workspace import Workspace
from dalembert.view.plots.figures import BLUE, GREY, INK, RED, check_count, choice, heading, new_figure, tiles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_RESULTS, MOST_AXES = 5, 4
BINS = 30
MANY = 20  # points above which a line of means is drawn: fewer scatter more than it shows
LEVELS = 12  # different values of an axis below which each has a mean of its own
FLAT = 1e-12  # range of results, relative to the largest, that is rounding
VIEWS = ((0, 1, "x", "y"), (0, 2, "x", "z"))  # from above, and from the side


def plot_swept(sweep: Swept, *names: str, view: str = "scatter", title: str | None = None) -> Figure:
    """Results over the axes of a sweep with their spread beside them, or their spread alone.

    Parameters
    ----------
    names : axes and results to show; the first few when left out.
    view : "scatter" or "histogram".
    """
    choice("view", view, ("scatter", "histogram"), "the plot of a Swept")
    results, axes = _choose(sweep, names)
    words = f"{len(sweep)} points" + (f", {len(sweep.errors)} failed" if sweep.errors else "")
    title = words if title is None else title
    return _histograms(sweep, results, title) if view == "histogram" else _scatters(sweep, results, axes, title)


def _choose(sweep: Swept, names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    scalar = [label for label, values in sweep.results.items() if values.ndim == 1 and np.isfinite(values).any()]
    for name in names:
        if name in sweep.results and name not in scalar:
            raise DataError(
                "wrong-shape", f"{name!r} has no single number per point to draw; take it from sweep[{name!r}]."
            )
        if name not in sweep.results and name not in sweep.names:
            raise DataError("unknown-name", unknown_name("axis or result", name, (*scalar, *sweep.names), "this sweep"))
    results = [name for name in names if name in sweep.results] or scalar[:MOST_RESULTS]
    axes = [name for name in names if name in sweep.names] or list(sweep.names[:MOST_AXES])
    if not results:
        raise DataError("empty", "this sweep has no result that is one number per point: nothing to draw.")
    for kind, chosen, most in (("results", results, MOST_RESULTS), ("axes", axes, MOST_AXES)):
        check_count(len(chosen), most, kind)
    return results, axes


def _scatters(sweep: Swept, results: list[str], axes: list[str], title: str) -> Figure:
    alone = len(sweep.names) == 1  # a curve; its spread is that of its grid
    columns = 1 if alone else len(axes) + 1
    figure = new_figure(6.5 if alone else 1.4 + 2.3 * columns, 0.9 + max(2.1 * len(results), 2.6))
    widths = [1.0] if alone else [1.0] * len(axes) + [0.7]
    grid: Any = figure.subplots(
        len(results), columns, squeeze=False, sharey="row", gridspec_kw={"width_ratios": widths}
    )
    size = float(np.clip(60.0 / np.sqrt(max(len(sweep), 1)), 1.5, 6.0))
    for i, label in enumerate(results):
        y, last = sweep[label], i == len(results) - 1
        for ax, axis in zip(grid[i], axes):
            _scatter(ax, sweep[axis], y, size, alone=alone)
            ax.tick_params(labelbottom=last)
            if last:
                ax.set_xlabel(axis)
        grid[i, 0].set_ylabel(label)
        if not alone:
            _spread(grid[i, -1], y, upright=False)
            if not last:
                grid[i, -1].set_xlabel("")
    figure.align_ylabels(grid[:, 0])
    heading(figure, title)
    return figure


def _scatter(ax: Any, x: Any, y: Any, size: float, *, alone: bool) -> None:
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.margins(0.06)
    if alone:  # a curve
        order = np.argsort(x)
        ax.plot(x[order], y[order], "-o", ms=min(size, 4.0), lw=1.3, color=BLUE)
        return
    ax.plot(x, y, "o", ms=size, mew=0, color=BLUE, alpha=float(np.clip(30.0 / np.sqrt(max(len(x), 1)), 0.35, 0.9)))
    good = np.isfinite(x) & np.isfinite(y)
    levels = np.unique(x[good])
    if good.sum() > MANY:
        at, mean = (levels, [y[good & (x == level)].mean() for level in levels]) if len(levels) < LEVELS else _average(
            x[good], y[good])  # fmt: skip
        ax.plot(at, mean, color=RED, lw=1.6, label="_mean")


def _average(x: Any, y: Any, count: int = 9) -> tuple[Any, Any]:
    """Means of equal numbers of points along x: the overall trend of a result."""
    order = np.argsort(x)
    parts = np.array_split(order, count)
    return [x[bin_].mean() for bin_ in parts], [y[bin_].mean() for bin_ in parts]


def _spread(ax: Any, y: Any, *, upright: bool) -> None:
    good = y[np.isfinite(y)]
    bins = min(BINS, max(5, int(np.sqrt(len(good)))))
    flat = float(np.ptp(good)) <= FLAT * max(float(np.abs(good).max()), 1e-300)
    ends = (good[0] - max(abs(good[0]), 1.0) * 1e-3, good[0] + max(abs(good[0]), 1.0) * 1e-3) if flat else None
    way: Any = "vertical" if upright else "horizontal"
    ax.hist(good, bins=bins, range=ends, orientation=way, color=BLUE, rwidth=0.92)
    low, middle, high = np.quantile(good, [0.05, 0.5, 0.95])
    mark = ax.axvline if upright else ax.axhline
    mark(middle, color=INK, lw=1.3)
    for end in (low, high):
        mark(end, color=GREY, lw=1.0, ls="--")
    (ax.set_ylabel if upright else ax.set_xlabel)("points")
    ax.grid(axis="x" if upright else "y", visible=False)
    (ax.yaxis if upright else ax.xaxis).set_major_locator(MaxNLocator(4, integer=True))


def _histograms(sweep: Swept, results: list[str], title: str) -> Figure:
    figure, axes = tiles(len(results), min(3, len(results)), 3.2, 2.7)
    for ax, label in zip(axes, results, strict=True):
        y = sweep[label]
        _spread(ax, y, upright=True)
        low, middle, high = np.nanquantile(y, [0.05, 0.5, 0.95])
        ax.set_xlabel(label)
        ax.set_title(f"{middle:.4g}   5–95 %: {low:.4g} to {high:.4g}", loc="left", fontsize=8.5, fontweight="normal")
    heading(figure, title)
    return figure


# --- workspaces -------------------------------------------------------------------------------------------------------


def plot_workspace(cloud: Workspace, *, title: str | None = None) -> Figure:
    """Views from above and from the side (one view in the plane); the base is a cross."""
    views = VIEWS if cloud.points.shape[1] == 3 else VIEWS[:1]
    figure = new_figure(1.2 + 4.4 * len(views), 4.2)
    axes: Any = figure.subplots(1, len(views), squeeze=False)[0]
    order = np.argsort(cloud.measure)  # the best places on top
    size = float(np.clip(400.0 / np.sqrt(len(order)), 1.5, 12.0))
    for ax, (i, j, across, up) in zip(axes, views, strict=False):
        drawn = ax.scatter(
            cloud.points[order, i], cloud.points[order, j], c=cloud.measure[order], s=size, cmap="viridis", lw=0
        )
        ax.plot(cloud.base[i], cloud.base[j], "+", ms=12, mew=1.8, color=INK)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(5))
        ax.set(xlabel=f"{across} [m]", ylabel=f"{up} [m]", aspect="equal")
    figure.colorbar(drawn, ax=list(axes), label="manipulability", shrink=0.9)
    low, high = cloud.reach
    words = f"{cloud.name}: places of {cloud.place}, {low:.3g} to {high:.3g} m from the base"
    heading(figure, words if title is None else title)
    return figure
