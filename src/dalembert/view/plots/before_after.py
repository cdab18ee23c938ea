"""Channels without and with control (or any other change), with the reduction in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.record import Array, Record
from dalembert.view.plots.figures import BLUE, GREY, INK, RED, check_count, heading, new_figure, with_unit
from dalembert.view.plots.record_channels import default_names, thin_out
from dalembert.view.plots.themes import SOLID

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 8


@dataclass(frozen=True)
class ControlEffect:
    """RMS about the mean of all, and largest deviation, of one channel without and with control."""

    name: str
    rms: tuple[float, float]
    peak: tuple[float, float]
    unit: str

    def describe(self) -> str:
        """Relative change of both, as text."""
        return f"{_change('rms', *self.rms, self.unit)}\n{_change('peak', *self.peak, self.unit)}"


def control_effects(before: Record, after: Record, names: tuple[str, ...]) -> list[ControlEffect]:
    """Reduction per channel.

    Examples
    --------
    >>> still = Record([0.0, 1.0, 2.0], [[0.0], [1.0], [-1.0]], ["x"], ["m"])
    >>> calm = Record([0.0, 1.0, 2.0], [[0.0], [0.5], [-0.5]], ["x"], ["m"])
    >>> control_effects(still, calm, ("x",))[0].describe().splitlines()
    ['rms −50 %', 'peak −50 %']
    """
    effects = []
    for name in names:
        uncontrolled, two = (_finite(record[name], name) for record in (before, after))
        rms = (float(np.sqrt(np.mean(uncontrolled**2))), float(np.sqrt(np.mean(two**2))))
        effects.append(
            ControlEffect(name, rms, (float(np.abs(uncontrolled).max()), float(np.abs(two).max())), before.units[name])
        )
    return effects


def plot_control(
    run: Record, names: tuple[Any, ...], switched_on: float | None, settle: float, title: str | None
) -> Figure:
    """One record with the time control was switched on, or two records: without control, and with it."""
    others = [argument for argument in names if isinstance(argument, Record)]
    named = tuple(argument for argument in names if not isinstance(argument, Record))
    if len(others) > 1 or bool(others) == (switched_on is not None):
        raise DataError(
            "missing-argument",
            "the view 'control' takes two records, without and with control, or one and the time of the switch.",
        )
    labels = tuple(label for name in dict.fromkeys(named or default_names(run)) for label in run.expand(name))
    if not named:
        labels = tuple(label for label in labels if not label.startswith("energy"))[:MOST]
    check_count(len(labels), MOST, "channels")
    before, after, judged = _parts(run, others[0] if others else None, switched_on, settle)
    changes = control_effects(before, judged, labels)
    figure = new_figure(9.0, 1.0 + max(1.75 * len(labels), 2.2))
    axes: Any = np.atleast_1d(figure.subplots(len(labels), 1, sharex=True))
    for ax, effect in zip(axes, changes, strict=True):
        _channel(ax, before, after, effect, overlaid=bool(others))
        if switched_on is not None:
            ax.axvline(switched_on, color=INK, lw=1.0, ls="--", zorder=4)
    _legend(axes[0], switched_on)
    axes[-1].set_xlabel("time [s]")
    figure.align_ylabels(axes)
    heading(figure, (run.name if title is None else title) or "without and with control")
    return figure


def _parts(
    run: Record, other: Record | None, switched_on: float | None, settle: float
) -> tuple[Record, Record, Record]:
    """Without control, with it, and the part of the latter that is judged."""
    if other is not None:
        return run, other, other.between(other.time[0] + settle)
    assert switched_on is not None
    if not run.time[0] < switched_on < run.time[-1]:
        raise DataError(
            "out-of-range",
            f"switched_on = {switched_on:g} s is outside the record, which runs from {run.time[0]:g} to "
            f"{run.time[-1]:g} s.",
        )
    return run.between(None, switched_on), run.between(switched_on), run.between(switched_on + settle)


def _channel(ax: Any, before: Record, after: Record, effect: ControlEffect, *, overlaid: bool) -> None:
    first = GREY if overlaid else RED
    for record, color, label in ((before, first, "without control"), (after, BLUE, "with control")):
        x, y = thin_out(record.time, record[effect.name], monotonic=True)
        ax.plot(x, y, color=color, lw=1.3, label=label, zorder=2 if record is before else 3, gid=SOLID)
    ax.set_ylabel(with_unit(effect.name, effect.unit))
    ax.margins(x=0.01, y=0.1)
    ax.text(1.015, 0.5, effect.describe(), transform=ax.transAxes, ha="left", va="center", fontsize=9, color=INK)


def _legend(ax: Any, switched_on: float | None) -> None:
    if switched_on is None:
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
        return
    ax.annotate(f"control on at {switched_on:g} s", (switched_on, 1.0), (0, 3), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="center", va="bottom", fontsize=9, color=INK)  # fmt: skip


def _change(
    word: str,
    one: float,
    two: float,
    unit: str,
    factor: float = 900.0,  # percentage above which a factor reads better: ten times as much.
    # Size before, relative to the larger of both, from which there is no percentage: rounding of a run.
    nothing: float = 1e-9,
    nearly_all: float = 99.0,
    # Percentages below this one, and those that would be rounded to 100 from below, have a digit after the point.
    digit: float = 10.0,
) -> str:
    if one <= nothing * max(one, two):
        return f"{word} {two:.3g} {unit}".rstrip() if two > 0.0 else f"{word} 0"
    percent = 100.0 * (two / one - 1.0)
    if percent > factor:
        return f"{word} ×{two / one:.3g}"
    digits = 1 if nearly_all < abs(percent) < 100.0 or abs(percent) < digit else 0
    return f"{word} {'−' if percent < 0.0 else '+'}{abs(percent):.{digits}f} %"


def _finite(values: Array, name: str) -> Array:
    good = values[np.isfinite(values)]
    if not len(good):
        raise DataError("empty", f"channel {name!r} has no samples in one of both parts.")
    return np.asarray(good, dtype=np.float64)
