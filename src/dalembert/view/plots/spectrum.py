"""Spectra of records, of what ``identify.spectra`` returns, and channels with their spectra at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.identify.records.survey import Survey, spectrum
from dalembert.identify.spectral.spectra import Spectra, psd_unit, spectra
from dalembert.record import Record
from dalembert.view.plots.figures import (
    BLUE,
    GREY,
    INK,
    RED,
    SHORT,
    beside,
    check_count,
    choice,
    heading,
    line_of,
    log_ticks,
    new_figure,
    with_unit,
)
from dalembert.view.plots.record_channels import default_names, thin_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 16
MOST_CHANNELS = 16  # rows of a survey that can be read on a page
NAMED_PEAKS = 5
PROMINENT = 10.0  # a peak so many times as high as the valleys beside it is named
APART = 0.12  # relative distance of two frequencies whose labels stand side by side
BELOW = 1e-12  # of the largest density of an axes: densities below are not shown


def record_spectrum(
    run: Record, names: tuple[str, ...], highest: float | None, axis: str, segment: int | None, title: str | None
) -> Figure:
    """Densities of the named channels (or the default ones); uneven samples and gaps are refused with advice."""
    labels = [label for name in dict.fromkeys(names or default_names(run)) for label in run.expand(name)]
    _refuse_uneven(run, labels)
    moving = [label for label in labels if np.ptp(run[label]) > 0.0]
    if not moving:
        raise DataError("no-motion", f"{', '.join(labels[:6])} do not change: they have no spectrum.")
    found = spectra(run.select(*moving), segment=segment)
    return plot_spectra(found, *moving, highest=highest, axis=axis, title=run.name if title is None else title)


def plot_spectra(
    found: Spectra, *names: str, highest: float | None = None, axis: str = "log", title: str | None = None
) -> Figure:
    """Auto spectral densities, one axes per unit.

    Parameters
    ----------
    names : channels; all when left out.  highest : frequency at which the figure ends [Hz].
    axis : "log" or "linear" frequencies.
    """
    choice("frequency axis", axis, ("log", "linear"), "the plot of Spectra")
    chosen = tuple(dict.fromkeys(names)) or found.names
    check_count(len(chosen), MOST, "spectra", "Name fewer channels.")
    hertz = found.frequencies_hz
    shown = (hertz > 0.0) & (hertz <= (np.inf if highest is None else highest))
    if shown.sum() < 2:
        raise DataError(
            "out-of-range",
            f"there are no two frequencies up to highest = {highest} Hz; they begin at {hertz[1]:.4g} Hz.",
        )
    groups: dict[str, list[str]] = {}
    for name in chosen:
        groups.setdefault(found.units.get(name, ""), []).append(name)
    figure = new_figure(8.0, 1.0 + 2.5 * len(groups))
    axes: list[Axes] = list(figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0])
    for ax, (unit, labels) in zip(axes, groups.items()):
        _densities(ax, found, labels, hertz, shown)
        ax.set_ylabel(with_unit(labels[0] if len(labels) == 1 else "density", psd_unit(unit)))
        if len(labels) > 1:
            beside(ax, len(labels))
    axes[-1].set_xscale(axis)
    axes[-1].set_xlim(float(hertz[shown][0]), float(hertz[shown][-1]))
    if axis == "log":
        log_ticks(axes[-1].xaxis, plain=True)
    worth = f"{found.blocks} block{'' if found.blocks == 1 else 's'}, ±{100.0 * found.relative_error:.0f} %"
    axes[-1].set_xlabel(f"frequency [Hz]   (Welch, {worth})")
    figure.align_ylabels(axes)
    heading(figure, f"{title}: spectrum" if title else "")
    return figure


def _densities(ax: Axes, found: Spectra, labels: list[str], hertz: Any, shown: Any) -> None:
    top = max(float(found.psd(name)[shown].max()) for name in labels)
    peaks: list[tuple[float, float]] = []
    for k, name in enumerate(labels):
        density = found.psd(name)[shown]
        density = np.where(density > BELOW * top, density, np.nan)
        ax.plot(hertz[shown], density, label=name, lw=1.3, **line_of(k))
        peaks += _peaks(hertz[shown], density, BELOW * top)
    ax.set_yscale("log")
    ax.margins(y=0.12)
    low, high = ax.get_ylim()
    log_ticks(ax.yaxis, plain=high < SHORT * low)
    named: list[float] = []
    for at, height in sorted(peaks, key=lambda one: -one[1]):
        if len(named) < NAMED_PEAKS and all(abs(at - other) > APART * max(at, other) for other in named):
            named.append(at)
            ax.annotate(f"{at:.3g} Hz", (at, height), (0, 4), textcoords="offset points", ha="center", va="bottom",
                        fontsize=8, color=INK)  # fmt: skip


def _peaks(hertz: Any, density: Any, floor: float) -> list[tuple[float, float]]:
    from scipy.signal import find_peaks

    levels = np.log10(np.where(np.isfinite(density), density, floor))
    at, _ = find_peaks(levels, prominence=np.log10(PROMINENT))
    return [(float(hertz[k]), float(density[k])) for k in at]


def _refuse_uneven(run: Record, labels: list[str]) -> None:
    run.sample_time  # noqa: B018  raises for an uneven record, with advice
    for label in labels:
        lost = int((~np.isfinite(run[label])).sum())
        if lost:
            raise DataError(
                "not-finite",
                f"channel {label!r} has {lost} samples missing, and a spectrum needs all of them.",
                Advice("Take a part without gaps by {}.", Call("Record.between")),
            )


def plot_survey(drawn: Survey, *, record: Record, title: str | None = None) -> Figure:
    """Time on the left, spectrum on the right, one row per channel; inputs in red, faults beside the name.

    Parameters
    ----------
    record : the record that was surveyed.
    """
    shown = drawn.channels[:MOST_CHANNELS]
    figure = new_figure(10.0, 0.6 + 1.15 * len(shown))
    axes = figure.subplots(len(shown), 2, squeeze=False, sharex="col", width_ratios=[3, 2])
    step = 1.0 / drawn.rate
    for row, one in zip(axes, shown, strict=True):
        color = RED if one.name in drawn.drivers.inputs else BLUE
        x = record[one.name]
        t, thinned = thin_out(record.time, x, monotonic=True)
        row[0].plot(t, thinned, color=color, lw=0.6)
        faults = f"  ({', '.join(one.faults)})" if one.faults else ""
        row[0].set_title(f"{with_unit(one.name, one.unit)}{faults}", fontsize=8, loc="left", pad=2)
        if one.band is not None:
            f, power = spectrum(x, step)
            row[1].semilogy(f, np.sqrt(power), color=color, lw=0.7)
            log_ticks(row[1].yaxis)
            for peak in one.peaks:
                row[1].axvline(peak, color=GREY, lw=0.5, ls=":")
        else:
            row[1].set_axis_off()
        for ax in row:
            ax.tick_params(labelsize=7)
            ax.margins(x=0)
    axes[-1][0].set_xlabel("time [s]", fontsize=8)
    axes[-1][1].set_xlabel("frequency [Hz]", fontsize=8)
    more = len(drawn.channels) - len(shown)
    if title or more:
        figure.suptitle(f"{title or ''}{f' ({more} more channels)' if more else ''}", fontsize=9)
    return figure
