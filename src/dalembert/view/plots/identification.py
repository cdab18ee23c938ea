"""Pictures of identification: stabilization diagram, measured and modelled responses, records played back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.identify.auto.mode_classes import assign_poles
from dalembert.identify.auto.result import AutoIdentified
from dalembert.identify.model.identified import Identified
from dalembert.identify.model.quality import Residuals
from dalembert.identify.polyreference.result import PolyreferenceModes
from dalembert.identify.records.data import read_data
from dalembert.identify.spectral.frf import FrfEstimate
from dalembert.identify.spectral.spectra import Spectra, psd_unit, spectra
from dalembert.identify.subspace.stabilization import Stabilization
from dalembert.linear.modes import Modes
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.numerics import ties
from dalembert.record import Record
from dalembert.view.plots.figures import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PALE,
    RED,
    choice,
    heading,
    log_ticks,
    new_figure,
    with_unit,
)
from dalembert.view.plots.record_channels import thin_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 8  # axes above one another
LEAST_SAMPLES = 20  # two in each of the ten vibrations of an enlarged stretch
MOST_VIBRATIONS = 40  # that can be seen one by one across a figure
VIEWS = ("stabilization", "frf", "spectra", "playback", "residuals", "shapes")
LABEL_GAP = 12.0  # points between two vertical labels: a line of 8 points and some air
ORANGE, VIOLET = "#c77700", "#a5639a"
_GRADES = {"sound": GREEN, "chosen": GREEN, "uncertain": ORANGE, "of the fit only": VIOLET}
# index of Stabilization.label_names -> marker, colour, size
_MARKS = {0: (".", PALE, 3), 1: ("v", GREY, 3.5), 2: ("s", "#56b4e9", 3.5), 3: ("o", BLUE, 4.5)}


def plot_stabilization(
    drawn: Stabilization, *, modes: Modes | None = None, grades: Sequence[str] = (), lowest: float = 0.0,
    highest: float | None = None, title: str | None = None,
) -> Figure:  # fmt: skip
    """Poles over growing orders by how steady they are; modes as lines with their frequencies and damping ratios.

    Parameters
    ----------
    modes : modes to draw as lines; those of the diagram when left out
    grades : class of every one of them, which colours its poles
    lowest, highest : frequencies shown [Hz]; from 0, to half the sample rate when left out
    """
    figure = new_figure(8.5, 5.4)
    ax = figure.subplots()
    f, labels = np.array(drawn.frequencies_hz), np.array(drawn.labels)
    if not len(f):
        raise DataError("empty", "the diagram has no poles that oscillate.")
    top = float(highest) if highest is not None else float(f.max()) * 1.02
    visible = (f >= lowest) & (f <= top)
    shown = drawn.modes if modes is None else modes
    owners = assign_poles(drawn, shown).tolist() if grades else [-1] * len(f)
    classes = np.array([grades[k] if k >= 0 else "" for k in owners])
    colored = np.isin(classes, list(_GRADES))
    for number, (marker, color, size) in _MARKS.items():
        plain = visible & (labels == number) & ~colored
        paint = color if not grades else PALE if number == 0 else GREY
        ax.plot(f[plain], drawn.orders[plain], marker, color=paint, ms=size, mew=0, label=drawn.label_names[number])
    for grade, color in _GRADES.items():
        inside = visible & (classes == grade)
        for number, (marker, _, size) in _MARKS.items():
            chosen = inside & (labels == number)
            words = f"of {'an' if grade[0] in 'aeiou' else 'a'} {grade} mode" if grade != "of the fit only" else grade
            name = words if number == 3 and inside.any() else None
            ax.plot(f[chosen], drawn.orders[chosen], marker, color=color, ms=size + 0.5, mew=0, label=name)
    last = float(np.max(drawn.orders))
    # the limits come first: labels are placed by the points that frequencies have then
    ax.set_xlim(lowest, top)
    ax.set_ylim(0.0, last * 1.02)
    _name_columns(figure, ax, shown, grades, last * 1.02)
    ax.set_xlabel("frequency [Hz]")
    ax.set_ylabel("order (number of states)")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, borderaxespad=0.0)
    heading(figure, f"Stabilization diagram, {drawn.method}" if title is None else title)
    return figure


def _name_columns(figure: Figure, ax: Axes, modes: Modes, grades: Sequence[str], edge: float) -> None:
    """A line per mode, and its frequency and damping ratio above; labels are moved apart so that none overprints."""
    low, high = ax.get_xlim()
    f = modes.frequencies_hz
    inside = [k for k in range(len(f)) if low <= f[k] <= high and (not grades or grades[k] != "of the fit only")]
    width = 72.0 * 0.8 * float(figure.get_size_inches()[0])  # points of the axes, or less
    most = int(width / LABEL_GAP)
    named = inside
    if len(inside) > most:
        best = sorted(inside, key=lambda k: 0 if not grades or grades[k] in ("sound", "chosen") else 1)
        named = sorted(best[:most])
    for k in inside:
        color = _GRADES.get(grades[k], RED) if grades else RED
        ax.axvline(f[k], color=color, lw=0.9, alpha=0.6, zorder=0)
    wanted = np.array([(f[k] - low) / (high - low) * width for k in named])
    for k, place in zip(named, spread_labels(wanted, LABEL_GAP, 0.0, width), strict=True):
        ax.annotate(
            f"{f[k]:.4g} Hz, {100 * modes.damping_ratios[k]:.2g} %", (f[k], edge), (place / width, 13),
            textcoords=("axes fraction", "offset points"), rotation=90, ha="center", va="bottom", fontsize=8, color=INK,
            label=f"_mode{k + 1}", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.7, "shrinkA": 0, "shrinkB": 0, "relpos": (0.5, 0.0)},
        )  # fmt: skip


def spread_labels(wanted: FloatArray, gap: float, low: float, high: float) -> FloatArray:
    """Places near the wanted ones (ascending), at least ``gap`` apart, within the ends where there is room.

    Neighbours that would touch form a block about the mean of their wishes (least squares).

    Examples
    --------
    >>> spread_labels(np.array([1.0, 2.0, 20.0]), 4.0, 0.0, 30.0).tolist()
    [0.0, 4.0, 20.0]
    """
    blocks: list[tuple[float, int]] = []  # sum of the wishes of a block, and their number
    for place in wanted:
        blocks.append((float(place), 1))
        while len(blocks) > 1:
            (s, m), (t, n) = blocks[-2:]
            if t / n - s / m >= 0.5 * (m + n) * gap:
                break
            blocks[-2:] = [(s + t, m + n)]
    positions: list[float] = []
    for total, count in blocks:
        half = 0.5 * (count - 1) * gap
        middle = min(max(total / count, low + half), max(high - half, low + half))
        positions += [middle - half + k * gap for k in range(count)]
    for k in range(1, len(positions)):  # the ends may have pushed a block into the next one
        positions[k] = max(positions[k], positions[k - 1] + gap)
    for k in range(len(positions)):
        positions[k] = min(positions[k], high - (len(positions) - 1 - k) * gap)
    return np.array(positions)


def plot_frf_estimate(
    measured: FrfEstimate, model: FrequencyResponse | None = None, *, lowest: float = 0.0,
    highest: float | None = None, axis: str = "linear", title: str | None = None,
) -> Figure:  # fmt: skip
    """Measured frequency response with its coherence; the response of a model over it.

    Parameters
    ----------
    model : FrequencyResponse of the same inputs and outputs.
    lowest, highest : frequencies shown [Hz].  axis : "linear" or "log" frequencies.
    """
    choice("frequency axis", axis, ("linear", "log"), "the plot of a FrfEstimate")
    response = measured.response
    pairs = [(output, input) for input in response.inputs for output in response.outputs][:MOST_ROWS]
    figure = new_figure(8.5, 1.0 + 1.9 * len(pairs) + 1.2)
    ratios = [1.9] * len(pairs) + [1.0]
    axes: list[Axes] = list(figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios))
    hertz = measured.frequencies_hz
    for ax, pair in zip(axes, pairs):
        _overlay(ax, hertz, measured, model, pair)
    top = float(highest) if highest is not None else float(hertz[-1])
    for k, output in enumerate(measured.coherence.outputs[:MOST_ROWS]):
        axes[-1].plot(hertz, measured.coherence[output], color=INK, lw=0.9, alpha=max(0.25, 0.9 - 0.25 * k))
    axes[-1].set_ylim(0.0, 1.05)
    axes[-1].set_ylabel("coherence")
    axes[-1].set_xlabel("frequency [Hz]")
    if axis == "log":
        axes[-1].set_xscale("log")
        axes[-1].set_xlim(max(float(hertz[hertz > 0.0][0]), lowest), top)
        log_ticks(axes[-1].xaxis, plain=True)
    else:
        axes[-1].set_xlim(lowest, top)
    handles = axes[0].get_legend_handles_labels()
    axes[0].legend(*handles, loc="upper right")
    figure.align_ylabels(axes)
    words = f"Frequency response ({measured.method})" + ("" if model is None else " and model")
    heading(figure, words if title is None else title)
    return figure


def _overlay(
    ax: Axes, hertz: FloatArray, measured: FrfEstimate, model: FrequencyResponse | None, pair: tuple[str, str]
) -> None:
    size = np.abs(measured[pair])
    ax.semilogy(hertz, np.where(size > 0.0, size, np.nan), color=GREY, lw=1.2, label="measured")
    if measured.deviations is not None:
        spread = 2.0 * measured.deviation(*pair)
        ax.fill_between(hertz, np.maximum(size - spread, 1e-3 * size), size + spread, color=PALE, alpha=0.7, lw=0)
    if model is not None:
        w = model.frequencies_hz
        ax.semilogy(w, np.abs(model[pair]), color=RED, lw=1.3, label="model")
    unit = measured.response.unit(*pair)
    many = len(measured.response.inputs) > 1
    ax.set_ylabel(with_unit(f"{pair[0]} / {pair[1]}" if many else pair[0], unit), fontsize=9)
    visible = size[size > 0.0]
    if model is not None:
        visible = np.append(visible, np.abs(model[pair]).max())
    if len(visible):
        ax.set_ylim(0.3 * float(visible.min()), 4.0 * float(visible.max()))  # the band may reach down to zero
    log_ticks(ax.yaxis)


def plot_output_spectra(
    measured: Spectra, model: Identified | None = None, *, lowest: float = 0.0, highest: float | None = None,
    title: str | None = None,
) -> Figure:  # fmt: skip
    """Singular values of the spectral densities of outputs, all scaled to unit power, then the density of each output.

    Parameters
    ----------
    model : whose densities are drawn over the measured ones.
    lowest, highest : frequencies shown [Hz].
    """
    hertz = measured.frequencies_hz
    names = measured.names[: MOST_ROWS - 1]
    top = float(highest) if highest is not None else float(hertz[-1])
    lines = (hertz > 0.0) & (hertz >= lowest) & (hertz <= top)
    figure = new_figure(8.5, 1.0 + 2.4 + 1.6 * len(names))
    axes: list[Axes] = list(figure.subplots(1 + len(names), 1, sharex=True, height_ratios=[2.4] + [1.6] * len(names)))
    power = np.sqrt(np.maximum(np.einsum("kii->i", measured.values).real * (hertz[1] - hertz[0]), 1e-300))
    modelled = None if model is None else model.output_spectra(measured.frequencies[lines])
    size = np.linalg.svd(measured.values[lines] / np.outer(power, power), compute_uv=False)
    for k in range(min(size.shape[1], 3)):
        axes[0].semilogy(
            hertz[lines], size[:, k], color=(GREY, PALE, PALE)[k], lw=1.2, label="measured" if k == 0 else None
        )
    if modelled is not None:
        largest = np.linalg.svd(modelled / np.outer(power, power), compute_uv=False)[:, 0]
        axes[0].semilogy(hertz[lines], largest, color=RED, lw=1.3, label="model")
    axes[0].set_ylabel("singular values [1/Hz]\n(outputs of unit power)", fontsize=9)
    for i, (ax, name) in enumerate(zip(axes[1:], names, strict=True)):
        ax.semilogy(hertz[lines], np.maximum(measured.psd(name)[lines], 1e-300), color=GREY, lw=1.2)
        if modelled is not None:
            ax.semilogy(hertz[lines], modelled[:, i, i].real, color=RED, lw=1.3)
        ax.set_ylabel(with_unit(name, psd_unit(measured.units.get(name, ""))), fontsize=9)
    for ax in axes:
        log_ticks(ax.yaxis)
    axes[0].legend(loc="upper right")
    axes[-1].set_xlim(lowest, top)
    axes[-1].set_xlabel("frequency [Hz]")
    figure.align_ylabels(axes)
    heading(figure, "Spectra of the outputs" + ("" if modelled is None else " and model") if title is None else title)
    return figure


def plot_playback(
    measured: Record, modelled: Record, outputs: Sequence[str] | None = None, *,
    start: float | None = None, stop: float | None = None, title: str | None = None,
) -> Figure:  # fmt: skip
    """Measured outputs, model outputs and their difference; of long vibrations also an enlarged part.

    Parameters
    ----------
    start, stop : part of the time shown [s]; all when left out.
    """
    names = list(modelled.names if outputs is None else outputs)[:MOST_ROWS]
    near = _near(measured, names[0], start, stop) if names else None
    figure = new_figure(8.5, 0.9 + 1.6 * len(names))
    columns = 1 if near is None else 2
    axes: Any = figure.subplots(len(names), columns, sharex="col", squeeze=False)
    for row, name in zip(axes, names):
        _lines(row[0], measured, modelled, name, start, stop)
        row[0].set_ylabel(with_unit(name, measured.units.get(name, "")))
        if near is not None:
            _lines(row[1], measured, modelled, name, *near)
            row[0].axvspan(*near, color=PALE, alpha=0.6, lw=0, zorder=0)
        for ax in row:
            ax.margins(x=0.01)
    axes[0, -1].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.1)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]")
        ax.locator_params(axis="x", nbins=6)  # times such as 67.25 are wide
    figure.align_ylabels(axes[:, 0])
    heading(figure, "Measured and modelled" if title is None else title)
    return figure


def _near(run: Record, name: str, start: float | None, stop: float | None) -> tuple[float, float] | None:
    """The stretch with about ten vibrations in which a channel is strongest; None where all of them can be seen."""
    low, high = -np.inf if start is None else start, np.inf if stop is None else stop
    inside = (run.time >= low) & (run.time <= high) & np.isfinite(run[name])
    t, y = run.time[inside], run[name][inside]
    if len(t) < LEAST_SAMPLES:
        return None
    energy = np.concatenate([[0.0], np.cumsum((y - y.mean()) ** 2)])

    def strongest(size: int) -> slice:
        first = int(ties.first_largest(energy[size:] - energy[:-size]))
        return slice(first, first + size)

    stretch = y[strongest(len(t) // 10)]  # periods are counted where noise hides none
    period = 2.0 * len(stretch) / max(int(np.diff(np.signbit(stretch - stretch.mean())).sum()), 1)
    if len(t) <= MOST_VIBRATIONS * period:
        return None
    window = strongest(round(10.0 * period))
    return float(t[window][0]), float(t[window][-1])


def _lines(ax: Axes, measured: Record, modelled: Record, name: str, start: float | None, stop: float | None) -> None:
    low = -np.inf if start is None else start
    high = np.inf if stop is None else stop
    inside = (measured.time >= low) & (measured.time <= high)
    t, y, yhat = measured.time[inside], measured[name][inside], modelled[name][inside]
    for values, color, width, label in (
        (y, GREY, 1.8, "measured"), (yhat, RED, 0.9, "model"), (y - yhat, GREEN, 0.7, "difference"),
    ):  # fmt: skip
        ax.plot(*thin_out(t, values, monotonic=True), color=color, lw=width, label=label)


def plot_residuals(residuals: Residuals, *, title: str | None = None) -> Figure:
    """Correlation of the residuals with themselves and with the inputs; random residuals stay in the bands."""
    outputs, inputs = residuals.outputs[:MOST_ROWS], residuals.inputs[:3]
    columns = 1 + len(inputs)
    figure = new_figure(max(8.5, 3.2 * columns + 1.2), 0.9 + 1.5 * len(outputs))
    axes: Any = figure.subplots(len(outputs), columns, sharex="col", sharey="col", squeeze=False)
    for i, output in enumerate(outputs):
        _stems(axes[i, 0], residuals.lags, residuals.autocorrelation[:, i], residuals.band99)
        axes[i, 0].set_ylabel(output)
        for j in range(len(inputs)):
            band = float(residuals.cross_band99[i, j])
            _stems(axes[i, 1 + j], residuals.input_lags, residuals.crosscorrelation[:, i, j], band)
    axes[0, 0].set_title("with itself", loc="left", fontsize=10, fontweight="normal")
    for j, name in enumerate(inputs):
        axes[0, 1 + j].set_title(f"with {name}", loc="left", fontsize=10, fontweight="normal")
    for ax in axes[-1]:
        ax.set_xlabel("lag [samples]")
    words = f"Correlations of the residuals ({residuals.kind}), band of 99 %"
    heading(figure, words if title is None else title)
    return figure


def _stems(ax: Axes, lags: FloatArray, values: FloatArray, band: float) -> None:
    ax.axhspan(-band, band, color=PALE, alpha=0.5, lw=0)
    ax.axhline(0.0, color=INK, lw=0.6)
    beyond = np.abs(values) > band
    ax.vlines(lags[~beyond], 0.0, values[~beyond], color=BLUE, lw=1.4)
    ax.vlines(lags[beyond], 0.0, values[beyond], color=RED, lw=1.4)
    ax.margins(x=0.02)


def band_of_interest(low: float, high: float, nyquist: float) -> tuple[float, float]:
    """Ends of a frequency axis [Hz] for a band, with some air; from 0 where the band begins near it.

    Examples
    --------
    >>> band_of_interest(4.0, 20.0, 50.0), band_of_interest(0.5, 20.0, 20.0)
    ((3.6, 21.0), (0.0, 20.0))
    """
    first = 0.9 * low
    return (first if first > 0.1 * high else 0.0), min(1.05 * high, nyquist)


def measure_outputs(records: Sequence[Record], model: Identified) -> Spectra:
    """Spectral densities of the outputs of a model in the records it was found from."""
    data = read_data.quiet(list(records), (), model.outputs, offset_matters=False)
    return spectra(data.replace(findings=()))


def plot_auto(result: AutoIdentified, *, view: str = "stabilization", title: str | None = None) -> Figure:
    """One picture of an automatic identification.

    Parameters
    ----------
    view : "stabilization", "frf" or "spectra" of the outputs (measured and modelled), "playback" (of held-out data),
        "residuals" or "shapes".
    """
    from dalembert.view.plots.structures.modes import plot_modes

    choice("view", view, VIEWS, "the plot of an AutoIdentified")
    low, high = band_of_interest(result.time_scale.low, result.time_scale.high, 0.5 / result.identified.dt)
    if view == "stabilization":
        grades = [judged.grade for judged in result.judgements]
        return plot_stabilization(
            result.stabilization, modes=result.modes, grades=grades, lowest=low, highest=high, title=title
        )
    if view == "residuals":
        return plot_residuals(result.residuals, title=title)
    if view == "shapes":
        words = "Mode shapes at the outputs" if title is None else title
        numbers = [k + 1 for k in result.by_class()][:12]
        return plot_modes(result.modes, mode=sorted(numbers), title=words)
    if view == "spectra":
        measured = measure_outputs(result.training, result.identified)
        return plot_output_spectra(measured, result.identified, lowest=low, highest=high, title=title)
    if view == "frf":
        if result.frf is None:
            raise DataError(
                "empty", "without inputs, or with too few samples, there is no measured frequency response to draw."
            )
        top = min(high, float(result.frf.frequencies_hz[-1]))
        return plot_frf_estimate(result.frf, result.model_response(), lowest=low, highest=top, title=title)
    run = (result.held_out or result.training)[0]
    model = result.identified
    predicted = not model.inputs and model.gain is not None
    computed = model.predict(run) if predicted else model.simulate(run)
    how = "predicted one sample ahead" if predicted else "simulated"
    stretch = "held-out" if result.held_out else "training"
    return plot_playback(run, computed, title=f"The {stretch} record, measured and {how}" if title is None else title)


def plot_polyreference(fitted: PolyreferenceModes, *, title: str | None = None) -> Figure:
    """Stabilization diagram of the fractions, with the modes."""
    hertz = fitted.measured.frequencies_hz[np.array(fitted.lines)]
    lowest, highest = float(hertz[0]), float(hertz[-1])
    return plot_stabilization(fitted.stabilization, modes=fitted.modes, lowest=lowest, highest=highest, title=title)
