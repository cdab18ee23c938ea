"""Poles and zeros in the complex plane.

s = -ζω ± iω√(1-ζ²): rays of equal damping ratio ζ, ellipses (circles where both axes have one scale) of equal
frequency ω through the ticks of the imaginary axis. Sampled: z = e^{s dt} of the same lines, inside the unit circle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import ComplexArray
from dalembert.core.errors import DataError
from dalembert.linear.eigen.roots import Roots
from dalembert.linear.eigen.stability import Stability
from dalembert.linear.modes import Modes
from dalembert.linear.second_order import SecondOrder
from dalembert.view.plots.figures import BLUE, GREEN, GREY, PALE, RED, STABLE, heading, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NONE = np.zeros(0, dtype=np.complex128)
RATIOS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


def plot_roots(roots: Roots, *, zeros: Roots | None = None, title: str | None = None) -> Figure:
    """Poles, or zeros alone; ``zeros=`` draws both."""
    if zeros is not None and zeros.dt != roots.dt:
        raise DataError(
            "sample-time-mismatch", f"poles and zeros must have one sample time, got {roots.dt!r} and {zeros.dt!r}."
        )
    poles, marked = (roots.values, NONE) if roots.kind == "pole" else (NONE, roots.values)
    if zeros is not None:
        marked = np.concatenate([marked, zeros.values])
    return plot_plane(poles, marked, roots.dt, title or "")


def plot_second_order(system: SecondOrder, *, count: int | None = None, title: str | None = None) -> Figure:
    """Eigenvalues of a second-order system, with their conjugates; of a large one its lowest ``count``."""
    return plot_poles(system.modes(count), title=title)


def plot_stability(verdict: Stability, *, title: str | None = None) -> Figure:
    """The eigenvalues that were judged; sampled ones in the plane of z."""
    text = verdict.verdict if title is None else title
    return plot_plane(verdict.eigenvalues, NONE, 1.0 if verdict.discrete else None, text)


def plot_poles(modes: Modes, *, title: str | None = None) -> Figure:
    """Eigenvalues of modes, with their conjugates."""
    return plot_plane(with_conjugates(modes.eigenvalues), NONE, None, title or "")


def with_conjugates(values: ComplexArray) -> ComplexArray:
    """Values and the conjugates of the complex ones."""
    return np.concatenate([values, values[values.imag != 0.0].conj()])


def plot_plane(poles: ComplexArray, zeros: ComplexArray, dt: float | None, title: str) -> Figure:
    """Poles and zeros in the plane of s, or of z where there is a sample time."""
    every = np.concatenate([poles, zeros])
    every = every[np.isfinite(every)]
    if not len(every):
        raise DataError("empty", "there are no poles or zeros to draw.")
    figure = new_figure(6.8, 5.4)
    ax: Axes = figure.subplots()
    if dt is None:
        _plane(ax, every)
    else:
        _circle(ax, every)
    beyond = grows(poles, dt)
    for chosen, color, label in ((poles[~beyond], BLUE, "poles"), (poles[beyond], RED, "growing poles")):
        if len(chosen):
            ax.plot(chosen.real, chosen.imag, "x", ms=8, mew=1.8, color=color, label=label, zorder=4)
    if len(zeros):
        ax.plot(zeros.real, zeros.imag, "o", ms=7, mew=1.5, mfc="none", color=GREEN, label="zeros", zorder=4)
    ax.legend(loc="upper left", bbox_to_anchor=(1.005, 1.02), borderaxespad=0.0)
    heading(figure, title)
    return figure


def exceeds_rounding(values: Any, poles: Any, rounding: float = 1e-9) -> Any:
    """Which values are more than rounding of the largest of some poles.

    rounding : eigenvalues of well conditioned matrices have errors of 1e-13, those of a defective pair 1e-8.
    """
    return values > rounding * np.abs(poles).max(initial=0.0)


def grows(values: ComplexArray, dt: float | None) -> Any:
    """Which poles lie beyond the imaginary axis or the unit circle, by more than rounding."""
    return exceeds_rounding(values.real, values) if dt is None else exceeds_rounding(np.abs(values) - 1.0, 1.0)


def limits(values: ComplexArray, narrow: float = 1e-6) -> tuple[float, float, float]:
    """Left, right and upper end of a plane that shows all values, the imaginary axis, and both signs.

    narrow : width relative to the largest modulus below which all poles are undamped: a thousandth of a pixel.
    """
    low_end, right, top = float(values.real.min()), float(values.real.max()), float(np.abs(values.imag).max())
    size = max(float(np.abs(values).max()), 1e-300)
    width = max(right, 0.0) - min(low_end, 0.0)
    if width < narrow * size:  # undamped: nothing but rounding across
        width = 0.2 * size
        low_end, right = -width, 0.0
    low_end, right = min(low_end, 0.0) - 0.12 * width, max(right, 0.0) + 0.12 * width
    return low_end, right, 1.12 * top if exceeds_rounding(top, values) else 0.5 * (right - low_end)


def _plane(ax: Axes, values: ComplexArray) -> None:
    grid(ax, *limits(values))
    ax.set_xlabel("real part [rad/s]")
    ax.set_ylabel("imaginary part [rad/s]")


def grid(ax: Axes, left: float, right: float, top: float) -> None:
    """Limits, the shaded stable half, rays of equal damping and curves of equal frequency."""
    if 0.5 * (right - left) < 2.0 * top < 1.6 * (right - left):
        ax.set_aspect("equal", adjustable="box")
    ax.set_xlim(left, right)
    ax.set_ylim(-top, top)
    ax.grid(False)
    ax.axvspan(left - 10.0 * (right - left), 0.0, color=STABLE, lw=0, zorder=0)
    ax.axvline(0.0, color=GREY, lw=1.0, zorder=1)
    ax.axhline(0.0, color=GREY, lw=0.8, zorder=1)
    turn = np.linspace(0.5 * np.pi, 1.5 * np.pi, 181)
    for ring in ax.get_yticks():
        if ring > 0.0:
            ax.plot(ring * np.cos(turn), ring * np.sin(turn), color=PALE, lw=0.7, zorder=1, label="_ring")
    named = [(np.inf, np.inf)]
    for ratio in RATIOS:
        slope = ratio / np.sqrt(1.0 - ratio**2)
        end = -slope * top
        if not 0.1 * -left < -end < 8.0 * -left:
            continue
        far = max(1.0, left / end)
        ax.plot([far * end, 0.0, far * end], [far * top, 0.0, -far * top], ":", color=GREY, lw=0.9, zorder=1,
                label="_ray")  # fmt: skip
        x, y = (end, top) if end > left else (left, left / end * top)
        far_off = max(abs(x - named[-1][0]) / (right - left), abs(y - named[-1][1]) / (2.0 * top))
        if y > 0.12 * top and far_off > 0.09:
            named.append((x, y))
            above = end > left
            ax.annotate(
                f"ζ = {ratio:g}", (x, y), (0, 3) if above else (3, 0),
                textcoords="offset points", ha="center" if above else "left", va="bottom" if above else "top",
                fontsize=7.5, color="#6a707a", annotation_clip=False,
            )  # fmt: skip
    ax.set_xlim(left, right)
    ax.set_ylim(-top, top)


def _circle(ax: Axes, values: ComplexArray) -> None:
    """The unit circle with the images of the rays and of the circles of frequency, at tenths of the sample rate."""
    ax.grid(False)
    turn = np.linspace(0.0, 2.0 * np.pi, 361)
    ax.fill(np.cos(turn), np.sin(turn), color=STABLE, lw=0, zorder=0)
    ax.plot(np.cos(turn), np.sin(turn), color=GREY, lw=1.0, zorder=2, label="_unit circle")
    for ratio in (0.1, 0.3, 0.5, 0.7, 0.9):
        angle = np.linspace(0.0, np.pi, 91)
        curve = np.exp(-angle * ratio / np.sqrt(1.0 - ratio**2) + 1j * angle)
        for half in (curve, curve.conj()):
            ax.plot(half.real, half.imag, ":", color=GREY, lw=0.9, zorder=1, label="_ray")
    zeta = np.linspace(0.0, 1.0, 46)
    for tenth in range(1, 6):
        omega = 2.0 * np.pi * tenth / 10.0
        curve = np.exp(omega * (-zeta + 1j * np.sqrt(1.0 - zeta**2)))
        for half in (curve, curve.conj()):
            ax.plot(half.real, half.imag, color=PALE, lw=0.7, zorder=1, label="_ring")
    ax.axhline(0.0, color=GREY, lw=0.8, zorder=1)
    ax.axvline(0.0, color=GREY, lw=0.8, zorder=1)
    reach = 1.08 * max(1.0, float(np.abs(values.real).max()), float(np.abs(values.imag).max()))
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlabel("real part of z [-]")
    ax.set_ylabel("imaginary part of z [-]")
