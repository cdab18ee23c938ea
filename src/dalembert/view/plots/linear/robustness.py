"""Figures of robust control: covers of families, structured singular values, scheduled gains, composite loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.control.robust.dk import RobustSynthesis
from dalembert.control.robust.pole_region import PoleRegion
from dalembert.control.structured.structured import ScheduledSynthesis
from dalembert.control.two_time_scale.composite import CompositeLaw
from dalembert.control.uncertainty.cover import FamilyCover
from dalembert.control.uncertainty.mu import StructuredGain
from dalembert.core.errors import DataError
from dalembert.view.plots.figures import (
    BLUE,
    COLORS,
    GREY,
    INK,
    RED,
    choice,
    heading,
    log_ticks,
    new_figure,
    put_legend_beside,
)
from dalembert.view.plots.linear.families import draw_region, frequency_axis, respond
from dalembert.view.plots.linear.pole_map import NONE, plot_plane
from dalembert.view.plots.linear.synthesis import plot_synthesis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 8


def plot_cover(covered: FamilyCover, *, frequency: str = "Hz", title: str | None = None) -> Figure:
    """Smallest weights that cover the family, and the weights of the cover above them, for every output."""
    choice("frequency unit", frequency, ("Hz", "rad/s"), "the plot of a FamilyCover")
    shown = covered.frequencies > 0.0
    omega = covered.frequencies[shown]
    size = np.abs(np.einsum("fii->fi", respond(covered.weight, omega)))
    names = covered.nominal.outputs[:MOST]
    columns = 1 if len(names) == 1 else 2
    rows = -(-len(names) // columns)
    figure = new_figure(4.2 * columns + 1.0, 1.0 + 2.8 * rows)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for place, ax in enumerate(grid.ravel()):
        ax.set_visible(place < len(names))
    for ax, needed, weight, name in zip(grid.ravel(), covered.needed[shown].T, size.T, names, strict=False):
        x = frequency_axis(ax, omega, frequency)
        ax.plot(x, needed, ".", ms=3, color=GREY, label="needed by the family")
        ax.plot(x, weight, color=BLUE, label="weight")
        ax.set_yscale("log")
        ax.set_title(name, fontsize=10, loc="left")
        log_ticks(ax.yaxis)
    for ax in grid[:-1].ravel():
        ax.set_xlabel("")
    for ax in grid[:, 0]:
        ax.set_ylabel("relative error [-]")
    put_legend_beside(grid[0, -1], 2)
    text = f"{covered.members} models covered by weights of order {covered.order}"
    heading(figure, text if title is None else title)
    return figure


def plot_mu(judged: StructuredGain, *, frequency: str = "Hz", title: str | None = None) -> Figure:
    """Bounds of the structured singular value over frequency, the proved peak and the perturbation that attains it."""
    choice("frequency unit", frequency, ("Hz", "rad/s"), "the plot of a StructuredGain")
    order = np.argsort(judged.frequencies)
    omega, upper, lower = (values[order] for values in (judged.frequencies, judged.upper, judged.lower))
    inner = (omega > 0.0) & np.isfinite(omega)
    DataError.when(not inner.any(), "empty", "there is no frequency between zero and infinity to draw.")
    figure = new_figure(7.4, 4.4)
    ax = figure.subplots()
    x = frequency_axis(ax, omega[inner], frequency)
    ax.fill_between(x, lower[inner], upper[inner], color=BLUE, alpha=0.15, lw=0)
    ax.plot(x, upper[inner], color=BLUE, label="upper bound")
    ax.plot(x, lower[inner], color=BLUE, ls="--", label="lower bound, attained")
    ends = {0.0: (x[0], "at zero frequency"), np.inf: (x[-1], "at infinity")}
    for value, (place, words) in ends.items():
        for level, fill in ((upper, BLUE), (lower, "none")):
            at = level[omega == value]
            if len(at) and float(at.max()) > 0.0:
                name = words if fill == BLUE else "_"
                ax.plot(place, at.max(), "D", ms=6, mec=BLUE, mfc=fill, clip_on=False, zorder=5, label=name)
    ax.axhline(judged.peak, color=RED, lw=1.1,
               label=f"{'proved' if judged.proved else 'computed'} peak {judged.peak:.4g}")  # fmt: skip
    if judged.peak < 4.0:
        ax.axhline(1.0, color=INK, lw=0.9, ls=":", label="limit")
    top = 1.08 * max(judged.peak, 1.0 if judged.peak < 4.0 else 0.0)
    ax.set_ylim(-0.02 * top, top)
    ax.set_ylabel("structured singular value [-]")
    put_legend_beside(ax, 5)
    text = f"ranges may grow by {judged.margin:.4g}; attained {judged.attained:.4g}"
    heading(figure, text if title is None else title)
    return figure


def plot_robust_synthesis(
    design: RobustSynthesis, *, view: str = "mu", frequency: str = "Hz", title: str | None = None, **options: Any
) -> Figure:
    """Bounds of the structured singular value of the loop (``"mu"``), or a view of a `Synthesis`."""
    if view == "mu":
        return plot_mu(design.judged, frequency=frequency, title=title)
    return plot_synthesis(design.synthesis, view=view, frequency=frequency, title=title, **options)


def plot_scheduled(
    design: ScheduledSynthesis, *, view: str = "poles", region: PoleRegion | None = None, title: str | None = None
) -> Figure:
    """Poles of the loops of all models, or the gains over the coordinate of the schedule (``"gains"``)."""
    choice("view", view, ("poles", "gains"), "the plot of a ScheduledSynthesis")
    if view == "poles":
        figure = plot_plane(np.concatenate([loop.poles().values for loop in design.closed_loops()]), NONE, None, "")
        if region is not None:
            draw_region(figure.axes[0], region)
        text = f"closed loops of {len(design.models)} models, gains scheduled by {design.coordinate}"
        heading(figure, text if title is None else title)
        return figure
    values = np.linspace(design.values.min(), design.values.max(), 200)
    gains = np.array([design.at(value).D for value in values])
    figure = new_figure(7.8, 0.9 + 2.4 * len(design.drives))
    axes = figure.subplots(len(design.drives), 1, sharex=True, squeeze=False)[:, 0]
    for k, (ax, drive) in enumerate(zip(axes, design.drives, strict=True)):
        for j, name in enumerate(design.reads[:MOST]):
            ax.plot(values, gains[:, k, j] / max(np.abs(gains[:, k, j]).max(), 1e-300), color=COLORS[j], label=name)
        ax.set_ylabel(f"gain of {drive},\nof its largest [-]")
    axes[-1].set_xlabel(f"{design.coordinate} [rad]")
    put_legend_beside(axes[0], len(design.reads[:MOST]))
    heading(figure, f"direct gains scheduled by {design.coordinate}" if title is None else title)
    return figure


def plot_composite(
    law: CompositeLaw, *, region: PoleRegion | None = None, within: float | None = None, title: str | None = None
) -> Figure:
    """Poles of the whole machine in all poses of the workspace; ``within``: only those of this modulus [rad/s]."""
    values = law.workspace.poles.ravel()
    values = values if within is None else values[np.abs(values) <= within]
    figure = plot_plane(values, NONE, None, "")
    if region is not None:
        draw_region(figure.axes[0], region)
    text = f"{len(law.workspace.poses)} poses, least damping ratio {law.workspace.damping.min():.3g}"
    heading(figure, text if title is None else title)
    return figure
