"""Channels of a record over time, or over another channel."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DataError, FileFormatError
from dalembert.files.atomic import replacing
from dalembert.record import Array, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BUCKETS = 2000  # more than the pixels across any figure
_PATH_POINTS = 50_000
_LENGTHS = ("m", "mm", "cm", "km")


def plot(
    run: Record,
    *names: str,
    against: str = "time",
    file: str | os.PathLike[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Plot channels of a record, one axes per unit, all above one another.

    Parameters
    ----------
    run : a simulated run or a measurement.
    names : channels, or stems (``"A"`` is every channel of joint A); without any, joint coordinates and energy.
    against : channel along the horizontal axis.
    file : also write the figure there; the suffix tells the format (png, svg, pdf).
    title : above the figure; by default the name of the record.
    """
    import matplotlib as mpl
    from matplotlib.ticker import AutoMinorLocator

    from dalembert.view.figures import COLORS, STYLE, NotebookFigure

    if not isinstance(run, Record):
        raise DataError(f"plot takes a Record, not a {type(run).__name__}.")
    groups = _groups(run, names or _default_names(run), against)
    x, x_unit = run[against], "s" if against == "time" else run.units.get(against, "")
    if x.ndim != 1:
        raise DataError(f"against={against!r} is a vector; take one of {', '.join(run.expand(against))}.")
    with mpl.rc_context(STYLE):
        square = against != "time" and len(groups) == 1 and x_unit in _LENGTHS and next(iter(groups))[0] == x_unit
        size = (6.0, 5.4) if square else (8.0, 0.9 + max(1.9 * len(groups), 2.6))
        figure = NotebookFigure(figsize=size, layout="constrained")
        axes: list[Axes] = list(figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0])
        for ax, ((unit, _), labels) in zip(axes, groups.items()):
            for i, label in enumerate(labels):
                drawn_x, drawn_y = _thinned(x, run[label], monotonic=against == "time")
                style = "-" if i < len(COLORS) else "--"
                ax.plot(drawn_x, drawn_y, style, color=COLORS[i % len(COLORS)], label=label)
            ax.set_ylabel(_with_unit(_common(labels), unit))
            ax.margins(x=0.05 if square else 0.01, y=0.08)
            ax.yaxis.set_minor_locator(AutoMinorLocator(2))
            if len(labels) > 1:
                beside: Any = {"loc": "upper left", "bbox_to_anchor": (1.005, 1.02), "borderaxespad": 0.0}
                ax.legend(**beside, ncols=1 + (len(labels) - 1) // 12)
        axes[-1].set_xlabel(_with_unit(against, x_unit))
        if square:
            axes[0].set_aspect("equal", adjustable="datalim")
        figure.align_ylabels(axes)
        heading = run.name if title is None else title
        if heading:
            axes[0].set_title(heading, loc="left")
        if file is not None:
            _save(figure, file)
    return figure


def _save(figure: Figure, file: str | os.PathLike[str]) -> None:
    kinds = figure.canvas.get_supported_filetypes()
    kind = Path(file).suffix.lower().lstrip(".")
    if kind not in kinds:
        known = ", ".join(f".{known}" for known in sorted(kinds))
        raise FileFormatError(f"a figure cannot be written as {'.' + kind!r}. Known: {known}.", str(file))
    with replacing(file) as fresh:
        figure.savefig(fresh, format=kind, dpi=150)


def _default_names(run: Record) -> list[str]:
    """Joint coordinates and energy; in a record without them, its first channels."""
    # a body has .angle too, but beside .x
    joints = [
        name
        for name in run.names
        for stem, _, last in [name.rpartition(".")]
        if last in ("angle", "displacement") and stem and f"{stem}.x" not in run
    ]
    chosen = joints[:12] + [name for name in ("energy",) if name in run.names]
    return chosen or list(run.names[:8])


def _groups(run: Record, names: Iterable[str], against: str) -> dict[tuple[str, str], list[str]]:
    """Channels by unit; those without one by their stem, for they may mean anything."""
    run[against]  # an unknown name is reported before anything is drawn
    units = run.units
    groups: dict[tuple[str, str], list[str]] = {}
    for name in dict.fromkeys(names):
        for label in run.expand(name):
            unit = units[label]
            group = groups.setdefault((unit, "" if unit else label.partition(".")[0]), [])
            if label not in group:
                group.append(label)
    if len(groups) > 12:
        raise DataError(f"{len(groups)} axes are too many for one figure. Name fewer channels.")
    return groups


def _common(labels: list[str]) -> str:
    """What the channels of one axes have in common: the name, the stem or the last part."""
    if len(labels) == 1:
        return labels[0]
    ends = {label.rpartition(".")[2] for label in labels}
    stems = {label.rpartition(".")[0] for label in labels}
    if len(ends) == 1:
        return ends.pop()
    return stems.pop() if len(stems) == 1 else ""


def _with_unit(text: str, unit: str) -> str:
    return f"{text} [{unit}]".strip() if unit else text


def _thinned(x: Array, y: Array, *, monotonic: bool) -> tuple[Array, Array]:
    """Fewer points that look the same: of every bucket in time its first, lowest, highest and last sample."""
    if not monotonic:
        step = -(-x.size // _PATH_POINTS)
        return x[::step], y[::step]
    if x.size <= 8 * _BUCKETS:
        return x, y
    width = x.size // _BUCKETS
    whole = width * (x.size // width)
    block = y[:whole].reshape(-1, width)
    first = np.arange(0, whole, width)
    low = first + np.where(np.isnan(block), np.inf, block).argmin(axis=1)
    high = first + np.where(np.isnan(block), -np.inf, block).argmax(axis=1)
    # a gap stays visible when it is as long as a bucket: then all four samples are NaN
    rest = np.arange(whole, x.size)
    kept = np.unique(np.concatenate([first, low, high, first + width - 1, rest]))
    return x[kept], y[kept]
