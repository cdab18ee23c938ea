"""Judgements of filters: observability by the sensors, consistency of innovations, estimates against the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from dalembert.estimate.engine.consistency import Consistency
from dalembert.estimate.engine.metrics import Comparison
from dalembert.estimate.judge.local_observability import LocalObservability
from dalembert.estimate.judge.observed_directions import is_weak, weak_value
from dalembert.view.plots.figures import (
    BLUE,
    COLORS,
    GREY,
    INK,
    PALE,
    RED,
    choice,
    heading,
    list_names,
    log_ticks,
    new_figure,
    put_legend_beside,
    with_unit,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 8
MOST_BARS = 40
WORTH_A_WORD = 0.05  # share of a state in unseen directions from which it is named and red
FLOOR = 1e-16  # singular value of the weighed readings that is drawn at the end of the axis: below rounding of 1
FIRST = 0.02  # share of a record at its begin that the axis of errors leaves out: the filter settles


def plot_observability(found: LocalObservability, *, title: str | None = None) -> Figure:
    """Reduction of the standard deviation of every state by the readings, and singular values of all directions."""
    states = sorted(found.states, key=lambda name: (-found.hidden[name], -found.left[name]))[:MOST_BARS]
    shares, lost = (np.array([report_part[name] for name in states]) for report_part in (found.hidden, found.left))
    rows = max(len(states), 6)
    figure = new_figure(10.0, 1.5 + 0.24 * rows)
    bars, values = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.2, 1.0]})
    places = np.arange(len(states))
    bars.barh(places, np.ones(len(states)), color=PALE, height=0.62)
    bars.barh(places, 1.0 - lost, color=BLUE, height=0.62)
    words = [f"{100.0 * share:.0f} % unseen" if share > WORTH_A_WORD else "weakly" if is_weak(remaining) else ""
             for share, remaining in zip(shares, lost, strict=True)]  # fmt: skip
    for k, word in enumerate(words):
        if word:
            color = RED if shares[k] > WORTH_A_WORD else COLORS[4]
            bars.text(1.02, k, word, va="center", fontsize=8.5, color=color)
    bars.set_yticks(places, states)
    bars.set_ylim(len(states) - 0.4, -0.6)
    bars.set_xlim(0.0, 1.3 if any(words) else 1.02)
    bars.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0])
    bars.grid(axis="y", visible=False)
    bars.set_xlabel(f"reduction of the deviation by {list_names(found.outputs, 3)} in {found.span:.3g} s [-]")
    sizes = np.maximum(found.singular_values, FLOOR)
    numbers = np.arange(1, len(sizes) + 1)
    low = 0.3 * max(FLOOR, min(float(sizes.min()), found.floor))
    colors = [RED if size < found.floor else COLORS[4] if size < weak_value() else BLUE for size in sizes]
    values.bar(numbers, sizes - low, bottom=low, color=colors, width=0.7)
    values.set_yscale("log")
    values.set_ylim(low, 3.0 * max(float(sizes.max()), weak_value()))
    log_ticks(values.yaxis)
    for level, word in ((weak_value(), "weakly seen below"), (found.floor, "not seen below")):
        values.axhline(level, color=INK, lw=0.9, ls="--")
        values.annotate(word, (0.99, level), (0, 2), xycoords=("axes fraction", "data"), textcoords="offset points",
                        ha="right", va="bottom", fontsize=8, color=INK,
                        bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.8})  # fmt: skip
    values.set_xticks(numbers if len(numbers) <= 20 else numbers[:: len(numbers) // 10])
    values.grid(axis="x", visible=False)
    values.set_xlabel("direction of the state")
    values.set_ylabel("signal over noise [-]")
    summary = f"{found.name}: {found.rank} of {found.freedoms} directions are seen"
    summary += f", {len(found.weak)} of them weakly" if found.weak else ""
    heading(figure, summary if title is None else title)
    return figure


def plot_consistency(found: Consistency, *, title: str | None = None) -> Figure:
    """Autocorrelations of the innovations, which should stay in the band, and the mean NIS in its own."""
    figure = new_figure(8.5, 3.4)
    ax, nis = figure.subplots(1, 2, gridspec_kw={"width_ratios": [4.0, 1.0]})
    lags = np.arange(1, len(found.autocorrelations) + 1)
    ax.axhspan(-found.white_band, found.white_band, color=PALE, alpha=0.6, lw=0, zorder=0)
    ax.axhline(0.0, color=GREY, lw=0.8)
    outputs = found.outputs[:MOST]
    width = 0.8 / max(len(outputs), 1)
    for j, name in enumerate(outputs):
        place = lags + (j - 0.5 * (len(outputs) - 1)) * width
        ax.bar(place, found.autocorrelations[:, j], width=0.9 * width, color=COLORS[j % len(COLORS)], label=name)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("lag [samples]")
    ax.set_ylabel("autocorrelation [-]")
    ax.grid(axis="x", visible=False)
    top = max(1.6 * found.white_band, 1.15 * float(np.abs(found.autocorrelations).max(initial=0.0)))
    ax.set_ylim(-top, top)
    if len(outputs) > 1:
        put_legend_beside(ax, len(outputs))
    low, high = found.nis_band
    nis.axhspan(low, high, color=PALE, alpha=0.8, lw=0)
    inside = low <= found.nis_mean <= high
    nis.plot([0.0], [found.nis_mean], "o", ms=8, color=BLUE if inside else RED)
    nis.annotate(f"{found.nis_mean:.3g}", (0.0, found.nis_mean), (10, 0), textcoords="offset points", va="center",
                 fontsize=9, color=INK)  # fmt: skip
    ends = (min(low, found.nis_mean), max(high, found.nis_mean))
    room = 0.25 * (ends[1] - ends[0])
    nis.set_ylim(ends[0] - room, ends[1] + room)
    nis.set_xlim(-0.6, 1.0)
    nis.set_xticks([])
    nis.set_ylabel(f"mean NIS per output [-]\n({found.level:.0%} band)")
    verdict = "innovations are as large and as white as the filter believes" if found.consistent else found.verdict
    heading(figure, verdict if title is None else title)
    return figure


def plot_comparison(found: Comparison, *names: str, title: str | None = None) -> Figure:
    """Truth and estimate of every channel on the left, the error with the deviations of the filter on the right."""
    wanted = [choice("channel", name, found.channels, "the comparison") for name in dict.fromkeys(names)]
    chosen = (tuple(wanted) or found.channels)[:MOST]
    figure = new_figure(8.5, 0.9 + max(1.5 * len(chosen), 2.2))
    axes: Any = figure.subplots(len(chosen), 2, sharex=True, squeeze=False, gridspec_kw={"width_ratios": [1.2, 1.0]})
    for (curve, right), name in zip(axes, chosen, strict=True):
        _draw_comparison(curve, right, found, name)
    axes[0, 0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]")
    figure.align_ylabels(axes[:, 0])
    more = "" if found.nees is None else f", NEES {found.nees_mean:.3g} per state"
    heading(figure, f"estimate against truth{more}" if title is None else title)
    return figure


def _draw_comparison(left: Any, right: Any, found: Comparison, name: str) -> None:
    t, unit = found.errors.time, found.errors.units[name]
    left.plot(t, found.truth[name], color=GREY, lw=2.4, label="true")
    left.plot(t, found.estimate[name], color=BLUE, lw=1.2, label="estimate")
    left.set_ylabel(with_unit(name, unit))
    left.margins(x=0.01, y=0.1)
    band = 3.0 * found.deviation_rms[name]
    right.axhspan(-band, band, color=PALE, alpha=0.6, lw=0)
    right.axhline(0.0, color=GREY, lw=0.8)
    error = found.errors[name]
    right.plot(t, error, color=RED, lw=1.0)
    late = error[t >= t[0] + max(found.settle, FIRST * (t[-1] - t[0]))]
    size = 1.15 * max(band, float(np.nanmax(np.abs(late), initial=0.0)))
    if np.isfinite(size) and size > 0.0:
        right.set_ylim(-size, size)
    if found.settle > 0.0:
        right.axvline(t[0] + found.settle, color=INK, lw=0.9, ls="--")
    right.set_ylabel(with_unit("error", unit))
    right.margins(x=0.01)
    share = f" ({100.0 * found.rms[name] / found.signal_rms[name]:.2g} %)" if found.signal_rms[name] > 0.0 else ""
    right.set_title(f"rms {found.rms[name]:.3g} {unit}{share}", loc="right", fontsize=9, fontweight="normal")
