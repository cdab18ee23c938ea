"""Frequency responses: magnitude and phase over frequency, with peaks named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MultipleLocator

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.view.plots.figures import (
    INK,
    check_count,
    choice,
    heading,
    line_of,
    log_ticks,
    new_figure,
    put_legend_beside,
    with_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 16  # curves in one figure
NAMED_PEAKS = 8


Pair = tuple[str, str]


def plot_frequency_response(
    response: FrequencyResponse,
    *pairs: str | Pair,
    magnitude: str = "log",
    frequency: str = "Hz",
    axis: str | None = None,
    phase: bool = True,
    peaks: bool = True,
    title: str | None = None,
) -> Figure:
    """Magnitude and phase of some entries.

    Parameters
    ----------
    pairs : ``(output, input)``, or an output alone for all inputs; all entries when left out.
    magnitude : "log", "dB" (re 1 in the unit of the entry) or "linear".
    frequency : "Hz" or "rad/s".
    axis : "log" or "linear" frequencies; as their grid is spaced when left out.
    phase : False leaves it out.  peaks : False does not mark them.
    """
    what = "the plot of a FrequencyResponse"
    choice("magnitude", magnitude, ("log", "dB", "linear"), what)
    choice("frequency unit", frequency, ("Hz", "rad/s"), what)
    entries = _entries(response, pairs)
    x = response.frequencies_hz if frequency == "Hz" else np.array(response.frequencies)
    order = np.argsort(x, kind="stable")
    scale = _axis(x[order], axis)
    groups: dict[str, list[tuple[int, Pair]]] = {}
    for k, pair in enumerate(entries):
        groups.setdefault(response.unit(*pair), []).append((k, pair))
    zero = _zeros(response, groups)
    rows = len(groups) + int(phase)
    figure = new_figure(8.0, 1.0 + 2.4 * len(groups) + 1.6 * int(phase))
    heights = [1.6] * len(groups) + [1.0] * int(phase)
    axes: list[Axes] = list(
        figure.subplots(rows, 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    )
    for ax, (unit, group) in zip(axes, groups.items()):
        _draw_magnitudes(ax, response, group, x, order, magnitude, zero)
        word = "magnitude" if response.kind == "output" else response.kind
        ax.set_ylabel(f"{word} [dB re 1 {unit}]".replace(" ]", "]") if magnitude == "dB" else with_unit(word, unit))
        if peaks:
            _mark_peaks(ax, response, [pair for _, pair in group if pair not in zero], magnitude, frequency)
        if len(entries) > 1:
            put_legend_beside(ax, max(len(group), 2))
    if phase:
        drawn = [(k, pair) for k, pair in enumerate(entries) if pair not in zero]
        _draw_phases(axes[-1], response, drawn or list(enumerate(entries)), x, order)
    axes[-1].set_xscale(scale)
    axes[-1].set_xlabel(f"frequency [{frequency}]")
    shown = x[x > 0.0] if scale == "log" else x
    if len(shown) > 1:
        axes[-1].set_xlim(float(shown.min()), float(shown.max()))
    if scale == "log":
        log_ticks(axes[-1].xaxis, plain=True)
    figure.align_ylabels(axes)
    if title is None:
        many = f"response to {entries[0][1]}" if len(response.inputs) == 1 else ""
        title = _label(response, entries[0], 1) if len(entries) == 1 else many
    heading(figure, title)
    return figure


def _zeros(
    response: FrequencyResponse,
    groups: dict[str, list[tuple[int, Pair]]],
    # Magnitude relative to the largest of its unit that is nothing but rounding: some thousand times 2⁻⁵².
    zero: float = 1e-12,
) -> set[Pair]:
    """Entries that are rounding beside the largest one of their unit."""
    zeros = set()
    for group in groups.values():
        sizes = {pair: float(np.nanmax(response.magnitude(*pair), initial=0.0)) for _, pair in group}
        most = max(sizes.values())
        zeros |= {pair for pair, size in sizes.items() if size < zero * most or size == 0.0}
    return zeros


def _entries(response: FrequencyResponse, pairs: tuple[Any, ...]) -> list[Pair]:
    """(output, input) of every curve, each once; unknown names are refused by the response."""
    wanted: list[Any] = list(pairs) or list(response.outputs)
    entries: list[Pair] = []
    for output in wanted:
        if isinstance(output, str):
            entries += [(output, input_) for input_ in response.inputs]
        elif isinstance(output, tuple | list) and len(output) == 2:
            entries.append((output[0], output[1]))
        else:
            raise DataError(
                "wrong-type", f"an entry of a FrequencyResponse is an output or (output, input), got {output!r}."
            )
    entries = list(dict.fromkeys(entries))
    for pair in entries:
        response.unit(*pair)
    if not entries:
        raise DataError("empty", "this FrequencyResponse has no inputs or no outputs: nothing to draw.")
    check_count(
        len(entries), MOST, "curves", f"Name some: plot(response, ({entries[0][0]!r}, {entries[0][1]!r}), ...)."
    )
    return entries


def _axis(x: FloatArray, scale: str | None) -> str:
    """Log where the grid is nearer to geometric than to even spacing."""
    if scale is not None:
        choice("frequency axis", scale, ("log", "linear"), "the plot of a FrequencyResponse")
        if scale == "log" and not (x > 0.0).any():
            raise DataError("not-positive", "a log axis needs positive frequencies; these have none.")
        return scale
    positive = x[x > 0.0]
    if (x < 0.0).any() or len(positive) < 3:
        return "linear"
    middle, low, high = float(np.median(positive)), float(positive[0]), float(positive[-1])
    geometric = float(np.sqrt(low * high))
    return "log" if high > 5.0 * low and middle < np.sqrt(geometric * 0.5 * (low + high)) else "linear"


def _label(response: FrequencyResponse, pair: Pair, inputs: int | None = None) -> str:
    many = len(response.inputs) > 1 or inputs == 1
    return f"{pair[0]} / {pair[1]}" if many else pair[0]


def _draw_magnitudes(
    ax: Axes,
    response: FrequencyResponse,
    group: list[tuple[int, Pair]],
    x: FloatArray,
    order: Any,
    how: str,
    zero: set[Pair],
    # Magnitude relative to the largest at which a logarithmic axis ends: exact zeros of a computed response are
    # rounding and would stretch it over many empty decades.
    shown: float = 1e-9,
) -> None:  # fmt: skip
    for k, pair in group:
        size = response.decibels(*pair) if how == "dB" else response.magnitude(*pair)
        if how == "log":
            size = np.where(size > 0.0, size, np.nan)
        marker = "." if len(x) == 1 else ""
        label = _label(response, pair)
        if pair in zero:  # named, but not drawn: it would stretch the axis over many empty decades
            size, label = np.full(len(x), np.nan), f"{label} (zero)"
        ax.plot(x[order], size[order], marker=marker, label=label, **line_of(k))
    drawn = [pair for _, pair in group if pair not in zero]
    if how == "log" and drawn:
        values = np.concatenate([response.magnitude(*pair) for pair in drawn])
        if (values > 0.0).any():
            ax.set_yscale("log")
            positive = values[values > 0.0]
            ax.set_ylim(bottom=max(float(positive.min()) * 0.7, float(positive.max()) * shown))
            log_ticks(ax.yaxis)
    ax.margins(y=0.15)


def _draw_phases(
    ax: Axes, response: FrequencyResponse, entries: list[tuple[int, Pair]], x: FloatArray, order: Any
) -> None:
    angles = np.array([np.degrees(response.phase(*pair))[order] for _, pair in entries])
    # The circle is cut where fewest curves pass: at 180 degrees, where many responses rest, they would jump to and fro.
    cuts = [(angles + shift) % 360.0 - shift for shift in (180.0 + 1e-6, 225.0, 135.0)]
    turned = min(cuts, key=lambda cut: int((np.abs(np.diff(cut, axis=1)) > 180.0).sum()))
    for (k, _), angle in zip(entries, turned):
        jumps = np.flatnonzero(np.abs(np.diff(angle)) > 180.0) + 1
        at, broken = np.insert(x[order], jumps, np.nan), np.insert(angle, jumps, np.nan)
        ax.plot(at, broken, **line_of(k))
    low, high = 90.0 * np.floor((turned.min() + 8.0) / 90.0), 90.0 * np.ceil((turned.max() - 8.0) / 90.0)
    ax.set_ylim(min(low, high - 90.0) - 15.0, high + 15.0)
    ax.yaxis.set_major_locator(MultipleLocator(90.0))
    ax.set_ylabel("phase [deg]")


def _mark_peaks(
    ax: Axes,
    response: FrequencyResponse,
    pairs: list[Pair],
    how: str,
    unit: str,
    # Height above the valleys beside it, as a fraction of its own, from which a peak is marked: twice as high as
    # these.
    prominent: float = 0.5,
    apart: float = 0.03,  # relative distance of frequencies whose labels stand side by side.
) -> None:
    """A dot on every prominent peak; of peaks at one frequency the highest one is named."""
    peaks = []
    for pair in pairs:
        for peak in response.peaks(*pair, prominence=prominent):
            at = peak.frequency_hz if unit == "Hz" else peak.frequency
            peaks.append((at, 20.0 * np.log10(peak.magnitude) if how == "dB" else peak.magnitude))
    if not peaks:
        return
    ax.plot(*zip(*peaks), "o", ms=4, mfc="white", mec=INK, mew=0.9, zorder=4, label="_peaks")
    named: list[tuple[float, float]] = []
    for at, height in sorted(peaks, key=lambda one: -one[1]):
        if all(abs(at - frequency) > apart * max(at, frequency) for frequency, _ in named):
            named.append((at, height))
    for at, height in named[:NAMED_PEAKS]:
        ax.annotate(
            f"{at:.4g} {unit}", (at, height), (0, 5), textcoords="offset points", ha="center", va="bottom",
            fontsize=8, color=INK,
        )  # fmt: skip
