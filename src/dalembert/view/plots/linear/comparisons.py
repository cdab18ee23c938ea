"""Comparisons: modes against modes, reduced against full models, states cut by balanced truncation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.linear.modes import Modes
from dalembert.linear.transforms.balanced_truncation import BalancedTruncation
from dalembert.structures.reduction.fidelity import Fidelity
from dalembert.view.plots.figures import BLUE, INK, PALE, RED, heading, log_ticks, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dalembert.symbolic.modular import LabelledMatrix

WRITTEN = 20  # most rows for which the cells have numbers
TICKED = 24
LEAST_WRITTEN = 0.005  # value that two digits show
DARK = 0.6  # value from which the cell is dark enough for white letters
NO_SINGULAR_VALUE = 1e-17  # of the largest: below rounding, drawn at the end of the axis
FLOOR = 1e-6  # percent: a smaller error of a frequency is drawn as this


def plot_mac(modes: Modes, against: Modes | None, title: str | None, numbers: Sequence[int] | None = None) -> Figure:
    """Modal assurance criterion, every mode against every mode; numbers : of the modes, 1, 2, ... when left out."""
    values = modes.mac(against)
    figure = new_figure(1.9 + min(0.52 * values.shape[1] + 2.4, 8.0), 1.4 + min(0.45 * values.shape[0] + 1.4, 7.0))
    ax: Axes = figure.subplots()
    partner = modes if against is None else against
    matrix(figure, ax, values, modes.frequencies_hz, partner.frequencies_hz, "MAC [-]", numbers, against is None)
    ax.set_ylabel("mode, with frequency [Hz]")
    ax.set_xlabel("mode" if against is None else "mode of the other set")
    heading(figure, "modal assurance criterion" if title is None else title)
    return figure


def matrix(
    figure: Figure, ax: Axes, values: FloatArray, rows: FloatArray, columns: FloatArray, label: str,
    numbers: Sequence[int] | None = None, same: bool = False,
) -> None:  # fmt: skip
    """A matrix of numbers between 0 and 1; frequencies [Hz] of the modes of its rows beside them.

    numbers : of the modes of the rows, and of the columns where they are the same.
    """
    named = numbers or range(1, len(rows) + 1)
    across = named if same else range(1, len(columns) + 1)
    image = ax.imshow(values, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
    ax.grid(False)
    figure.colorbar(image, ax=ax, label=label, pad=0.02)
    down, right = (max(1, -(-count // TICKED)) for count in values.shape)  # of many modes every second, third, ...
    ax.set_yticks(range(0, len(rows), down), [f"{named[i]}   {rows[i]:.3g}" for i in range(0, len(rows), down)])
    ax.set_xticks(range(0, len(columns), right), [str(across[j]) for j in range(0, len(columns), right)])
    if max(values.shape) <= WRITTEN:
        for (i, j), value in np.ndenumerate(values):
            if value >= LEAST_WRITTEN:
                ax.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8 if max(values.shape) <= 12 else 6,
                        color="white" if value > DARK else INK)  # fmt: skip


def plot_labelled(values: LabelledMatrix, *, title: str | None = None) -> Figure:
    """Entries by colour, numbers by sign and size; of expressions those that are not zero. Labels beside them."""
    numbers = np.asarray(values.entries if values.is_numeric else values.pattern, dtype=float)
    size = float(np.abs(numbers).max(initial=0.0)) or 1.0
    figure = new_figure(2.2 + min(0.4 * numbers.shape[1] + 1.5, 9.0), 1.2 + min(0.3 * numbers.shape[0] + 1.2, 8.0))
    ax: Axes = figure.subplots()
    image = ax.imshow(numbers, cmap="RdBu_r", vmin=-size, vmax=size, aspect="auto", interpolation="nearest")
    ax.grid(False)
    if values.is_numeric:
        figure.colorbar(image, ax=ax, pad=0.02)
    ax.set_yticks(range(len(values.rows)), values.rows)
    ax.set_xticks(range(len(values.columns)), values.columns, rotation=90)
    heading(figure, f"{len(values.rows)} x {len(values.columns)} matrix" if title is None else title)
    return figure


def plot_fidelity(report: Fidelity, *, title: str | None = None) -> Figure:
    """Frequency errors as bars, and every mode of the reference against every mode of the model (NCO, or MAC)."""
    if not len(report):
        raise DataError("empty", "there are no modes to compare.")
    figure = new_figure(10.0, 1.6 + min(0.25 * len(report) + 1.8, 6.0))
    bars, ax = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.0, 1.15]})
    errors = report.frequency_errors
    shown = np.clip(np.where(np.isfinite(errors), errors, np.nanmax(np.where(np.isfinite(errors), errors, 100.0))),
                    FLOOR, None)  # fmt: skip
    numbers = np.arange(1, len(report) + 1)
    good = report.good()
    bars.barh(numbers, shown, left=0.0, color=[BLUE if fine else RED for fine in good], height=0.7)
    bars.set_xscale("log")
    bars.set_xlim(FLOOR * 0.5, max(100.0, 2.0 * float(shown.max())))
    log_ticks(bars.xaxis)
    bars.axvline(1.0, color=INK, lw=0.8, ls="--")
    bars.set_ylim(len(report) + 0.6, 0.4)
    bars.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=20))
    bars.grid(axis="y", visible=False)
    bars.set_xlabel("frequency error [%]")
    bars.set_ylabel("mode of the reference")
    with_mass = bool(np.isfinite(report.nco).all())
    values = report.nco_matrix if with_mass else report.mac_matrix
    wide = min(values.shape[1], max(len(report) + 4, int(report.partners.max())))
    matrix(figure, ax, values[:, :wide], report.frequencies / (2.0 * np.pi), np.zeros(wide),
           "NCO [-]" if with_mass else "MAC [-]")  # fmt: skip
    ax.set_xlabel("mode of the model")
    ax.set_ylabel("mode of the reference, with frequency [Hz]")
    heading(figure, report.method if title is None else title)
    return figure


def plot_truncation(reduced: BalancedTruncation, *, title: str | None = None) -> Figure:
    """Hankel singular values: kept and truncated ones."""
    sigma, order = reduced.hankel_values, reduced.system.nx
    if not len(sigma) or not sigma.max() > 0.0:
        raise DataError(
            "no-motion", "all Hankel singular values are zero: nothing goes from the inputs to the outputs."
        )
    figure = new_figure(7.0, 3.8)
    ax: Axes = figure.subplots()
    numbers = np.arange(1, len(sigma) + 1)
    floor = max(float(sigma[sigma > 0.0].min()), NO_SINGULAR_VALUE * float(sigma.max())) * 0.5
    shown = np.maximum(sigma, floor)
    for chosen, color, label in ((numbers <= order, BLUE, f"kept ({order})"),
                                 (numbers > order, PALE, f"cut ({len(sigma) - order})")):  # fmt: skip
        if chosen.any():
            ax.bar(numbers[chosen], shown[chosen] - floor, bottom=floor, color=color, width=0.8, label=label)
    ax.set_yscale("log")
    ax.set_ylim(floor, 3.0 * float(sigma.max()))
    log_ticks(ax.yaxis)
    ax.set_xlim(0.3, len(sigma) + 0.7)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(axis="x", visible=False)
    ax.set_xlabel("balanced state")
    ax.set_ylabel("Hankel singular value [-]")
    ax.legend(loc="upper right")
    text = f"order {len(sigma)} to {order}, H-infinity error at most {reduced.bound:.3g}"
    heading(figure, text if title is None else title)
    return figure
