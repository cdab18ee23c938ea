"""Spectra of records, of what ``identify.spectra`` returns, singular values of spectral matrices with their modes, and
channels with their spectra at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.identify.output_only.frequency_domain_modes import FrequencyDomainModes
from dalembert.identify.records.survey import Survey, spectrum
from dalembert.identify.setups.merged_modes import MergedModes
from dalembert.identify.spectral.spectra import Spectra, psd_unit, spectra
from dalembert.record import Record
from dalembert.view.plots.figures import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PALE,
    RED,
    SHORT,
    check_count,
    choice,
    heading,
    line_of,
    log_ticks,
    new_figure,
    put_legend_beside,
    with_unit,
)
from dalembert.view.plots.record_channels import default_names, thin_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 16
MOST_CHANNELS = 16  # rows of a survey that can be read on a page
NAMED_PEAKS = 5
SINGULAR_VALUES = 4  # curves that can be distinguished
PROMINENT = 10.0  # least ratio of a peak with a label to the valleys beside it
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
    density = spectra(run.select(*moving), segment=segment)
    return plot_spectra(density, *moving, highest=highest, axis=axis, title=run.name if title is None else title)


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
            put_legend_beside(ax, len(labels))
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
        if len(named) < NAMED_PEAKS and all(abs(at - frequency) > APART * max(at, frequency) for frequency in named):
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


def plot_singular_values(
    found: FrequencyDomainModes, *, highest: float | None = None, title: str | None = None
) -> Figure:
    """Singular values of the spectral matrix, the peaks that were chosen and the lines that belong to each (bells);
    harmonics of machines have crosses.

    Parameters
    ----------
    highest : frequencies shown up to [Hz]; all when left out.
    """
    figure = new_figure(8.5, 4.8)
    ax = figure.subplots()
    hertz, values = found.frequencies / (2.0 * np.pi), found.singular_values
    shown = (hertz > 0.0) & (hertz <= (np.inf if highest is None else highest))
    if shown.sum() < 2:
        raise DataError("out-of-range", f"there are no two lines up to highest = {highest} Hz.")
    values = np.where(values > BELOW * values[shown].max(), values, np.nan)
    for k in range(min(values.shape[1], SINGULAR_VALUES) - 1, -1, -1):
        ax.plot(hertz[shown], values[shown, k], color=BLUE if k == 0 else GREY if k == 1 else PALE, lw=1.2 - 0.2 * k,
                label=("first", "second", "third", "fourth")[k] + " singular value")  # fmt: skip
    marked = set()
    for k, (line, rank) in enumerate(zip(found.lines, found.ranks)):
        first, last = found.domains[k]
        inside = np.arange(first, last + 1)[shown[first : last + 1]]
        machine = k in found.machines
        words = "harmonic of a machine" if machine else "mode and its bell"
        color = RED if machine else GREEN
        if not machine:
            ax.plot(hertz[inside], values[inside, rank], color=GREEN, lw=3.5, alpha=0.35, zorder=1)
        if not shown[line]:
            continue
        ax.plot(hertz[line], values[line, rank], "x" if machine else "o", color=color, ms=6, mew=1.8,
                label="_" if words in marked else words)  # fmt: skip
        marked.add(words)
        ax.annotate(f"{found.frequencies_hz[k]:.4g} Hz", (hertz[line], values[line, rank]), (0, 7), ha="center",
                    textcoords="offset points", va="bottom", rotation=90, fontsize=8, color=color)  # fmt: skip
    ax.set_yscale("log")
    low, high = float(np.nanmin(values[shown])), float(np.nanmax(values[shown]))
    ax.set_ylim(low, high * (high / low) ** 0.2)  # room for the frequencies
    log_ticks(ax.yaxis)
    ax.set_xlim(0.0, float(hertz[shown][-1]))
    ax.set_xlabel("frequency [Hz]")
    ax.set_ylabel(with_unit("singular value", psd_unit(found.unit)))
    drawn, names = ax.get_legend_handles_labels()
    curves = min(values.shape[1], SINGULAR_VALUES)
    order = [*range(curves - 1, -1, -1), *range(curves, len(names))]
    ax.legend([drawn[k] for k in order], [names[k] for k in order], loc="upper center", bbox_to_anchor=(0.5, -0.14),
              ncols=3, borderaxespad=0.0)  # fmt: skip
    words = f"Singular values of the spectral matrix, {found.method.upper()}, {found.blocks} blocks"
    heading(figure, words if title is None else title)
    return figure


def plot_merged_modes(found: MergedModes, *, title: str | None = None) -> Figure:
    """Shapes of merged set-ups at all sensors."""
    from dalembert.view.plots.structures.modes import plot_modes

    if not len(found.modes):
        raise DataError("empty", "the set-ups have no mode in common.")
    words = f"Mode shapes of {len(found.setups)} set-ups at all sensors" if title is None else title
    return plot_modes(found.modes, mode=list(range(1, min(len(found.modes), 12) + 1)), title=words)


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
    for row, channel in zip(axes, shown, strict=True):
        color = RED if channel.name in drawn.drivers.inputs else BLUE
        x = record[channel.name]
        t, thinned = thin_out(record.time, x, monotonic=True)
        row[0].plot(t, thinned, color=color, lw=0.6)
        faults = f"  ({', '.join(channel.faults)})" if channel.faults else ""
        row[0].set_title(f"{with_unit(channel.name, channel.unit)}{faults}", fontsize=8, loc="left", pad=2)
        if channel.band is not None:
            f, power = spectrum(x, step)
            row[1].semilogy(f, np.sqrt(power), color=color, lw=0.7)
            log_ticks(row[1].yaxis)
            for peak in channel.peaks:
                row[1].axvline(peak, color=GREY, lw=0.5, ls=":")
        else:
            row[1].set_axis_off()
        for ax in row:
            ax.tick_params(labelsize=7)
            ax.margins(x=0)
    axes[-1][0].set_xlabel("time [s]", fontsize=8)
    last = next((row[1] for row in axes[::-1] if row[1].axison), None)  # axes that are off show no ticks
    if last is not None:
        last.set_xlabel("frequency [Hz]", fontsize=8)
        last.tick_params(labelbottom=True)
    more = len(drawn.channels) - len(shown)
    if title or more:
        figure.suptitle(f"{title or ''}{f' ({more} more channels)' if more else ''}", fontsize=9)
    return figure
