"""Phase portraits: a coordinate against its rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.record import Array, Record
from dalembert.view.plots.figures import BLUE, GREY, INK, PALE, check_count, heading, tiles, with_unit
from dalembert.view.plots.record_channels import default_names, joint_coordinates, rate_of, thin_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 9
COLUMNS = 3


def plot_phase(run: Record, names: tuple[str, ...], title: str | None) -> Figure:
    """One square per coordinate: where it begins (ring), where it ends (dot), the way between."""
    chosen = names or joint_coordinates(run)[:8] or [name for name in default_names(run) if name in run.names]
    pairs = [(label, rate_of(run, label)) for name in dict.fromkeys(chosen) for label in run.expand(name)]
    if not names:
        pairs = [(label, rate) for label, rate in pairs if rate][:MOST]
    if not pairs:
        raise DataError(
            "missing-channel",
            "this record has no coordinate with its rate; name one.",
            Advice("Plot(run, 'x', {}).", Argument("view", "phase")),
        )
    check_count(len(pairs), MOST, "phase portraits")
    figure, axes = tiles(len(pairs), min(COLUMNS, len(pairs)) if len(pairs) != 4 else 2, 3.5, 3.2)
    for ax, (label, rate) in zip(axes, pairs, strict=True):
        _portrait(ax, run, label, rate)
    if title is None:
        title = f"{run.name}: phase portrait" if run.name else "phase portrait"
    heading(figure, title)
    return figure


def _portrait(ax: Any, run: Record, label: str, rate: str) -> None:
    x, unit = run[label], run.units[label]
    if rate:
        v, rate_label = run[rate], with_unit(rate, run.units[rate])
    else:
        if len(run) < 3:
            raise DataError(
                "missing-channel", f"{label!r} has no rate in this record, and too few samples to take differences."
            )
        v, rate_label = np.gradient(x, run.time), with_unit(f"slope of {label}", f"{unit}/s" if unit else "1/s")
    ax.axhline(0.0, color=PALE, lw=0.8, zorder=1)
    ax.plot(*thin_out(x, v, monotonic=False), color=BLUE, lw=1.2, zorder=3)
    good = np.flatnonzero(np.isfinite(x) & np.isfinite(v))
    if len(good):
        ax.plot(x[good[0]], v[good[0]], "o", ms=7, mfc="white", mec=INK, mew=1.3, zorder=4, label="start")
        ax.plot(x[good[-1]], v[good[-1]], "o", ms=6, mfc=INK, mec=INK, zorder=4, label="end")
        _arrow(ax, x[good], v[good])
    ax.set_xlabel(with_unit(label, unit))
    ax.set_ylabel(rate_label)
    ax.margins(0.08)
    ax.legend(loc="upper right", ncols=2, fontsize=8, handletextpad=0.2, columnspacing=0.8, bbox_to_anchor=(1.02, 1.11))


def _arrow(ax: Any, x: Array, v: Array) -> None:
    """Draw the direction of motion, a little after the start."""
    width, height = float(np.ptp(x)) or 1.0, float(np.ptp(v)) or 1.0
    way = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x) / width, np.diff(v) / height))])
    k = int(np.searchsorted(way, min(0.25, 0.5 * way[-1])))
    j = int(np.searchsorted(way, min(0.32, 0.6 * way[-1])))
    if 0 < k < j < len(x):
        ax.annotate("", (x[j], v[j]), (x[k], v[k]), zorder=4,
                    arrowprops={"arrowstyle": "-|>", "color": GREY, "fc": INK, "ec": INK, "lw": 1.2,
                                "mutation_scale": 13})  # fmt: skip
