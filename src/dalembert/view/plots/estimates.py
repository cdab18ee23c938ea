"""Estimates of filters: channels within three deviations, errors against the truth, innovations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.estimate.engine.estimate import Estimate
from dalembert.estimate.forces.two_stage import TwoStageEstimate
from dalembert.record import Record
from dalembert.view.plots.figures import BLUE, GREY, INK, PALE, choice, choose_prefix, heading, new_figure, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAND = 3.0  # deviations shaded around an estimate
MOST = 8
LEAST_PLAIN, MOST_PLAIN = 0.01, 1e4  # sizes that are written without a prefix: at most four digits before the point
LONG = 18  # signs of a label that fit beside an axes


def plot_estimate(
    estimate: Estimate, *names: str, view: str = "estimate", truth: Record | None = None, title: str | None = None
) -> Figure:
    """Estimates with three deviations (``view="estimate"``), errors in that band (``"error"``, needs ``truth``), or
    innovations with theirs (``"innovations"``)."""
    choice("view", view, ("estimate", "error", "innovations"), "the plot of an Estimate")
    if view == "error" and truth is None:
        raise DataError("missing-argument", "the view 'error' needs truth, the record with the true channels.")
    channels = estimate.filter.process.outputs.names if view == "innovations" else estimate.record.names
    chosen = names or (channels if view == "innovations" else _first(estimate))
    chosen = [choice("channel", name, channels, "this estimate") for name in chosen][:MOST]
    figure, axes = _stack(len(chosen))
    for ax, name in zip(axes, chosen, strict=True):
        if view == "innovations":
            _innovation(ax, estimate, name)
        else:
            _channel(ax, estimate, name, None if truth is None else _true(truth, estimate, name), view)
    words = f"{type(estimate.filter).__name__}: {'innovations' if view == 'innovations' else f'{view}s'}"
    _finish(figure, axes, truth is not None and view == "estimate")
    heading(figure, f"{words} and three deviations" if title is None else title)
    return figure


def plot_two_stages(
    estimate: TwoStageEstimate, *names: str, truth: Record | None = None, title: str | None = None
) -> Figure:
    """Forces of the second stage with three deviations, or the channels of either stage that are named."""
    chosen = names or tuple(estimate.forces.record.names)
    figure, axes = _stack(len(chosen))
    for ax, name in zip(axes, chosen, strict=True):
        stage = estimate.forces if name in estimate.forces.record.names else estimate.motion
        _channel(ax, stage, name, None if truth is None else _true(truth, stage, name), "estimate")
    _finish(figure, axes, truth is not None)
    heading(figure, "forces that follow from the motion, three deviations" if title is None else title)
    return figure


def _stack(count: int) -> tuple[Figure, Any]:
    figure = new_figure(8.5, 1.0 + 1.7 * count)
    return figure, np.atleast_1d(figure.subplots(count, 1, sharex=True))


def _finish(figure: Figure, axes: Any, legend: bool) -> None:
    if legend:
        axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=8, ncols=2, borderaxespad=0.2)
    axes[-1].set_xlabel("time [s]")
    figure.align_ylabels()


def _first(estimate: Estimate) -> tuple[str, ...]:
    """Names of the states with covariances that are channels of the record."""
    errors = estimate.filter.process.errors.names
    return tuple(name for name in errors if name in estimate.record.names) or tuple(estimate.record.names)


def _true(truth: Record, estimate: Estimate, name: str) -> Any:
    if name not in truth.names:
        return None
    return np.interp(estimate.time, truth.time, truth[name])


def _channel(ax: Any, estimate: Estimate, name: str, true: Any, view: str) -> None:
    t, value, spread = estimate.time, estimate[name], BAND * estimate.deviation(name)
    if view == "error" and true is None:
        raise DataError("missing-channel", f"the truth has no channel {name!r}.")
    late = slice(len(t) // 20, None)
    shown = value - true if view == "error" else value
    size = float(np.nanmax(np.abs(shown[late]), initial=0.0))
    scale, unit = _readable(size, estimate.record.units.get(name, ""))
    shown, spread = shown / scale, spread / scale
    if view == "error":
        ax.fill_between(t, -spread, spread, color=PALE, alpha=0.6, lw=0)
        ax.plot(t, shown, color=BLUE, lw=1.1)
        ax.axhline(0.0, color=GREY, lw=0.8)
        _limits(ax, shown, spread)
    else:
        ax.fill_between(t, shown - spread, shown + spread, color=PALE, alpha=0.6, lw=0)
        ax.plot(t, shown, color=BLUE, lw=1.3, label="estimate", zorder=3)
        if true is not None:
            # wide, under the estimate: it shows where both differ, and both are seen where they do not
            ax.plot(t, true / scale, color=GREY, lw=2.8, label="true", zorder=2)
        low, high = float(np.nanmin((shown - spread)[late])), float(np.nanmax((shown + spread)[late]))
        if high > low:
            ax.set_ylim(low - 0.08 * (high - low), high + 0.12 * (high - low))
    _label(ax, name, unit)


def _innovation(ax: Any, estimate: Estimate, name: str) -> None:
    k = estimate.filter.process.outputs.names.index(name)
    e, spread = estimate.innovations[:, k], BAND * estimate.spreads[:, k]
    late = slice(len(e) // 20, None)
    size = float(np.nanmax(np.abs(e[late]), initial=0.0))
    scale, unit = _readable(size, estimate.filter.process.outputs.units[k])
    ax.fill_between(estimate.time, -spread / scale, spread / scale, color=PALE, alpha=0.6, lw=0)
    ax.plot(estimate.time, e / scale, ".", color=BLUE, ms=2.5)
    ax.axhline(0.0, color=GREY, lw=0.8)
    _limits(ax, e / scale, spread / scale)
    _label(ax, name, unit)


def _readable(size: float, unit: str) -> tuple[float, str]:
    """Divisor and unit that make numbers of this size read well; the unit stays where a prefix would be odd."""
    if unit.split("/")[0] not in ("N", "N m", "J", "W", "rad", "m") or LEAST_PLAIN <= size < MOST_PLAIN:
        return 1.0, unit
    scale, better = choose_prefix(size, unit)
    straight = unit.startswith(("rad", "m"))  # kiloradians are not used
    return (1.0, unit) if straight and scale > 1.0 else (scale, better)


def _label(ax: Any, name: str, unit: str) -> None:
    """Channel and unit beside an axes; long ones in two lines."""
    label = with_unit(name, unit)
    ax.set_ylabel(label if len(label) <= LONG or not unit else label.replace(" [", "\n["), color=INK)


def _limits(ax: Any, values: Any, spread: Any) -> None:
    """The usual size, not that of the first moments, when nothing is known yet."""
    late = slice(len(values) // 20, None)
    size = float(np.nanmax(np.abs(np.concatenate([values[late], spread[late]]))))
    if np.isfinite(size) and size > 0.0:
        ax.set_ylim(-1.15 * size, 1.15 * size)
